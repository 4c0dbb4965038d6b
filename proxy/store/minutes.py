# The minutes of the history, to SQL and back.
#
# Rule 1: rows are only added. What two processes saw of one minute is two rows, so neither can lessen the other's.
# Rule 2: a week of one provider is ten thousand rows, so the database puts them together to the steps asked for.
# Rule 3: a batch that failed is owed for an hour: a disk that is full for a while costs no more than it must.

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from proxy.store.records import HISTORY_MS, MINUTE_MS, Minute, Span
from proxy.store.sql import LAST_MS, Change, SqlValue, Statement, aged, decoded, moment, sound
from proxy.store.steps import OF_A_STEP, together

MINUTES_KEPT = 500_000  # rows, of 150 to 400 bytes: 50 providers for the seven days
_OWED = 60  # batches

_MANY = 2**53  # of one duration: more than ever were, and exact in JavaScript
_NUMBERS = (int, float)

_SPANS = ("waits", "first_bytes")
_FIELDS = (
    *("at", "provider_id", "seen_ms", "limit", "in_flight_max", "in_flight_ms", "queued_max", "queued_ms"),
    *("oldest_wait_ms", "granted", "completed", "rate_limited", "reduced", "paused_ms", *_SPANS),
)
_COLUMNS = ", ".join(f'"{name}"' for name in _FIELDS)
_INSERT = f"INSERT INTO minutes ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})"  # noqa: S608

# Of durations a step has the JSON of all that are not empty, as a list.
_KINDS = (int, *[int] * len(OF_A_STEP), str, str, int, int, int | None)
_SELECT = f"""
    SELECT step.*, last."limit" FROM (
        SELECT
            at - at % ?1 AS at,
            {", ".join(f"{function}({name}) AS {name}" for name, function in OF_A_STEP.items())},
            {", ".join(f"'[' || coalesce(group_concat(nullif({name}, '[]')), '') || ']'" for name in _SPANS)},
            min(min({", ".join(OF_A_STEP)})) AS least,
            max(id) AS last
        FROM minutes WHERE at >= ?2 AND at < ?3 AND provider_id = ?4 GROUP BY 1
    ) AS step JOIN minutes AS last ON last.id = step.last ORDER BY step.at
"""  # noqa: S608


def minutes_change(minutes: Sequence[Minute], *, prune: bool) -> Change:
    """Appends; with `prune` also drops what is too old, or too much."""
    newest = max(minute.at for minute in minutes)
    statements = [Statement(_INSERT, [_row(minute) for minute in minutes])]
    if prune:
        statements = [
            aged("minutes", newest, HISTORY_MS),
            *statements,
            Statement("DELETE FROM minutes WHERE id <= (SELECT max(id) FROM minutes) - ?", [(MINUTES_KEPT,)]),
        ]
    return Change(key=("minutes", str(newest // MINUTE_MS % _OWED)), statements=tuple(statements))


def read_minutes(
    connection: sqlite3.Connection, provider_id: str, since_ms: int, until_ms: int, step_ms: int
) -> list[Minute]:
    """What was seen in each step, as `proxy.store.steps` puts minutes together. ValueError or TypeError: a row is not
    what was written."""
    rows = connection.execute(_SELECT, (step_ms, since_ms, until_ms, provider_id))
    return [_minute(provider_id, row) for row in rows]


def recorded(connection: sqlite3.Connection) -> frozenset[str]:
    """The providers that have minutes. ValueError or TypeError: a row is not what was written."""
    return frozenset(sound(row, (str,))[0] for row in connection.execute("SELECT DISTINCT provider_id FROM minutes"))


def _row(minute: Minute) -> tuple[SqlValue, ...]:
    values = {name: getattr(minute, name) for name in _FIELDS}
    return tuple(
        json.dumps(value, separators=(",", ":")) if name in _SPANS else value for name, value in values.items()
    )


def _minute(provider_id: str, row: tuple[Any, ...]) -> Minute:
    at, *numbers, waits, first_bytes, least, _, limit = sound(row, _KINDS)
    if min(least, *numbers, limit or 0) < 0:
        raise ValueError("a number is less than nothing")
    return Minute(
        provider_id=provider_id,
        at=moment(at),
        limit=limit,
        waits=together(_spans(waits)),
        first_bytes=together(_spans(first_bytes)),
        **dict(zip(OF_A_STEP, numbers, strict=True)),
    )


def _spans(text: str) -> list[list[Span]]:
    (several,) = sound((decoded(text),), (list,))
    return [[_span(span) for span in spans] for spans in several]


def _span(values: list[Any]) -> Span:
    low_ms, high_ms, number = values
    bounded = high_ms is None or (type(high_ms) in _NUMBERS and high_ms <= LAST_MS)
    if type(low_ms) in _NUMBERS and 0 <= low_ms <= LAST_MS and bounded and type(number) is int and 0 <= number <= _MANY:
        return Span(low_ms, high_ms, number)
    raise ValueError("what it counts is no span of time")
