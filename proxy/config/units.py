# Durations and sizes as people write them.
#
# Rule 1: a number without a unit is refused, never guessed; only 0 needs none.
# Rule 2: what `show_*` writes, `parse_*` reads back to the same number.

import re
from decimal import Decimal
from fractions import Fraction

_SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600), "d": Decimal(86400)}
_BYTES = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}

# The digits are bounded so that no text, however long, costs more than its length.
_DURATION = re.compile(r"(?:[0-9]{1,12}(?:\.[0-9]{1,9})?(?:ms|s|m|h|d))+", re.ASCII)
_DURATION_PART = re.compile(r"([0-9.]+)(ms|s|m|h|d)", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,10})?)([KMG]iB)", re.ASCII)
_BARE = re.compile(r"[0-9]+(?:\.[0-9]*)?", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds of `350ms`, `5s`, `10m`, `1h`, `1d`, `1m30s` or `0`; ValueError says what is wrong."""
    if text == "0":
        return 0.0
    if not _DURATION.fullmatch(text):
        raise ValueError(_why(text, "ms, s, m, h or d"))
    return float(sum(Decimal(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(text)))


def show_duration(seconds: float) -> str:
    """The shortest text in one unit that `parse_duration` reads back: 600.0 → `10m`, 0.35 → `350ms`."""
    exact = Decimal(repr(seconds))
    if exact == 0:
        return "0s"
    for unit in ("d", "h", "m", "s"):
        if exact % _SECONDS[unit] == 0:
            return f"{(exact / _SECONDS[unit]).normalize():f}{unit}"
    return f"{(exact / _SECONDS['ms']).normalize():f}ms"


def parse_size(text: str) -> int:
    """Bytes of `64KiB`, `1.5MiB`, `2GiB` or `0`; ValueError says what is wrong."""
    if text == "0":
        return 0
    found = _SIZE.fullmatch(text)
    if not found:
        raise ValueError(_why(text, "KiB, MiB or GiB"))
    size = Fraction(found[1]) * _BYTES[found[2]]
    if size.denominator != 1:
        raise ValueError("not a whole number of bytes")
    return int(size)


def show_size(size: int) -> str:
    """The text in the largest unit that divides it: 67108864 → `64MiB`."""
    if size == 0:
        return "0"
    for unit in ("GiB", "MiB"):
        if size % _BYTES[unit] == 0:
            return f"{size // _BYTES[unit]}{unit}"
    return f"{(Decimal(size) / 1024).normalize():f}KiB"


def _why(text: str, units: str) -> str:
    return f"a number without a unit: {units}" if _BARE.fullmatch(text) else f"the units are {units}"
