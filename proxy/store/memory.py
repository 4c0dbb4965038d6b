# `state: memory`: keeps nothing beyond the process.
#
# Rule: it answers like a store that works, since it does all that it promises.

import asyncio
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from proxy.store.records import HISTORY_MS, MINUTE_MS, Minute, ProviderRecord, Saved, SavedChange, SavedEvent
from proxy.store.steps import steps

EVENTS_KEPT = 20_000  # about 10 MB
MINUTES_KEPT = 30_000  # about 10 MB: three providers for seven days
CHANGES_KEPT = 5_000  # about 2 MB


class MemoryStore:
    """A store for those who want none: every start is the first."""

    kind: str = "memory"
    ok: bool = True
    error: str | None = None
    damaged: Path | None = None
    damage: str | None = None

    def __init__(self) -> None:
        self._events: deque[SavedEvent] = deque(maxlen=EVENTS_KEPT)
        self._minutes: deque[Minute] = deque(maxlen=MINUTES_KEPT)
        self._changes: deque[SavedChange] = deque(maxlen=CHANGES_KEPT)

    async def open(self) -> Saved:
        return Saved()

    async def save_provider(self, record: ProviderRecord) -> bool:
        return True

    async def save_star(self, workspace: str, starred: bool) -> bool:
        return True

    async def append_events(self, events: Sequence[SavedEvent]) -> bool:
        self._events.extend(events)
        while self._events and self._events[0].at < self._events[-1].at - HISTORY_MS:
            self._events.popleft()
        return True

    async def history(self, since_ms: int) -> list[SavedEvent]:
        return [event for event in self._events if event.at >= since_ms]

    async def events_of(
        self, provider_id: str, names: Sequence[str], *, since_ms: int, until_ms: int, most: int
    ) -> list[SavedEvent]:
        found = [
            event
            for event in self._events
            if event.provider_id == provider_id and event.name in names and since_ms <= event.at < until_ms
        ]
        return sorted(found, key=lambda event: event.at)[-most:]

    async def append_minutes(self, minutes: Sequence[Minute]) -> bool:
        self._minutes.extend(minutes)
        while self._minutes and self._minutes[0].at < self._minutes[-1].at - HISTORY_MS:
            self._minutes.popleft()
        return True

    async def minutes(
        self, provider_id: str, *, since_ms: int, until_ms: int, step_ms: int = MINUTE_MS
    ) -> list[Minute]:
        found = [
            minute for minute in self._minutes if minute.provider_id == provider_id and since_ms <= minute.at < until_ms
        ]
        return await asyncio.to_thread(steps, found, step_ms)

    async def append_changes(self, changes: Sequence[SavedChange]) -> bool:
        self._changes.extend(changes)
        return True

    async def changes(self, *, since_ms: int, most: int, provider_id: str | None = None) -> list[SavedChange]:
        found = [
            change
            for change in reversed(self._changes)
            if change.at >= since_ms and provider_id in (None, change.provider_id)
        ]
        return found[:most]

    async def close(self) -> None:
        for kept in (self._events, self._minutes, self._changes):
            kept.clear()

    def __repr__(self) -> str:
        return "<MemoryStore>"
