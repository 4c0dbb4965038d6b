# What outlives the process: one protocol, and the stores that keep it.
#
# Rule 1: a write that fails is an answer (False), never an exception: the proxy goes on with what it has in memory.
# Rule 2: nothing here decides; it keeps what it is given and gives it back.

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from proxy.config.redis_url import shown_redis_url
from proxy.errors import StoreError
from proxy.store.memory import MemoryStore
from proxy.store.records import (
    AUDIT_MS,
    HISTORY_MS,
    MINUTE_MS,
    Minute,
    ProviderRecord,
    Saved,
    SavedChange,
    SavedEvent,
    Span,
)
from proxy.store.sqlite import SqliteStore
from proxy.store.steps import steps

__all__ = [
    "AUDIT_MS",
    "HISTORY_MS",
    "MINUTE_MS",
    "Minute",
    "ProviderRecord",
    "Saved",
    "SavedChange",
    "SavedEvent",
    "Span",
    "Store",
    "StoreError",
    "open_store",
    "steps",
]


class Store(Protocol):
    """Keeps the state of spec §13. Writes are done in the order of the calls, off the event loop; cancelling who
    waits for one does not cancel the write."""

    @property
    def kind(self) -> str:
        """What /status calls it: "sqlite", "redis" or "memory"."""

    @property
    def ok(self) -> bool:
        """False after a write that failed, until one succeeds."""

    @property
    def error(self) -> str | None:
        """The failure behind `ok` being False, as a sentence for /status and the log."""

    @property
    def damaged(self) -> Path | None:
        """Where `open` set a damaged file aside; None: there was none."""

    @property
    def damage(self) -> str | None:
        """What was wrong with that file, as a sentence for the log."""

    async def open(self) -> Saved:
        """Reads everything; called once, before all else. A damaged file is set aside and the result is empty.
        StoreError, which says what to do: no access, no space, locked, another program's, or a newer version's."""

    async def save_provider(self, record: ProviderRecord) -> bool:
        """True once the record is on the disk; False if it is not. It is then stored with the next write that works,
        unless a later record of the same provider is."""

    async def save_star(self, workspace: str, starred: bool) -> bool:
        """The same for one workspace's star."""

    async def append_events(self, events: Sequence[SavedEvent]) -> bool:
        """Adds to the history and, now and then, drops what is older than HISTORY_MS. A batch that fails is lost."""

    async def history(self, since_ms: int) -> list[SavedEvent]:
        """The events from then on, in the order in which they were appended. StoreError: it cannot be read."""

    async def events_of(
        self, provider_id: str, names: Sequence[str], *, since_ms: int, until_ms: int, most: int
    ) -> list[SavedEvent]:
        """The newest `most` of one provider's events that have one of `names`, from `since_ms` on and before
        `until_ms`, in the order of time. StoreError: it cannot be read."""

    async def append_minutes(self, minutes: Sequence[Minute]) -> bool:
        """Adds to what was seen of the providers' minutes, all or none, and drops now and then what is older than
        HISTORY_MS or more than the store's share. A batch that fails is tried again with the next writes, within
        reason. Several processes may each add what they saw of the same minute."""

    async def minutes(
        self, provider_id: str, *, since_ms: int, until_ms: int, step_ms: int = MINUTE_MS
    ) -> list[Minute]:
        """What one provider's minutes that begin from `since_ms` on and before `until_ms` say of each step of `step_ms`
        (counted from the epoch), in the order of time: one Minute for each, that is all of the step's together; the
        last one in force is the one that was appended last. StoreError: it cannot be read."""

    async def append_changes(self, changes: Sequence[SavedChange]) -> bool:
        """Adds to the changes by hand, which are kept for AUDIT_MS. A batch that fails is tried again with the next
        writes, within reason."""

    async def changes(self, *, since_ms: int, most: int, provider_id: str | None = None) -> list[SavedChange]:
        """The last `most` changes by hand from then on, the last one first; of one provider if it is named.
        StoreError: it cannot be read."""

    async def close(self) -> None:
        """Returns when every write asked for before is done; later ones answer False. May be called again."""


def open_store(kind: str, target: str) -> Store:
    """The store of `kind` "sqlite" (target: the file's path), "redis" (the server's URL) or "memory"; it touches
    nothing until `open`. StoreError for every other kind, and for a server that cannot be spoken to."""
    if kind == "memory":
        return MemoryStore()
    if kind == "sqlite":
        return SqliteStore(Path(target))
    if kind == "redis":
        return _shared(target)
    raise StoreError(
        f"state: there is no store of kind {kind!r}; set `state` to a file's path, to memory or to redis://…"
    )


def _shared(url: str) -> Store:
    try:
        # Only here: who has no such state need not have the package, and does not wait for it.
        from proxy.replicas.server import Server
        from proxy.store.redis import RedisStore
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "redis":
            raise
        raise StoreError(
            f"state {shown_redis_url(url)} needs the package redis; install it with: pip install 'slotgate[redis]'"
        ) from None
    try:
        return RedisStore(Server(url))
    except ValueError as error:
        raise StoreError(f"state: {error}") from None
