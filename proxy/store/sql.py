# What every table shares: a write as statements, made on the loop's thread and done on the store's, and the check of
# what was read.

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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


def sound(row: tuple[Any, ...], kinds: Sequence[Any]) -> tuple[Any, ...]:
    """`row`, whose values are of `kinds`; TypeError: they are not."""
    for value, kind in zip(row, kinds, strict=True):
        if not isinstance(value, kind):
            raise TypeError(f"{value!r} is not of type {kind}")
    return row
