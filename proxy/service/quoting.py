# What one value looks like in the log, wherever its line is made.

from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Final

MAX_CHARS: Final = 8192  # of one value; all errors of a configuration file fit


def iso(at_ms: int) -> str:
    """Epoch milliseconds as people read them: `2026-03-01T12:00:00.250Z`."""
    return f"{_iso_second(at_ms // 1000)}.{str(at_ms % 1000 + 1000)[1:]}Z"  # `:03d` takes three times as long


@lru_cache(maxsize=4)  # lines come many a second, and this is a third of what one costs
def _iso_second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def quoted(value: str | None) -> str:
    """A value as it stands in a line of JSON, cut like any other."""
    if value is None:
        return "null"
    return encode_basestring_ascii(value if len(value) <= MAX_CHARS else cut(value))


def cut(value: str) -> str:
    """A value that is longer than MAX_CHARS, shortened to it."""
    return value[:MAX_CHARS] + "…"
