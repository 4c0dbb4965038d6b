# What every table shares: a write as statements, made on the loop's thread and done on the store's, and the check of
# what was read.

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

LAST_MS = 253_402_300_799_999  # the last moment that has a date of four digits

SqlValue = str | int | float | None


class Statement(NamedTuple):
    """One SQL statement, executed for each of its rows."""

    sql: str
    rows: Sequence[tuple[SqlValue, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one write does. A later change of the same `key` makes an earlier one needless; None: it stands alone."""

    key: tuple[str, str] | None
    statements: tuple[Statement, ...]


def aged(table: str, newest: int, kept_ms: int) -> Statement:
    """Drops from `table` what is older than `kept_ms`, before rows come of which the `newest` is of then. Age is
    measured from the older one of that and the newest row there: on the word of a clock that is ahead for one run
    nothing is thrown away."""
    sql = f"DELETE FROM {table} WHERE at < min(?1, (SELECT max(at) FROM {table})) - ?2"  # noqa: S608
    return Statement(sql, [(newest, kept_ms)])


def sound(row: tuple[Any, ...], kinds: Sequence[Any]) -> tuple[Any, ...]:
    """`row`, whose values are of `kinds`; TypeError: they are not."""
    for value, kind in zip(row, kinds, strict=True):
        if not isinstance(value, kind):
            raise TypeError(f"{value!r} is not of type {kind}")
    return row


def moment(at: int) -> int:
    """`at`, which is epoch milliseconds of some day; ValueError: it is not."""
    if not 0 <= at <= LAST_MS:
        raise ValueError(f"{at} is no time")
    return at


def decoded(text: str) -> Any:
    """The value that was written as JSON; ValueError: nobody wrote that. What JSON has no word for is not let in, or it
    would stand in an answer."""
    try:
        return json.loads(text, parse_constant=_number, parse_float=_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _number(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is no number")
    return number
