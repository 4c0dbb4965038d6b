# `state: memory`: keeps nothing beyond the process.
#
# Rule: it answers like a store that works, since it does all that it promises.

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from proxy.store.records import HISTORY_MS, ProviderRecord, Saved, SavedEvent

EVENTS_KEPT = 20_000  # about 10 MB


class MemoryStore:
    """A store for those who want none: every start is the first."""

    kind: str = "memory"
    ok: bool = True
    error: str | None = None
    damaged: Path | None = None
    damage: str | None = None

    def __init__(self) -> None:
        self._events: deque[SavedEvent] = deque(maxlen=EVENTS_KEPT)

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

    async def close(self) -> None:
        self._events.clear()

    def __repr__(self) -> str:
        return "<MemoryStore>"
