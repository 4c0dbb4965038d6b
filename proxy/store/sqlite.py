# The state in one SQLite file: on threads of its own, so that a slow disk never holds up a request.
#
# Rule 1: one thread writes, one thing after the other, in the order asked for; only it touches the connection. Another
#         one reads with a connection of its own, so that a write never waits for somebody who looks at a week.
# Rule 2: a write is answered True when it is on the disk (WAL, synchronous=FULL), not before.
# Rule 3: a waiting task that is cancelled gives up the answer, never the write.
# Rule 4: a write that failed for a passing reason is owed, and goes with the next one: `ok` then means that the disk
#         says what the memory says.

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from proxy.errors import StoreError
from proxy.store.audit import audit_change, read_audit
from proxy.store.database import open_database, open_reader
from proxy.store.failure import is_passing, sentence
from proxy.store.minutes import minutes_change, read_minutes
from proxy.store.records import MINUTE_MS, Minute, ProviderRecord, Saved, SavedChange, SavedEvent
from proxy.store.rows import events_change, provider_change, read_events, read_events_of, star_change
from proxy.store.sql import Change

PRUNE_EVERY = 500  # batches of events, changes by hand; the first of a run prunes too
PRUNE_MINUTES = 5000  # rows; what is too much never grows by more than that and one batch

T = TypeVar("T")


class SqliteStore:
    """The store of a single process; the contract is `proxy.store.Store`."""

    kind: str = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.error: str | None = None
        self.damaged: Path | None = None
        self.damage: str | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="slotgate-state")
        self._reads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="slotgate-state-read")
        self._connection: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._owed: dict[tuple[str, str], Change] = {}
        self._batches = 0
        self._audits = 0
        self._minutes_unpruned = PRUNE_MINUTES
        self._closed = False

    @property
    def ok(self) -> bool:
        return self.error is None

    async def open(self) -> Saved:
        return await self._on_thread(self._open)

    async def save_provider(self, record: ProviderRecord) -> bool:
        return await self._save(provider_change(record))

    async def save_star(self, workspace: str, starred: bool) -> bool:
        return await self._save(star_change(workspace, starred))

    async def append_events(self, events: Sequence[SavedEvent]) -> bool:
        if not events:
            return True
        prune = self._batches % PRUNE_EVERY == 0
        self._batches += 1
        return await self._save(events_change(events, prune=prune))

    async def history(self, since_ms: int) -> list[SavedEvent]:
        return await self._read(lambda file: read_events(file, since_ms))

    async def events_of(
        self, provider_id: str, names: Sequence[str], *, since_ms: int, until_ms: int, most: int
    ) -> list[SavedEvent]:
        wanted = tuple(names)
        return await self._read(lambda file: read_events_of(file, provider_id, wanted, since_ms, until_ms, most))

    async def append_minutes(self, minutes: Sequence[Minute]) -> bool:
        if not minutes:
            return True
        prune = self._minutes_unpruned >= PRUNE_MINUTES
        self._minutes_unpruned = len(minutes) if prune else self._minutes_unpruned + len(minutes)
        return await self._save(minutes_change(minutes, prune=prune))

    async def minutes(
        self, provider_id: str, *, since_ms: int, until_ms: int, step_ms: int = MINUTE_MS
    ) -> list[Minute]:
        return await self._read(lambda file: read_minutes(file, provider_id, since_ms, until_ms, step_ms))

    async def append_changes(self, changes: Sequence[SavedChange]) -> bool:
        if not changes:
            return True
        number = self._audits
        self._audits += 1
        return await self._save(audit_change(changes, number, prune=number % PRUNE_EVERY == 0))

    async def changes(self, *, since_ms: int, most: int, provider_id: str | None = None) -> list[SavedChange]:
        return await self._read(lambda file: read_audit(file, since_ms, most, provider_id))

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if (reader := self._reader) is not None:
            reader.interrupt()  # what is read now is not waited for, and what was to be read next is not begun
        try:
            await self._on_thread(self._close_reader, self._reads)
            await self._on_thread(self._close)
        finally:
            self._reads.shutdown(wait=False)
            self._thread.shutdown(wait=False)

    async def _save(self, change: Change) -> bool:
        if self._closed:
            self.error = f"state {self.path} is closed"
            return False
        return await self._on_thread(lambda: self._write(change))

    async def _read(self, read: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed:
            raise StoreError(f"state {self.path} is closed")
        # Not shielded: what nobody waits for any more is not begun.
        return await asyncio.get_running_loop().run_in_executor(self._reads, lambda: self._read_now(read))

    async def _on_thread(self, work: Callable[[], T], thread: ThreadPoolExecutor | None = None) -> T:
        """On that which writes, if no other is said."""
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(thread or self._thread, work))

    # --- on the threads -------------------------------------------------------------------------------------------

    def _open(self) -> Saved:
        opened = open_database(self.path, datetime.now(UTC))
        self._connection, self.damaged, self.damage = opened.connection, opened.damaged, opened.damage
        return opened.saved

    def _write(self, change: Change) -> bool:
        if change.key is not None:
            self._owed[change.key] = change
        try:
            self._commit([*self._owed.values(), *([change] if change.key is None else [])])
        except sqlite3.Error as error:
            self._failed(change, error, owed=is_passing(error))
            return False
        except (UnicodeEncodeError, OverflowError) as error:
            self._failed(change, error, owed=False)
            return False
        self._owed.clear()
        self.error = None
        return True

    def _commit(self, changes: Sequence[Change]) -> None:
        connection = self._opened()
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for change in changes:
                for statement in change.statements:
                    connection.executemany(statement.sql, statement.rows)

    def _failed(self, change: Change, error: Exception, *, owed: bool) -> None:
        self.error = sentence(self.path, "written", error)
        if change.key is not None and not owed:
            del self._owed[change.key]

    def _read_now(self, read: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed:
            raise StoreError(f"state {self.path} is closed")
        try:
            if self._reader is None:
                self._reader = open_reader(self.path)
            return read(self._reader)
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise StoreError(sentence(self.path, "read", error)) from error

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def _close(self) -> None:
        if self._connection is None:
            return
        if self._owed:
            with suppress(sqlite3.Error):  # the last chance; that it failed before is in `error`
                self._commit([*self._owed.values()])
        self._connection.close()
        self._connection = None

    def _opened(self) -> sqlite3.Connection:
        assert self._connection is not None, "open() comes first"
        return self._connection

    def __repr__(self) -> str:
        return f"<SqliteStore {self.path} {'ok' if self.ok else self.error}>"
