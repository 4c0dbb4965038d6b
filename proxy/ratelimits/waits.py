# How long the server says to wait, where several places of one answer say something.
#
# Rule 1: the first place of the order below that holds something readable wins; within one place the longest.
# Rule 2: nothing here floors, caps or adds jitter; that is policy, and it needs to know what was really said.

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from proxy.ratelimits import buckets, grammar
from proxy.ratelimits.bodies import Fields

_Reader = Callable[[str], int | None]

_MS_HEADERS = ("retry-after-ms", "x-ms-retry-after-ms")
_PRIVATE = re.compile(r".+-retry-after|reset_at")  # Copilot's x-ratelimit-user-retry-after, LiteLLM's reset_at
_MS_FIELDS = ("retry_after_ms", "retryafterms", "retry-after-ms")
_FIELDS = (  # in order of trust: what names a delay, then what names a moment
    "retrydelay",  # google.rpc.RetryInfo
    "retry_after_seconds",  # OpenRouter
    "retry_after",
    "retryafter",
    "retry-after",  # headers inside a body: OpenRouter, Codex' WebSocket
    "resets_in_seconds",  # ChatGPT
    "quotaresetdelay",  # Google's ErrorInfo
    "quotaresettimestamp",
    "estimated_time",  # Hugging Face
    "resets_at",
    "reset_at",
    "boxed_until",  # Umans
)
# A limit per day has the last word wherever it stands: Groq's headers go on about the healthy minute beside it.
_PER_DAY = re.compile(r"(?:per|/)[ -]?day|(?<![a-z])[tr]pd(?![a-z])|by ?day|\bdaily\b", re.IGNORECASE)


def stated_ms(headers: buckets.Values, said: Fields, spent: Sequence[buckets.Bucket], at: grammar.Clock) -> int | None:
    """Milliseconds to wait as an answer of these headers, error fields and used-up buckets states them, or None."""
    header, body = _in_headers(headers, at), _in_body(said, at)
    named = (value for name in ("text", "quotaid", "quota_limit") for value in said.get(name, ()))
    if header is not None and body is not None and any(map(_PER_DAY.search, named)):
        return max(header, body)
    return _first(lambda: header, lambda: body, lambda: buckets.longest_ms(spent))


def _in_headers(headers: buckets.Values, at: grammar.Clock) -> int | None:
    read = partial(grammar.wait_of_any, at=at)
    private = [value for name in headers if _PRIVATE.fullmatch(name) for value in headers[name]]
    return _first(
        *(partial(_longest, headers.get(name, ()), grammar.millis) for name in _MS_HEADERS),
        lambda: _longest(headers.get("retry-after", ()), read),
        lambda: _longest(private, read),
    )


def _in_body(said: Fields, at: grammar.Clock) -> int | None:
    read = partial(grammar.wait, at=at)
    return _first(
        *(partial(_longest, said.get(name, ()), grammar.millis) for name in _MS_FIELDS),
        *(partial(_longest, said.get(name, ()), read) for name in _FIELDS),
        lambda: buckets.longest_ms(buckets.exhausted(said, at)),
        lambda: _longest(said.get("text", ()), partial(grammar.wait_in_prose, at=at)),
    )


def _first(*places: Callable[[], int | None]) -> int | None:
    return next((ms for place in places if (ms := place()) is not None), None)


def _longest(values: Iterable[str], read: _Reader) -> int | None:
    return max((ms for value in values if (ms := read(value)) is not None), default=None)
