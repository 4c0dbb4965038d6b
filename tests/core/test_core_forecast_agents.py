# What waiters are told, second by second, behind agents that come back and one that has a star, against how long they
# really wait: seeded, and as `slotgate demo` has it.

import random
import statistics
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from itertools import count

import pytest

from proxy.core.model import Effect, Granted, Policy, Slot, Ticket
from proxy.core.scheduler import Scheduler

AGENTS, LIMIT, LASTS_S = 8, 2, 1200.0
BEGUN = 20  # calls that have ended before anybody is asked about


class Office:
    """Agents at work; `goes_on` is how often a call is followed by another of the same prompt. `told`: by place in the
    queue, (what was said, what it was)."""

    def __init__(self, seed: int, *, goes_on: float, stars: set[str]) -> None:
        self._chance = random.Random(seed)
        self._goes_on = goes_on
        self._scheduler = Scheduler("p", Policy(max_wait_s=1e9), stars, limit=LIMIT)
        self._numbers = count(1)
        self._todo: list[tuple[float, int, Callable[[], None]]] = []
        self._said: defaultdict[int, list[tuple[float, int, float | None]]] = defaultdict(list)
        self._calls: dict[int, tuple[int, float, int]] = {}  # by ticket: agent, its prompt's start, calls before
        self._ended = 0
        self.now = 0.0
        self.told: defaultdict[int, list[tuple[float | None, float]]] = defaultdict(list)

    def run(self) -> None:
        for agent in range(AGENTS):
            self._later(self._chance.uniform(0.0, 4.0), partial(self._begin, agent))
        self._look()
        while self._todo[0][0] < LASTS_S:
            self.now, _, do = heappop(self._todo)
            do()

    def _later(self, wait_s: float, do: Callable[[], None]) -> None:
        heappush(self._todo, (self.now + wait_s, next(self._numbers), do))

    def _begin(self, agent: int) -> None:
        self._ask(agent, self.now, 0)

    def _ask(self, agent: int, began_at: float, calls: int) -> None:
        began_ms, number = round(began_at * 1000), next(self._numbers)
        ticket = Ticket(
            id=number, workspace=f"w{agent}", conversation=f"c{agent}", prompt_started_at=began_ms, path="/"
        )
        self._calls[number] = (agent, began_at, calls)
        self._apply(self._scheduler.request(ticket, self.now))

    def _apply(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Granted):
                for at, place, wait_s in self._said.pop(effect.ticket.id, []):
                    self.told[place].append((wait_s, self.now - at))
                lasts_s = min(5.0 + self._chance.expovariate(1 / 5.0), 40.0)
                self._later(0.5, partial(self._answered, effect.slot))
                self._later(lasts_s, partial(self._end, effect.slot))
        if (at := self._scheduler.next_deadline()) is not None:
            self._later(at - self.now, self._tick)

    def _answered(self, slot: Slot) -> None:
        self._apply(self._scheduler.answered(slot, self.now))

    def _end(self, slot: Slot) -> None:
        self._ended += 1
        agent, began_at, calls = self._calls.pop(slot.id)
        if calls < 8 and self._chance.random() < self._goes_on:
            self._later(self._chance.uniform(1.0, 6.0), partial(self._ask, agent, began_at, calls + 1))
        else:
            self._later(self._chance.uniform(5.0, 25.0), partial(self._begin, agent))
        self._apply(self._scheduler.release(slot, self.now))

    def _tick(self) -> None:
        self._apply(self._scheduler.tick(self.now, round(self.now * 1000)))

    def _look(self) -> None:
        if self._ended >= BEGUN:
            for place, one in enumerate(self._scheduler.expected_waits(self.now, round(self.now * 1000)), 1):
                self._said[one.ticket.id].append((self.now, place, one.wait_s))
        self._later(1.0, self._look)


@pytest.mark.parametrize(
    ("goes_on", "stars", "most"),
    [
        pytest.param(0.7, {"w1"}, 6, id="agents, and one with a star"),
        pytest.param(0.0, {"w1"}, 4, id="calls by themselves, and one with a star"),
        pytest.param(0.0, set(), 4, id="calls by themselves"),
    ],
)
def test_as_many_wait_longer_than_told_as_shorter(goes_on: float, stars: set[str], most: int) -> None:
    """In every place of the queue; half a second is what nobody notices."""
    off: defaultdict[int, list[float]] = defaultdict(list)
    for seed in range(6):
        office = Office(seed, goes_on=goes_on, stars=stars)
        office.run()
        for place, pairs in office.told.items():
            off[place] += [(was_s + 0.5) / (said_s + 0.5) for said_s, was_s in pairs if said_s is not None]
    for place in range(1, most + 1):
        assert len(off[place]) > 200, place
        assert 0.75 <= statistics.median(off[place]) <= 1.33, place
