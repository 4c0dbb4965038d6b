# The tables, and how an older file becomes a newer one.
#
# Rule 1: a migration that was ever released is never edited; a change is a new one at the end.
# Rule 2: each migration is one transaction with its version number, so a kill leaves the one before or the one after.
# Rule 3: a file that is not ours, or that a newer version wrote, is not touched.

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from proxy.errors import StoreError
from proxy.store.failure import DamagedFileError

APPLICATION_ID = 0x534C4754  # "SLGT": `file state.db` shows it, and it tells our file from another program's

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        """CREATE TABLE providers (
            provider_id TEXT PRIMARY KEY,
            "limit" INTEGER,
            limit_by TEXT NOT NULL,
            file_limit INTEGER,
            cooldown_s REAL NOT NULL,
            cooldown_by TEXT NOT NULL,
            file_cooldown_s REAL,
            auto_reduced_from INTEGER,
            evidence TEXT NOT NULL,
            paused_until_ms INTEGER,
            pause_cause TEXT
        ) WITHOUT ROWID""",
        "CREATE TABLE stars (workspace TEXT PRIMARY KEY CHECK (length(workspace) <= 128)) WITHOUT ROWID",
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            name TEXT NOT NULL,
            provider_id TEXT,
            data TEXT NOT NULL
        )""",
        "CREATE INDEX events_at ON events (at)",
    ),
    (
        "ALTER TABLE providers ADD COLUMN strikes INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE providers ADD COLUMN strikes_until_ms INTEGER",
        "ALTER TABLE providers ADD COLUMN restore_after_s REAL",
    ),
    (
        # Rows in the order of time, whoever they are of: a minute of many providers is one page on the disk, not many.
        """CREATE TABLE minutes (
            id INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            provider_id TEXT NOT NULL,
            seen_ms INTEGER NOT NULL,
            "limit" INTEGER,
            in_flight_max INTEGER NOT NULL,
            in_flight_ms INTEGER NOT NULL,
            queued_max INTEGER NOT NULL,
            queued_ms INTEGER NOT NULL,
            oldest_wait_ms INTEGER NOT NULL,
            granted INTEGER NOT NULL,
            completed INTEGER NOT NULL,
            rate_limited INTEGER NOT NULL,
            reduced INTEGER NOT NULL,
            paused_ms INTEGER NOT NULL,
            waits TEXT NOT NULL,
            first_bytes TEXT NOT NULL
        )""",
        "CREATE INDEX minutes_at ON minutes (at, provider_id)",
        """CREATE TABLE audit (
            id INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            by TEXT NOT NULL,
            what TEXT NOT NULL,
            provider_id TEXT,
            workspace TEXT,
            before TEXT NOT NULL,
            after TEXT NOT NULL
        )""",
        "CREATE INDEX events_of_provider ON events (provider_id, at)",
    ),
)


def refuse_foreign(connection: sqlite3.Connection, path: Path, *, known: int = len(MIGRATIONS)) -> None:
    """StoreError if the file belongs to another program or to a newer version, DamagedFileError if it bears our name
    but no version of ours; a file without any table is new."""
    application, version = _pragma(connection, "application_id"), _pragma(connection, "user_version")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and (application, version, tables) != (0, 0, 0):
        raise StoreError(f"state {path} is another program's database; set `state` to a path of its own")
    if application == APPLICATION_ID and version < 1:
        raise DamagedFileError(f"its schema version is {version}")
    if version > known:
        raise StoreError(
            f"state {path} was written by a newer slotgate (schema {version}; this one knows up to {known}); "
            "install that version again, or set `state` to another path"
        )


def migrate(connection: sqlite3.Connection, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Brings the file to the last version, one transaction a step; the connection must be in autocommit mode."""
    while (version := _pragma(connection, "user_version")) < len(migrations):
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if _pragma(connection, "user_version") == version:  # else another process was faster
                for statement in migrations[version]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)
