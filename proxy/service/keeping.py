# What outlives the process, on its way to the store: the providers as they stand, events, minutes, changes by hand.
#
# Rule 1: nobody waits for the store but who says so: an operator's call, and the end of the process.
# Rule 2: a provider is saved as it is when its turn comes, so that many changes are few writes.
# Rule 3: what could not be stored is said in the log each time, and goes on to hold in memory.

import asyncio
from collections.abc import Mapping, Sequence

from proxy.core.model import CooldownSet, Effect, LimitSet, Reduced, Resumed
from proxy.service import standing as standings
from proxy.service.admission import Admission
from proxy.service.clock import Clock
from proxy.service.log import Log
from proxy.service.pending import Pending
from proxy.service.tasks import Tasks
from proxy.store import Minute, SavedChange, SavedEvent, Store


class Keeping:
    """`admissions` and `standings` are all known providers, and who set what there. `events`, `minutes` and `changes`
    take what is to be added."""

    def __init__(
        self,
        *,
        clock: Clock,
        store: Store,
        tasks: Tasks,
        log: Log,
        admissions: Mapping[str, Admission],
        standings: Mapping[str, standings.Standing],
    ) -> None:
        self.events = Pending("save events", self._save_events, tasks)
        self.minutes = Pending("save minutes", self._save_minutes, tasks)
        self.changes = Pending("save changes", self._save_changes, tasks)
        self._clock = clock
        self._store = store
        self._tasks = tasks
        self._log = log
        self._admissions = admissions
        self._standings = standings
        self._saving: dict[str, asyncio.Task[bool]] = {}

    def __repr__(self) -> str:
        return f"<Keeping {self.events!r}, {self.minutes!r}, {self.changes!r}, {len(self._saving)} providers>"

    def heard(self, provider_id: str, effect: Effect) -> None:
        """Something was decided there that outlives the process."""
        _note(self._standings[provider_id], effect)
        if not (isinstance(effect, Resumed) and effect.cause == "elapsed"):  # when it ends was stored as it began
            self.save_soon(provider_id)

    def overheard(self, provider_id: str, effect: Effect) -> None:
        """The same by another replica, which stores it."""
        _note(self._standings[provider_id], effect)

    def save_soon(self, provider_id: str) -> None:
        """Store the provider as it stands."""
        if provider_id not in self._saving:
            self._saving[provider_id] = self._tasks.start("save", self._save(provider_id))

    async def saved(self, provider_id: str) -> bool:
        """The same at once; whether it is stored, when that is known, and what was noted of it for the audit too."""
        self.save_soon(provider_id)
        stored = await asyncio.shield(self._saving[provider_id])
        await self.changes.done()
        return stored

    def check(self, stored: bool) -> bool:
        """`stored`, said in the log if it is not so."""
        if not stored:
            self._log.error("state.write_failed", error=self._store.error)
        return stored

    async def done(self) -> None:
        """Wait until everything has been written, or has failed."""
        if self._saving:
            await asyncio.wait(list(self._saving.values()))
        for pending in (self.events, self.changes, self.minutes):
            await pending.done()

    async def _save(self, provider_id: str) -> bool:
        del self._saving[provider_id]  # what changes from here on needs another save
        await self._admissions[provider_id].refresh()
        snapshot = self._admissions[provider_id].snapshot()
        record = standings.record(snapshot, self._standings[provider_id], self._clock.to_wall_ms)
        return self.check(await self._store.save_provider(record))

    async def _save_events(self, events: Sequence[SavedEvent]) -> None:
        self.check(await self._store.append_events(events))

    async def _save_minutes(self, minutes: Sequence[Minute]) -> None:
        self.check(await self._store.append_minutes(minutes))

    async def _save_changes(self, changes: Sequence[SavedChange]) -> None:
        self.check(await self._store.append_changes(changes))


def _note(standing: standings.Standing, effect: Effect) -> None:
    if isinstance(effect, LimitSet | Reduced):
        _note_limit(standing, effect)
    elif isinstance(effect, CooldownSet):
        standing.cooldown_by = "auto" if effect.by == "learned" else effect.by


def _note_limit(standing: standings.Standing, effect: LimitSet | Reduced) -> None:
    """Who set it. What rate limits do to a limit set by hand leaves it a person's."""
    if isinstance(effect, Reduced) or effect.by == "auto_restore":
        standing.limit_by = "api" if standing.limit_by == "api" else "auto"
    else:
        standing.limit_by = {"file": "file", "learned": "auto"}.get(effect.by, "api")
