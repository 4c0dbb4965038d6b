# What happens beside the work: agents hang up, slots are reclaimed and given back twice, a person stars and pauses.

import random
from typing import Protocol

from proxy.core.model import Effect, Slot, Ticket
from proxy.core.scheduler import Scheduler

from .clock import Clock
from .work import Request

_LEAVES, _LEAVES_WITHIN_S = 0.1, 30.0  # share of the waiters
_RECLAIMED = 0.02  # share of the slots
_PERSON_EVERY_S = 60.0
_PAUSES, _PAUSE_S = 0.1, 10.0  # share of a person's deeds


class Queue(Protocol):
    """The proxy that is disturbed."""

    scheduler: Scheduler

    def apply(self, effects: list[Effect]) -> None:
        """Carry out what the scheduler decided."""


class Unrest:
    """Without a `chance` nothing happens."""

    def __init__(self, queue: Queue, clock: Clock, stars: set[str], chance: random.Random | None) -> None:
        self._queue, self._clock, self._stars, self._chance = queue, clock, stars, chance

    def start(self) -> None:
        """A person comes every minute."""
        if self._chance is not None:
            self._clock.later(_PERSON_EVERY_S, self._operate)

    def lined_up(self, ticket: Ticket) -> None:
        """Somebody waits, and may not want to for long."""
        if self._chance is not None and self._chance.random() < _LEAVES:
            self._clock.later(self._chance.uniform(0.0, _LEAVES_WITHIN_S), lambda: self._leave(ticket))

    def sent(self, slot: Slot, request: Request) -> None:
        """A slot was granted, and may be taken back."""
        if self._chance is not None and self._chance.random() < _RECLAIMED:
            self._clock.later(self._chance.uniform(0.0, request.work_s), lambda: self._reclaim(slot))

    def released(self, slot: Slot) -> None:
        """A slot was given back: a late second time changes nothing."""
        if self._chance is not None:
            self._queue.apply(self._queue.scheduler.release(slot, self._clock.now))

    def _leave(self, ticket: Ticket) -> None:
        self._queue.apply(self._queue.scheduler.cancel(ticket, self._clock.now))

    def _reclaim(self, slot: Slot) -> None:
        self._queue.apply(self._queue.scheduler.reclaim(slot, self._clock.now))

    def _operate(self) -> None:
        assert self._chance is not None
        scheduler, now = self._queue.scheduler, self._clock.now
        workspace = f"project-{self._chance.randrange(4)}"
        self._stars.symmetric_difference_update({workspace})
        scheduler.star_changed(workspace)
        self._queue.apply(scheduler.restore(now))
        if self._chance.random() < _PAUSES:
            self._queue.apply(scheduler.pause(now + _PAUSE_S, now))
        self._clock.later(_PERSON_EVERY_S, self._operate)
