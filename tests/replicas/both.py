# A scheduler in memory and one in Redis that are told the same: all effects, and all that can be read, must be equal.

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from redis_scheduler import RedisScheduler

from proxy.core.model import Effect, Policy, Slot, Snapshot, Ticket
from proxy.core.scheduler import Scheduler


class Both:
    """Answers as the one in memory does."""

    def __init__(
        self, make: Callable[..., RedisScheduler], policy: Policy, stars: AbstractSet[str], **start: Any
    ) -> None:
        self._one = Scheduler("api.example.com", policy, stars, **start)
        self._other = make(policy, stars, **start)

    def next_deadline(self) -> float | None:
        deadline = self._one.next_deadline()
        if deadline is not None:  # Redis keeps its own until somebody calls
            assert self._other.next_deadline() == deadline
        return deadline

    def star_changed(self, workspace: str) -> None:
        self._one.star_changed(workspace)
        self._other.star_changed(workspace)

    def reclaim_overdue(self, now: float) -> list[Effect]:
        for slot in self._one.holding():
            self._other.slot(slot).progress_at = slot.progress_at  # each has slots of its own
        theirs, ours = self._other.reclaim_overdue(now), self._one.reclaim_overdue(now)
        assert told(theirs) == told(ours), (told(theirs), told(ours))
        return ours

    def __getattr__(self, name: str) -> Callable[..., Any]:
        one, other = getattr(self._one, name), getattr(self._other, name)

        def both(*given: Any, **more: Any) -> Any:
            theirs = other(*(self._other.slot(one) if isinstance(one, Slot) else one for one in given), **more)
            ours = one(*given, **more)
            assert told(theirs) == told(ours), (name, told(theirs), told(ours))
            return ours

        return both


def told(found: Any) -> Any:
    """The same for two that say the same."""
    if isinstance(found, Ticket):
        return "ticket", found.id
    if isinstance(found, Slot):
        return "slot", found.grant, found.held
    if isinstance(found, float):
        return round(found, 9)
    if isinstance(found, Snapshot):
        return {name: told(value) for name, value in vars(found).items()}
    if isinstance(found, Effect):
        return type(found).__name__, *map(told, found)
    if isinstance(found, list | tuple):
        return [told(one) for one in found]
    return found
