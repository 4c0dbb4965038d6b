# Single values: words, switches, numbers, durations, sizes.
#
# Rule 1: a parser takes what YAML gave and returns the value, or raises ValueError with the reason, if one helps.
# Rule 2: no type is bent into another, but for numbers and switches from the environment, which are text there.

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .forms import SKIP, Leaf, Secret
from .report import FromEnv, nearest
from .units import parse_duration, parse_size, show_duration, show_size


def text(allowed: str, parse: Callable[[str], Any] = str, show: Callable[[Any], object] = str) -> Leaf:
    """A string, by a parser of its own."""

    def read(value: object) -> Any:
        if not isinstance(value, str):
            raise ValueError("text that looks like something else needs quotes" if value is not None else "")  # noqa: TRY004
        return parse(value)

    return Leaf(allowed, read, show)


def pattern(allowed: str, regex: str, clean: Callable[[str], str] = str) -> Leaf:
    """A string that matches as a whole, then cleaned."""
    compiled = re.compile(regex, re.ASCII)

    def parse(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError
        return clean(value)

    return text(allowed, parse)


def choice(*words: str) -> Leaf:
    """One of a few words."""

    def parse(value: str) -> str:
        if value not in words:
            raise ValueError(nearest(value, words).rstrip())
        return str(value)

    return text(" or ".join([", ".join(f'"{word}"' for word in words[:-1]), f'"{words[-1]}"']), parse)


def flag() -> Leaf:
    """true or false."""

    def parse(value: object) -> bool:
        if isinstance(value, FromEnv) and value in ("true", "false"):
            return value == "true"
        if not isinstance(value, bool):
            raise ValueError  # noqa: TRY004
        return value

    return Leaf("true or false", parse)


def count(low: int, high: int) -> Leaf:
    """A whole number."""

    def parse(value: object) -> int:
        if isinstance(value, FromEnv) and re.fullmatch("[0-9]{1,9}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError
        return value

    return Leaf(f"a whole number from {low} to {high}", parse)


def duration(low: str, high: str) -> Leaf:
    """A length of time, in seconds."""
    least, most = parse_duration(low), parse_duration(high)
    example = next(it for it in ("5s", "350ms", "10m", low) if least <= parse_duration(it) <= most)

    def parse(value: object) -> float:
        seconds = parse_duration(_with_unit(value))
        if not least <= seconds <= most:
            raise ValueError("out of range")
        return seconds

    return Leaf(f"a duration from {low} to {high}, like {example}", parse, show_duration)


def size(low: str, high: str) -> Leaf:
    """A number of bytes."""
    least, most = parse_size(low), parse_size(high)

    def parse(value: object) -> int:
        found = parse_size(_with_unit(value))
        if not least <= found <= most:
            raise ValueError("out of range")
        return found

    return Leaf(f"a size from {low} to {high}, like 64MiB", parse, show_size)


def or_auto(form: Leaf, start: Any) -> Leaf:
    """A value, or "auto", which begins at `start`. A field with AUTO for the same key tells the two apart."""
    return Leaf(f'{form.allowed}, or "auto"', lambda value: start if value == "auto" else form.parse(value), form.show)


def secret(form: Leaf) -> Leaf:
    """The same, never shown to people."""
    return replace(form, show=Secret, hidden=True)


def _with_unit(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError  # noqa: TRY004
    return str(value)


AUTO = Leaf("", lambda value: value == "auto", lambda on: "auto" if on else SKIP)
