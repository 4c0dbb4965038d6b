# Settings, stars and events to SQL and back.
#
# Rule: what is read back equals what was written. A row that does not decode raises ValueError or TypeError: the file
# is damaged in a way that the database cannot see.

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from proxy.core.model import RateLimit
from proxy.store.minutes import recorded
from proxy.store.records import HISTORY_MS, ProviderRecord, Saved, SavedEvent
from proxy.store.sql import Change, Statement, aged, decoded, moment, sound

EVENTS_KEPT = 500_000  # about 100 MB: a provider that refuses all week must not fill the disk

COLUMNS = (
    'provider_id, "limit", limit_by, file_limit, cooldown_s, cooldown_by, file_cooldown_s, auto_reduced_from, '
    "evidence, paused_until_ms, pause_cause, strikes, strikes_until_ms, restore_after_s"
)

KINDS = (
    *(str, int | None, str, int | None, float, str, float | None, int | None),
    *(str, int | None, str | None, int, int | None, float | None),
)
_EVENT_KINDS = (int, str, str | None, str)


def provider_change(record: ProviderRecord) -> Change:
    row = (
        record.provider_id,
        record.limit,
        record.limit_by,
        record.file_limit,
        record.cooldown_s,
        record.cooldown_by,
        record.file_cooldown_s,
        record.auto_reduced_from,
        json.dumps(record.evidence),
        record.paused_until_ms,
        record.pause_cause,
        record.strikes,
        record.strikes_until_ms,
        record.restore_after_s,
    )
    sql = f"INSERT OR REPLACE INTO providers ({COLUMNS}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
    return Change(key=("provider", record.provider_id), statements=(Statement(sql, [row]),))


def star_change(workspace: str, starred: bool) -> Change:
    sql = "INSERT OR REPLACE INTO stars VALUES (?)" if starred else "DELETE FROM stars WHERE workspace = ?"
    return Change(key=("star", workspace), statements=(Statement(sql, [(workspace,)]),))


def events_change(events: Sequence[SavedEvent], *, prune: bool) -> Change:
    """Appends; with `prune` also drops what is too old, or too much."""
    rows = [(event.at, event.name, event.provider_id, json.dumps(dict(event.data))) for event in events]
    statements = [Statement("INSERT INTO events (at, name, provider_id, data) VALUES (?, ?, ?, ?)", rows)]
    if prune:
        statements = [
            aged("events", max(event.at for event in events), HISTORY_MS),
            *statements,
            Statement("DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ?", [(EVENTS_KEPT,)]),
        ]
    return Change(key=None, statements=tuple(statements))


def read_saved(connection: sqlite3.Connection) -> Saved:
    """What a start needs. ValueError or TypeError: a row is not what was written."""
    records = [_provider(*sound(row, KINDS)) for row in connection.execute(f"SELECT {COLUMNS} FROM providers")]  # noqa: S608
    stars = frozenset(workspace for (workspace,) in connection.execute("SELECT workspace FROM stars"))
    providers = {record.provider_id: record for record in records}
    return Saved(providers=providers, stars=stars, recorded=recorded(connection))


def read_events(connection: sqlite3.Connection, since_ms: int) -> list[SavedEvent]:
    sql = "SELECT at, name, provider_id, data FROM events WHERE at >= ? ORDER BY id"
    return [_event(row) for row in connection.execute(sql, (since_ms,))]


def read_events_of(
    connection: sqlite3.Connection, provider_id: str, names: Sequence[str], since_ms: int, until_ms: int, most: int
) -> list[SavedEvent]:
    """The newest of one provider, oldest first."""
    sql = (
        "SELECT at, name, provider_id, data FROM events WHERE provider_id = ? AND at >= ? AND at < ? "  # noqa: S608
        f"AND name IN ({', '.join('?' * len(names))}) ORDER BY at DESC, id DESC LIMIT ?"
    )
    found = [_event(row) for row in connection.execute(sql, (provider_id, since_ms, until_ms, *names, most))]
    return found[::-1]


def _event(row: tuple[Any, ...]) -> SavedEvent:
    at, name, provider_id, data = sound(row, _EVENT_KINDS)
    (found,) = sound((decoded(data),), (dict,))
    return SavedEvent(at=moment(at), name=name, provider_id=provider_id, data=found)


def _provider(
    provider_id: str,
    limit: int | None,
    limit_by: str,
    file_limit: int | None,
    cooldown_s: float,
    cooldown_by: str,
    file_cooldown_s: float | None,
    auto_reduced_from: int | None,
    evidence: str,
    paused_until_ms: int | None,
    pause_cause: str | None,
    strikes: int,
    strikes_until_ms: int | None,
    restore_after_s: float | None,
) -> ProviderRecord:
    return ProviderRecord(
        provider_id=provider_id,
        limit=limit,
        limit_by=limit_by,
        file_limit=file_limit,
        cooldown_s=cooldown_s,
        cooldown_by=cooldown_by,
        file_cooldown_s=file_cooldown_s,
        auto_reduced_from=auto_reduced_from,
        evidence=tuple(RateLimit(*item) for item in json.loads(evidence)),
        paused_until_ms=paused_until_ms,
        pause_cause=pause_cause,
        strikes=strikes,
        strikes_until_ms=strikes_until_ms,
        restore_after_s=restore_after_s,
    )
