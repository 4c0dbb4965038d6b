# The state that several replicas share, in Redis or Valkey.
#
# Rule 1: one write at a time, in the order asked for; what is asked for meanwhile goes together with the next. Reads
#         have a connection of their own, so that a write never waits for somebody who looks at a week.
# Rule 2: writing the same twice is writing it once: of a call that got no answer nobody knows whether it happened. So
#         one whose connection is lost is made again at once: an idle one is cut by many servers and balancers.
# Rule 3: a waiting task that is cancelled gives up the answer, never the write.
# Rule 4: a write that failed is owed, and goes with the next one, as in the SQLite store.
# Rule 5: all keys have the hash tag {state}, so that in a Cluster they lie on one node, and a write is whole.

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from redis.exceptions import ConnectionError as ConnectionLost

from proxy.errors import StoreError
from proxy.replicas.ending import end
from proxy.replicas.server import FAILURES, Away, Server
from proxy.store import documents
from proxy.store.documents import Stamped
from proxy.store.records import (
    AUDIT_MS,
    HISTORY_MS,
    MINUTE_MS,
    Minute,
    ProviderRecord,
    Saved,
    SavedChange,
    SavedEvent,
)
from proxy.store.shared_steps import shared_steps

# It is all in memory there, and a document of a history takes 150 to 500 bytes.
EVENTS_KEPT = 50_000  # of one provider: about 20 MB
MINUTES_KEPT = 50_000  # of one provider: about 12 MB, five replicas for the seven days
CHANGES_KEPT = 20_000  # about 8 MB

MINUTES_OWED = 60  # batches, one a minute: what is away for longer than an hour misses some
CHANGES_OWED = 1000  # batches; one is a person's call
PAGE = 2000  # documents in one reply: some milliseconds of the server's time, and of the loop's

_WORKSPACE = 128  # characters, at most (spec §4)
_UNENCODABLE = (UnicodeEncodeError, OverflowError, TypeError, ValueError)

# ARGV[1] is a list of writes, {name, rest of the key, …}. Age is measured from the older one of what comes and of what
# is there: on the word of a clock that is ahead for one run nothing is thrown away. What nobody adds to ends by itself.
_WRITE = """
for _, write in ipairs(cmsgpack.unpack(ARGV[1])) do
  local name, key = write[1], KEYS[1] .. write[2]
  if name == 'append' then
    local kept_ms, most, documents = write[3], write[4], write[5]
    local there = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
    local newest = 0
    for _, document in ipairs(documents) do
      redis.call('ZADD', key, string.format('%.0f', document[1]), document[2])
      newest = math.max(newest, document[1])
    end
    if there then
      local oldest = math.min(newest, tonumber(there)) - kept_ms
      redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. string.format('%.0f', oldest))
    end
    redis.call('ZREMRANGEBYRANK', key, 0, -1 - most)
    redis.call('PEXPIRE', key, string.format('%.0f', kept_ms))
  else
    redis.call(name, key, unpack(write, 3))
  end
end
"""

T = TypeVar("T")
Write = Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What one call writes. A later change of the same `key` makes an earlier one needless; None: it stands alone."""

    key: tuple[str, str] | None
    writes: tuple[Write, ...]


class _Asked(NamedTuple):
    change: _Change
    done: asyncio.Future[bool]


class RedisStore:
    """The store that replicas share; the contract is `proxy.store.Store`. `replica` is the name under which this one's
    minutes are kept, and may be set until `open`. `open` may be called again after it has failed."""

    kind: str = "redis"
    damaged: Path | None = None
    damage: str | None = None

    def __init__(
        self, server: Server, replica: str = "", *, now_us: Callable[[], int] = lambda: time.time_ns() // 1000
    ) -> None:
        self.replica = replica
        self.error: str | None = None
        self.warnings: list[str] = []  # what `open` found that a person should be warned of
        self.server = server
        self._base = f"{server.prefix}:{{state}}:"
        self._now_us = now_us
        self._stamp = 0
        self._writer: Any = server.client()
        self._reader: Any = server.client()
        self._asked: list[_Asked] = []
        self._owed: dict[tuple[str, str], _Change] = {}
        self._writing: asyncio.Task[None] | None = None
        self._audits = 0
        self._closed = False

    @property
    def ok(self) -> bool:
        return self.error is None

    async def open(self) -> Saved:
        try:
            self.warnings = await self.server.prepare(self._reader)
            return Saved(
                providers=await self._providers(),
                stars=await self.stars(),
                recorded=await self._recorded(),
                fingerprint_key=await self._fingerprint_key(),
            )
        except (Away, StoreError) as error:
            with suppress(*FAILURES):
                await self._reader.aclose()  # nobody closes a store that was never open
            raise StoreError(str(error)) from error

    async def _fingerprint_key(self) -> bytes:
        """The one that the first replica has made."""
        await self._ask(self._reader.set, "fingerprint", secrets.token_bytes(32), nx=True)
        return bytes(await self._ask(self._reader.get, "fingerprint"))

    async def provider(self, provider_id: str) -> ProviderRecord | None:
        """The provider's record as it is now, whoever wrote it. StoreError: it cannot be read."""
        document = await self._ask(self._reader.hget, "providers", provider_id)
        return None if document is None else self._read("providers", documents.read_record, document)

    async def stars(self) -> frozenset[str]:
        """The workspaces that are starred now. StoreError: they cannot be read."""
        return await self._names("stars")

    async def save_provider(self, record: ProviderRecord) -> bool:
        return await self._save(
            lambda: _Change(
                key=("provider", record.provider_id),
                writes=(("HSET", "providers", record.provider_id, documents.record_document(record)),),
            )
        )

    async def save_star(self, workspace: str, starred: bool) -> bool:
        return await self._save(
            lambda: _Change(
                key=("star", workspace),
                writes=(("SADD" if starred else "SREM", "stars", _short(workspace)),),
            )
        )

    async def append_events(self, events: Sequence[SavedEvent]) -> bool:
        if not events:
            return True
        return await self._save(lambda: self._events_change(events))

    async def history(self, since_ms: int) -> list[SavedEvent]:
        members = [
            member
            for key in sorted(await self._names("eventful"))
            async for page in self._pages(key, since_ms)
            for member in page
        ]
        # By their stamps, so in the order in which they were appended, whichever provider they are of.
        return await self._read_all("events", documents.read_event, sorted(members))

    async def events_of(
        self, provider_id: str, names: Sequence[str], *, since_ms: int, until_ms: int, most: int
    ) -> list[SavedEvent]:
        found: list[SavedEvent] = []
        key = _events_key(provider_id)
        async for page in self._pages(key, since_ms, until_ms, backwards=True):
            events = await self._read_all(key, documents.read_event, page)
            found += [event for event in events if event.name in names]
            if len(found) >= most:
                break
        return found[:most][::-1]

    async def append_minutes(self, minutes: Sequence[Minute]) -> bool:
        if not minutes:
            return True
        return await self._save(lambda: self._minutes_change(minutes))

    async def minutes(
        self, provider_id: str, *, since_ms: int, until_ms: int, step_ms: int = MINUTE_MS
    ) -> list[Minute]:
        key, seen = _minutes_key(provider_id), list[tuple[str, Minute]]()
        async for page in self._pages(key, since_ms, until_ms):
            seen += await self._on_thread(key, documents.read_minutes, provider_id, page)
        return await asyncio.to_thread(shared_steps, seen, step_ms)

    async def append_changes(self, changes: Sequence[SavedChange]) -> bool:
        if not changes:
            return True
        return await self._save(lambda: self._audit_change(changes))

    async def changes(self, *, since_ms: int, most: int, provider_id: str | None = None) -> list[SavedChange]:
        found: list[SavedChange] = []
        async for page in self._pages("changes", since_ms, backwards=True):
            changes = await self._read_all("changes", documents.read_change, page)
            found += [change for change in changes if provider_id in (None, change.provider_id)]
            if len(found) >= most:
                break
        return found[:most]

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        writing = self._writing
        try:
            if writing is not None:
                await asyncio.shield(writing)
            if self._owed:
                with suppress(*FAILURES):  # the last chance; that it failed before is in `error`
                    await self._commit([*self._owed.values()])
        finally:
            if writing is not None:  # who closes waits no longer
                await end([writing])
            for client in (self._reader, self._writer):
                with suppress(*FAILURES):
                    await client.aclose()

    # --- changes ------------------------------------------------------------------------------------------------------

    def _events_change(self, events: Sequence[SavedEvent]) -> _Change:
        of: dict[str, list[Stamped]] = {}
        for event in events:
            of.setdefault(_events_key(event.provider_id), []).append(
                documents.event_document(event, self._next_stamp())
            )
        appends = [("append", key, HISTORY_MS, EVENTS_KEPT, found) for key, found in of.items()]
        return _Change(key=None, writes=(("SADD", "eventful", *of), *appends))

    def _minutes_change(self, minutes: Sequence[Minute]) -> _Change:
        of: dict[str, list[Stamped]] = {}
        for minute in minutes:
            document = documents.minute_document(minute, self.replica, self._next_stamp())
            of.setdefault(minute.provider_id, []).append(document)
        appends = [("append", _minutes_key(name), HISTORY_MS, MINUTES_KEPT, found) for name, found in of.items()]
        newest = max(minute.at for minute in minutes)
        return _Change(
            key=("minutes", str(newest // MINUTE_MS % MINUTES_OWED)), writes=(("SADD", "recorded", *of), *appends)
        )

    def _audit_change(self, changes: Sequence[SavedChange]) -> _Change:
        found = [documents.change_document(change, self._next_stamp()) for change in changes]
        number = self._audits
        self._audits += 1
        return _Change(
            key=("audit", str(number % CHANGES_OWED)),
            writes=(("append", "changes", AUDIT_MS, CHANGES_KEPT, found),),
        )

    def _next_stamp(self) -> int:
        """Later than the last one: by the clock, so that the stamps of several replicas are in order as far as clocks
        agree."""
        self._stamp = max(self._stamp + 1, self._now_us())
        return self._stamp

    # --- writing ------------------------------------------------------------------------------------------------------

    async def _save(self, made: Callable[[], _Change]) -> bool:
        if self._closed:
            self.error = f"{self.server} is closed"
            return False
        try:
            change = made()
            msgspec.msgpack.encode(change.writes)
        except _UNENCODABLE as error:
            self.error = f"{self.server} cannot be written: {type(error).__name__}; this value cannot be stored"
            return False
        asked = _Asked(change, asyncio.get_running_loop().create_future())
        self._asked.append(asked)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all(), name="write the shared state")
        return await asyncio.shield(asked.done)

    async def _write_all(self) -> None:
        """Until nothing is asked for any more."""
        batch: list[_Asked] = []
        try:
            while self._asked:
                batch, self._asked = self._asked, []
                stored = await self._write([asked.change for asked in batch])
                for asked in batch:
                    asked.done.set_result(stored)
        finally:
            self._writing = None
            for asked in (*batch, *self._asked):
                asked.done.cancel()  # nothing, but where this was cancelled itself, or is at fault

    async def _write(self, changes: Sequence[_Change]) -> bool:
        for change in changes:
            if change.key is not None:
                self._owed.pop(change.key, None)  # the later one is written at its own place in the order
                self._owed[change.key] = change
        try:
            await self._commit([*self._owed.values(), *(change for change in changes if change.key is None)])
        except FAILURES as error:
            self.error = str(self.server.away(error))
            return False
        self._owed.clear()
        self.error = None
        return True

    async def _commit(self, changes: Iterable[_Change]) -> None:
        writes = [write for change in changes for write in change.writes]
        packed = msgspec.msgpack.encode(writes)
        with suppress(ConnectionLost):
            await self._writer.eval(_WRITE, 1, self._base, packed)
            return
        await self._writer.eval(_WRITE, 1, self._base, packed)

    # --- reading ------------------------------------------------------------------------------------------------------

    async def _providers(self) -> dict[str, ProviderRecord]:
        found = await self._ask(self._reader.hgetall, "providers")
        records = [self._read("providers", documents.read_record, document) for document in found.values()]
        return {record.provider_id: record for record in records}

    async def _recorded(self) -> frozenset[str]:
        names = await self._names("recorded")
        return frozenset([name for name in names if await self._ask(self._reader.exists, _minutes_key(name))])

    async def _names(self, key: str) -> frozenset[str]:
        members = await self._ask(self._reader.smembers, key)
        return frozenset(self._read(key, documents.read_name, member) for member in members)

    async def _pages(
        self, key: str, since_ms: int, until_ms: int | None = None, *, backwards: bool = False
    ) -> AsyncIterator[list[bytes]]:
        """The members from `since_ms` on and before `until_ms`, in the order of time and of their stamps, or in the
        opposite one. What comes and goes meanwhile may be missing, nothing else is."""
        low: str | float = since_ms
        high: str | float = "+inf" if until_ms is None else f"({until_ms}"
        most = PAGE
        while True:
            bounds = (high, low) if backwards else (low, high)
            found = await self._ask(
                self._reader.zrange, key, *bounds, desc=backwards, byscore=True, offset=0, num=most, withscores=True
            )
            if len(found) < most:
                if found:
                    yield [member for member, _ in found]
                return
            last = found[-1][1]
            page = [member for member, at in found if at != last]  # that moment may have more, so it is read anew
            if not page:
                most *= 2
                continue
            yield page
            low, high = (low, last) if backwards else (last, high)

    async def _ask(self, call: Callable[..., Any], key: str, *arguments: Any, **options: Any) -> Any:
        if self._closed:
            raise StoreError(f"{self.server} is closed")
        try:
            with suppress(ConnectionLost):
                return await call(self._base + key, *arguments, **options)
            return await call(self._base + key, *arguments, **options)
        except FAILURES as error:
            raise StoreError(str(self.server.away(error))) from error

    def _read(self, key: str, read: Callable[..., T], *arguments: Any) -> T:
        try:
            return read(*arguments)
        except ValueError as error:
            raise StoreError(f"{self.server} cannot be read: {self._base}{key}: {_why(error)}") from error

    async def _on_thread(self, key: str, read: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.to_thread(self._read, key, read, *arguments)

    async def _read_all(self, key: str, read: Callable[[bytes], T], members: Sequence[bytes]) -> list[T]:
        return await self._on_thread(key, lambda: [read(member) for member in members])

    def __repr__(self) -> str:
        return f"<RedisStore {self.server.name} {'ok' if self.ok else self.error}>"


def _events_key(provider_id: str | None) -> str:
    return "events" if provider_id is None else f"events:{provider_id}"


def _minutes_key(provider_id: str) -> str:
    return f"minutes:{provider_id}"


def _short(workspace: str) -> str:
    if len(workspace) > _WORKSPACE:
        raise ValueError
    return workspace


def _why(error: ValueError) -> str:
    """A decoder's own words show what it could not read."""
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
