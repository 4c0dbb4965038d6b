# The changes by hand, to SQL and back.
#
# Rule 1: rows are only added, and dropped when they are old or far too many.
# Rule 2: one that failed is owed, as settings are; so many at most, since a script may be the hand.

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from proxy.store.records import AUDIT_MS, SavedChange
from proxy.store.sql import Change, SqlValue, Statement, aged, decoded, moment, sound

AUDIT_KEPT = 100_000  # about 20 MB
AUDIT_OWED = 1000  # batches; one is a person's call

_KINDS = (int, str, str, str | None, str | None, str, str)
_COLUMNS = "at, by, what, provider_id, workspace, before, after"
_INSERT = f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608


def audit_change(changes: Sequence[SavedChange], number: int, *, prune: bool) -> Change:
    """Appends them, the `number`-th batch of this process; with `prune` also drops what is too old, or too much."""
    statements = [Statement(_INSERT, [_row(change) for change in changes])]
    if prune:
        statements = [
            aged("audit", max(change.at for change in changes), AUDIT_MS),
            *statements,
            Statement("DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?", [(AUDIT_KEPT,)]),
        ]
    return Change(key=("audit", str(number % AUDIT_OWED)), statements=tuple(statements))


def read_audit(connection: sqlite3.Connection, since_ms: int, most: int, provider_id: str | None) -> list[SavedChange]:
    """The newest `most` from then on, newest first; of one provider if it is named. ValueError or TypeError: a row is
    not what was written."""
    sql = (
        f"SELECT {_COLUMNS} FROM audit WHERE at >= ?1 AND (?2 IS NULL OR provider_id = ?2) "  # noqa: S608
        "ORDER BY id DESC LIMIT ?3"
    )
    return [_change(row) for row in connection.execute(sql, (since_ms, provider_id, most))]


def _row(change: SavedChange) -> tuple[SqlValue, ...]:
    before, after = json.dumps(change.before), json.dumps(change.after)
    return (change.at, change.by, change.what, change.provider_id, change.workspace, before, after)


def _change(row: tuple[Any, ...]) -> SavedChange:
    at, by, what, provider_id, workspace, before, after = sound(row, _KINDS)
    return SavedChange(
        at=moment(at),
        by=by,
        what=what,
        provider_id=provider_id,
        workspace=workspace,
        before=decoded(before),
        after=decoded(after),
    )
