# A run: agents with work for some hours, one account, one way between them, one simulated clock.

import random
import time
from dataclasses import dataclass, field

from .clock import Clock
from .fleet import Fleet
from .line import Line
from .measure import Meter
from .provider import Account, Terms
from .proxied import Proxied
from .queueing import Queueing, scheduler
from .unproxied import Direct, Semaphore
from .work import Backlog, Load

WAYS = ("proxy", "direct", "semaphore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a run is about. The work is as much as fills `hours` if every slot were always in use."""

    terms: Terms = field(default_factory=Terms)
    load: Load = field(default_factory=Load)
    queueing: Queueing = field(default_factory=Queueing)
    hours: float = 1.0
    seed: int = 1
    way: str = "proxy"
    unrest: bool = False


class Simulation:
    """`run` it, then read what it has measured."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        terms, load = setup.terms, setup.load
        self.slots = min(load.agents, *(n for n in (terms.limit, setup.queueing.limit) if n is not None))
        self.backlog = Backlog.drawn(load, setup.hours * 3600 * self.slots, setup.seed)
        self.clock = Clock()
        self.account = Account(terms, random.Random(f"account {setup.seed}"), self.clock.now)
        self.meter = Meter(self.account, self.slots)
        self.fleet = Fleet(self.clock, load, self.backlog, self.meter, random.Random(f"fleet {setup.seed}"))
        self.proxy: Proxied | None = None
        self.cpu_s = 0.0  # what the run took of this machine
        self.fleet.way = self._way(Line(self.clock, self.account, random.Random(f"line {setup.seed}")))

    def _way(self, line: Line) -> Direct | Proxied:
        if self.setup.way == "direct":
            return Direct(line, self.fleet, self.meter)
        if self.setup.way == "semaphore":
            return Semaphore(line, self.fleet, self.meter, self.setup.queueing.limit or self.slots)
        stars: set[str] = set()
        self.proxy = Proxied(
            self.clock,
            line,
            self.fleet,
            self.meter,
            self.account,
            scheduler(self.setup.queueing, stars),
            preset=self.setup.terms.dialect,
            stars=stars,
            chance=random.Random(f"polls {self.setup.seed}"),
            unrest_chance=random.Random(f"unrest {self.setup.seed}") if self.setup.unrest else None,
        )
        return self.proxy

    def run(self) -> "Simulation":
        """Until every agent is done."""
        began_s = time.process_time()
        self.fleet.start()
        if self.proxy is not None:
            self.proxy.unrest.start()
        while self.fleet.working:
            self.meter.elapse(self.clock.next_at)
            self.clock.step()
        self.cpu_s = time.process_time() - began_s
        return self

    @property
    def ideal_s(self) -> float:
        """How long the work takes at the least: by slots, by agents, by the buckets."""
        terms, backlog = self.setup.terms, self.backlog
        bounds = [backlog.work_s / self.slots, (backlog.work_s + backlog.tools_s) / self.setup.load.agents]
        if terms.rpm is not None:
            bounds.append((backlog.calls / terms.rpm - 1) * 60)
        if terms.tpm is not None:
            bounds.append((backlog.tokens / terms.tpm - 1) * 60)
        return max(bounds)
