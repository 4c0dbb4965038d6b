# How options say how long, how often, how many: 600ms-900ms, 2s, 2%, 0-2.

import argparse
import random
import re
from typing import NamedTuple

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


class Range(NamedTuple):
    """Anything from `low` to `high`, each as likely as the others."""

    low: float
    high: float

    def draw(self, chance: random.Random) -> float:
        """One of them."""
        return self.low if self.low == self.high else chance.uniform(self.low, self.high)

    def __str__(self) -> str:
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g}–{self.high:g}"


NOTHING = Range(0.0, 0.0)


def duration(text: str) -> float:
    """`350ms` in seconds; `0` needs no unit."""
    if text == "0":
        return 0.0
    found = _DURATION.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration such as 350ms, 5s, 10m, 1h")
    return float(found[1]) * _SECONDS[found[2]]


def durations(text: str) -> Range:
    """`600ms-900ms`, or one duration for always the same."""
    low, _, high = text.partition("-")
    return _range(duration(low), duration(high or low), text)


def counts(text: str) -> Range:
    """`0-2`, or one whole number."""
    low, _, high = text.partition("-")
    if not low.isdecimal() or not (high or low).isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number and no range such as 0-2")
    return _range(int(low), int(high or low), text)


def share(text: str) -> float:
    """`2%` as 0.02."""
    number = text.removesuffix("%")
    try:
        value = float(number) / 100
    except ValueError:
        value = -1.0
    if number == text or not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share such as 2%")
    return value


def _range(low: float, high: float, text: str) -> Range:
    if low > high:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it begins")
    return Range(low, high)
