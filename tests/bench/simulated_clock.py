"""How fast a scheduler runs under a simulated clock: steps a minute, with everything it does in use.

    python tests/bench/simulated_clock.py [--json] [--steps N]

Forty agents of six projects think, ask, hold and come again; some leave the queue, some let their slot be reclaimed.
The provider serves one less than the limit says, so it refuses now and then, and its usage count is polled before
each grant. A person restores the limit, pauses and stars. A step is one call of the scheduler.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from heapq import heappop, heappush
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # this checkout, installed or not

from proxy.core.model import Effect, Granted, PausePolicy, Policy, PollUsage, Refused, Slot, Ticket
from proxy.core.scheduler import Scheduler

AGENTS = 40
LIMIT = 4
SERVED = 3  # what the provider takes at once
POLICY = Policy(pause=PausePolicy(default_s=5.0), max_wait_s=240.0, slot_timeout_s=60.0, gate_interval_s=1.0)


class Simulation:
    """A day of one provider. After `run`, `granted` and `ended` count slots, `over` the grants beyond the limit and
    `inversions` the grants that were not the first in line."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now = 0.0
        self.stars: set[str] = set()
        self.scheduler = Scheduler("api.example.com", POLICY, self.stars, limit=LIMIT)
        self.steps = self.granted = self.ended = self.over = self.inversions = self.refusals = self.tickets = 0
        self.line: dict[int, Ticket] = {}
        self.open: dict[int, Slot] = {}
        self.busy = 0  # what the provider counts
        self.asking = True
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._planned = 0

    def run(self, steps: int) -> None:
        """Go on for `steps`, then let everybody finish."""
        for _ in range(AGENTS):
            self._later(self.chance.uniform(0.0, 20.0), self._ask)
        self._later(60.0, self._operate)
        while self.asking or self.line or self.open or self.scheduler.in_flight:
            self.asking = self.asking and self.steps < steps
            self._next()

    # --- the clock ---

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        self._planned += 1
        heappush(self._events, (self.now + seconds, self._planned, action))

    def _next(self) -> None:
        deadline = self.scheduler.next_deadline()
        if self._events and (deadline is None or self._events[0][0] < deadline):
            self.now, _, action = heappop(self._events)
            action()
        else:
            assert deadline is not None, "everybody waits for nothing"
            assert deadline >= self.now, "a deadline that is over"
            self.now = deadline
            self._did(self.scheduler.tick(self.now, int(self.now * 1000)))

    def _did(self, effects: list[Effect]) -> None:
        self.steps += 1
        for effect in effects:
            if isinstance(effect, Granted):
                self._begin(effect)
            elif isinstance(effect, Refused):
                self._gone(effect.ticket)
            elif isinstance(effect, PollUsage):
                self._later(self.chance.uniform(0.05, 1.5), self._polled)

    # --- agents and their provider ---

    def _ask(self) -> None:
        if not self.asking:
            return
        self.tickets += 1
        ticket = Ticket(
            id=self.tickets,
            workspace=f"project-{self.chance.randrange(6)}",
            conversation=None,
            prompt_started_at=int(self.now) - self.chance.randrange(300),
            path="/v1/messages",
        )
        self.line[ticket.id] = ticket
        if self.chance.random() < 0.1:
            self._later(self.chance.uniform(0.0, 30.0), lambda: self._leave(ticket))
        self._did(self.scheduler.request(ticket, self.now))

    def _leave(self, ticket: Ticket) -> None:
        if ticket.id in self.line:
            self._gone(ticket)
            self._did(self.scheduler.cancel(ticket, self.now))

    def _gone(self, ticket: Ticket) -> None:
        del self.line[ticket.id]
        self._later(self.chance.uniform(1.0, 20.0), self._ask)

    def _begin(self, effect: Granted) -> None:
        first = min(self.line.values(), key=lambda one: (one.workspace not in self.stars, one.order))
        self.inversions += effect.ticket is not first
        del self.line[effect.ticket.id]
        self.granted += 1
        self.open[effect.ticket.id] = effect.slot
        limit = self.scheduler.limit
        self.over += limit is not None and self.scheduler.in_flight > limit
        self.busy += 1
        self._later(0.2, lambda: self._answer(effect.slot, refused=self.busy > SERVED))

    def _answer(self, slot: Slot, *, refused: bool) -> None:
        if refused:
            self.refusals += 1
            self._did(
                self.scheduler.rate_limited(
                    slot, status=429, kind="concurrency", retry_after_ms=2000, now=self.now, now_ms=int(self.now * 1000)
                )
            )
            self._later(0.0, lambda: self._end(slot))
        else:
            self._did(self.scheduler.answered(slot, self.now))
            self._later(self.chance.expovariate(1 / 8.0), lambda: self._end(slot))

    def _end(self, slot: Slot) -> None:
        del self.open[slot.id]
        self.ended += 1
        self.busy -= 1
        give_back = self.scheduler.reclaim if self.chance.random() < 0.02 else self.scheduler.release
        self._did(give_back(slot, self.now))
        self._did(self.scheduler.release(slot, self.now))  # a late second one, each time
        self._later(self.chance.uniform(0.5, 20.0), self._ask)

    def _polled(self) -> None:
        observed = self.busy if self.chance.random() < 0.9 else None
        self._did(self.scheduler.polled(observed, None if observed is not None else "timed out", self.now))

    def _operate(self) -> None:
        """A person, once a minute."""
        if not self.asking:
            return
        workspace = f"project-{self.chance.randrange(6)}"
        self.stars.symmetric_difference_update({workspace})
        self.scheduler.star_changed(workspace)
        self._did(self.scheduler.restore(self.now))
        if self.chance.random() < 0.1:
            self._did(self.scheduler.pause(self.now + 10.0, self.now))
        self._later(60.0, self._operate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--steps", type=int, default=300_000)
    options = parser.parse_args()
    simulation = Simulation(seed=1)
    began = time.process_time()
    simulation.run(options.steps)
    per_minute = round(simulation.steps / (time.process_time() - began) * 60)
    figures = {
        "steps": simulation.steps,
        "steps_per_minute": per_minute,
        "simulated_hours": round(simulation.now / 3600, 1),
        "granted": simulation.granted,
        "refused_by_provider": simulation.refusals,
        "over_the_limit": simulation.over,
        "out_of_order": simulation.inversions,
    }
    if options.json:
        print(json.dumps(figures))
        return
    for name, figure in figures.items():
        print(f"{name.replace('_', ' '):>20}  {figure:>12,}")


if __name__ == "__main__":
    main()
