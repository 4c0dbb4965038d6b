# What kind of refusal an answer is, and how long it says to wait.
#
# Rule 1: the status decides first whether an answer can be about limits at all; then the tables of rules and dialects.
# Rule 2: a body that cannot be read loses nothing of what status and headers say, and nothing here raises.

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from proxy.core.model import Kind
from proxy.ratelimits import bodies, buckets, dialects, grammar, waits
from proxy.ratelimits.rule import CDN_HEADERS, STATUSES, Rule
from proxy.ratelimits.rules import INSIDE

Headers = Sequence[tuple[str, str]]

_QUOTA_FROM_MS = 3_600_000  # whoever is told to come back in an hour has used up an allowance, not a minute's rate
_SEEN_BY_RULES = ("server", "rate_limit_type", "x-ratelimit-exceeded", *CDN_HEADERS)
_ERROR_STATUS = re.compile("[45][0-9]{2}")
_SAYS_FEW = re.compile(r"(?:^|=)\s*0*[0-9]{1,2}(?:\.0+)?\s*(?:$|[;,])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`retry_after_ms` is what the server stated, rounded up, before any floor, cap or jitter: 0 is "now", None is
    nothing usable. With kind `none` it is always None."""

    kind: Kind
    retry_after_ms: int | None


_NOTHING = Verdict(kind=Kind.NONE, retry_after_ms=None)


def classify(status: int, headers: Headers, body: bytes, *, preset: str | None = None, now: float) -> Verdict:
    """Read one answer. `headers` in any case and order, decoded as latin-1; `body` decompressed and possibly cut
    short (of a 2xx: what may hold an error, or nothing); `preset` names the provider's dialect; `now` is epoch
    seconds. Never raises."""
    successful = 200 <= status < 300
    if not body if successful else status not in STATUSES:
        return _NOTHING
    errors = list(bodies.errors_in_success(body)) if successful else [bodies.error_fields(body)]
    if not errors:
        return _NOTHING
    values = _by_name(headers)
    table = dialects.rules_for(preset)
    for said in errors:
        evidence = _evidence(values, said)
        meant = _status_inside(evidence) if successful else status
        # A stream may be full of errors that are no refusals, whatever wait stands somewhere: none of them is worth
        # reading all headers.
        if successful and _kind(meant, evidence, None, table) == Kind.NONE:
            continue
        at = _clock(values, now)
        spent = buckets.exhausted(values, at)
        if not successful:  # what served this answer proves nothing of it
            evidence["bucket"] = [bucket.name for bucket in spent]
        wait_ms = waits.stated_ms(values, said, spent, at)
        kind = _kind(meant, evidence, wait_ms, table)
        if kind == Kind.RATE and wait_ms is not None and wait_ms >= _QUOTA_FROM_MS:
            kind = Kind.QUOTA
        if kind != Kind.NONE:
            return Verdict(kind=kind, retry_after_ms=wait_ms)
    return _NOTHING


class Left(NamedTuple):
    """How many more `requests` a server takes until `reset_ms` from now."""

    requests: int
    reset_ms: int


def may_count_down(names: Iterable[bytes]) -> bool:
    """Whether one of these header names in lower case may be one that `requests_left` looks for. For nearly every
    answer of a provider without such headers the only look at them."""
    return b"\n".join(names).find(b"limit") >= 0


def requests_left(headers: Headers, *, now: float) -> Left | None:
    """What these headers say about the *requests* that may follow, where that is few (under 100): of the bucket with
    the fewest; of those that are used up, the last to be full again. None if none says how many and until when. For
    successful answers: the next requests would be refused (spec §7.6)."""
    counting = [value for name, value in headers if _counts_down(name)]
    if not any(map(_SAYS_FEW.search, counting)):
        return None  # nearly every answer of a day ends here
    values = _by_name(headers)
    told = buckets.told(values, _clock(values, now))
    left = [Left(one.left, one.reset_ms) for one in told if one.counts_requests and one.reset_ms]
    return min(left, key=lambda one: (one.requests, one.reset_ms if one.requests else -one.reset_ms), default=None)


@lru_cache(maxsize=256)
def _counts_down(name: str) -> bool:
    """Whether a header with this name says how much is left: `…limit…remaining…`, or `…ratelimit` with a list."""
    name = name.lower()
    limit = name.find("limit")
    return limit >= 0 and (name.find("remaining", limit) >= 0 or name.endswith("ratelimit"))


def _by_name(headers: Headers) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    return values


def _clock(values: buckets.Values, now: float) -> grammar.Clock:
    return grammar.clock(now, *values.get("date", ("",))[:1])


def _kind(status: int, evidence: Mapping[str, list[str]], wait_ms: int | None, table: tuple[Rule, ...]) -> Kind:
    if status not in STATUSES:
        return Kind.NONE
    decided = (rule.kind for rule in table if rule.matches(status, evidence, wait_ms))
    return next(decided, STATUSES[status][0])


def _status_inside(said: Mapping[str, list[str]]) -> int:
    """The status with which an error inside a 2xx would have come by itself: it carries the number, or has a name that
    stands for one; 200 where neither is so."""
    numbers = (value for name in ("code", "status_code", "status") for value in said.get(name, ()))
    if number := next(filter(_ERROR_STATUS.fullmatch, numbers), None):
        return int(number)
    named = (status for status, field, name in INSIDE if any(map(name.search, said.get(field, ()))))
    return next(named, 200)


def _evidence(values: buckets.Values, said: bodies.Fields) -> dict[str, list[str]]:
    """Everything that the rules look at, in lower case."""
    evidence = {name: [value.lower() for value in said[name]] for name in said}
    evidence |= {f"header.{name}": [value.lower() for value in values.get(name, ())] for name in _SEEN_BY_RULES}
    evidence["code"] = [*evidence.get("code", ()), *map(bodies.code, values.get("x-amzn-errortype", ()))]
    return evidence
