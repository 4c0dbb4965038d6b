# The minutes of the history, to SQL and back.
#
# Rule 1: rows are only added. What two processes saw of one minute is two rows, so neither can lessen the other's.
# Rule 2: a batch that failed is owed for an hour: a disk that is full for a while costs no more than it must.

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from proxy.store.records import HISTORY_MS, MINUTE_MS, Minute, Span
from proxy.store.sql import Change, SqlValue, Statement, sound

MINUTES_KEPT = 500_000  # rows, about 60 MB: 50 providers for the seven days
_OWED = 60  # batches

_FIELDS: dict[str, Any] = {
    "at": int,
    "provider_id": str,
    "seen_ms": int,
    "limit": int | None,
    "in_flight_max": int,
    "in_flight_ms": int,
    "queued_max": int,
    "queued_ms": int,
    "oldest_wait_ms": int,
    "granted": int,
    "completed": int,
    "rate_limited": int,
    "reduced": int,
    "paused_ms": int,
    "waits": str,
    "first_bytes": str,
}
_SPANS = ("waits", "first_bytes")
_COLUMNS = ", ".join(f'"{name}"' for name in _FIELDS)
_INSERT = f"INSERT INTO minutes ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})"  # noqa: S608
_SELECT = f"SELECT {_COLUMNS} FROM minutes WHERE at >= ? AND at < ? AND provider_id = ? ORDER BY at, id"  # noqa: S608


def minutes_change(minutes: Sequence[Minute], *, prune: bool) -> Change:
    """Appends; with `prune` also drops what is too old, measured from the newest of `minutes`, or too much."""
    newest = max(minute.at for minute in minutes)
    statements = [Statement(_INSERT, [_row(minute) for minute in minutes])]
    if prune:
        statements += [
            Statement("DELETE FROM minutes WHERE at < ?", [(newest - HISTORY_MS,)]),
            Statement("DELETE FROM minutes WHERE id <= (SELECT max(id) FROM minutes) - ?", [(MINUTES_KEPT,)]),
        ]
    return Change(key=("minutes", str(newest // MINUTE_MS % _OWED)), statements=tuple(statements))


def read_minutes(connection: sqlite3.Connection, provider_id: str, since_ms: int, until_ms: int) -> list[Minute]:
    """Those that begin from `since_ms` on and before `until_ms`. ValueError or TypeError: a row is not what was
    written."""
    return [_minute(row) for row in connection.execute(_SELECT, (since_ms, until_ms, provider_id))]


def recorded(connection: sqlite3.Connection) -> frozenset[str]:
    """The providers that have minutes. ValueError or TypeError: a row is not what was written."""
    return frozenset(sound(row, (str,))[0] for row in connection.execute("SELECT DISTINCT provider_id FROM minutes"))


def _row(minute: Minute) -> tuple[SqlValue, ...]:
    values = {name: getattr(minute, name) for name in _FIELDS}
    return tuple(
        json.dumps(value, separators=(",", ":")) if name in _SPANS else value for name, value in values.items()
    )


def _minute(row: tuple[Any, ...]) -> Minute:
    values: dict[str, Any] = dict(zip(_FIELDS, sound(row, list(_FIELDS.values())), strict=True))
    values |= {name: _spans(values[name]) for name in _SPANS}
    return Minute(**values)


def _spans(text: str) -> tuple[Span, ...]:
    return tuple(Span(*item) for item in json.loads(text))
