# The changes by hand, to SQL and back.
#
# Rule 1: rows are only added, and dropped when they are old or far too many.
# Rule 2: one that failed is owed, as settings are; so many at most, since a script may be the hand.

import json
import sqlite3
from typing import Any

from proxy.store.records import AUDIT_MS, SavedChange
from proxy.store.sql import Change, Statement, sound

AUDIT_KEPT = 100_000  # about 20 MB
AUDIT_OWED = 1000

_KINDS = (int, str, str, str | None, str | None, str, str)
_COLUMNS = "at, by, what, provider_id, workspace, before, after"


def audit_change(change: SavedChange, number: int, *, prune: bool) -> Change:
    """Appends the `number`-th of this process; with `prune` also drops what is too old, measured from it, or too
    much."""
    before, after = json.dumps(change.before), json.dumps(change.after)
    row = (change.at, change.by, change.what, change.provider_id, change.workspace, before, after)
    statements = [Statement(f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", [row])]  # noqa: S608
    if prune:
        statements += [
            Statement("DELETE FROM audit WHERE at < ?", [(change.at - AUDIT_MS,)]),
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


def _change(row: tuple[Any, ...]) -> SavedChange:
    at, by, what, provider_id, workspace, before, after = sound(row, _KINDS)
    return SavedChange(
        at=at,
        by=by,
        what=what,
        provider_id=provider_id,
        workspace=workspace,
        before=json.loads(before),
        after=json.loads(after),
    )
