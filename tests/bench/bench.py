# What rows share: the upstream and the load, and rounds in which the fronts take turns.
#
# Rule 1: each round visits all fronts, and each round begins with another one: what the machine does meanwhile meets
#         all of them.
# Rule 2: what is measured is warm: connections are open, and the work has run for a while at full pace.

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .child import Child
from .fronts import FRONTS, Front, present
from .processor import Processor, cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long to look, and how often."""

    seconds: float = 3.0
    warm_s: float = 1.0
    rounds: int = 5
    calls: int = 1000  # one at a time, a round
    idle_streams: int = 2000
    cooldown_s: float = 40.0
    streams: tuple[int, ...] = (10, 100, 300, 1000, 3000)
    waiters: tuple[int, ...] = (100, 1000, 10_000)
    bodies: tuple[int, ...] = (1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28, 1 << 30)
    seeds: int = 10


QUICK = Plan(
    seconds=1.0,
    warm_s=0.3,
    rounds=3,
    calls=300,
    idle_streams=500,
    cooldown_s=5.0,
    streams=(10, 1000),
    waiters=(100, 1000),
    bodies=(1 << 10, 1 << 20, 1 << 26),
    seeds=3,
)


@dataclass(frozen=True, slots=True)
class Window:
    """Work that was watched for a while: units, processor time of the front, and the shares of a core in use by the
    front and by everything else."""

    units: int
    used_ns: int
    front_busy: float
    load_busy: float

    @property
    def us_per_unit(self) -> float:
        return self.used_ns / 1000 / max(self.units, 1)


class Bench:
    """The processes of one run."""

    def __init__(self, plan: Plan, directory: Path, say: Callable[[str], None]) -> None:
        self.plan = plan
        self.say = say
        self._directory = directory
        self.front_core, self.load_core = cores()
        self.upstream = Child("upstream", self.load_core)
        self.load = Child("load", self.load_core)
        self._others = (Processor(self.upstream.pid), Processor(self.load.pid))
        self._started = 0
        self.upstream_port: int = self.upstream.ask("port")

    @property
    def direct(self) -> list[Any]:
        """The upstream's own address."""
        return ["127.0.0.1", self.upstream_port]

    @contextlib.contextmanager
    def fronts(
        self, queue: Mapping[str, Any] | None = None, some: tuple[type[Front], ...] = FRONTS
    ) -> Iterator[list[Front]]:
        """New processes, those of `some` that are installed."""
        with contextlib.ExitStack() as stack:
            running: list[Front] = []
            for kind in present(some):
                self._started += 1
                directory = self._directory / f"{kind.name}-{self._started}"
                front = kind(directory, self.front_core, self.upstream_port, queue)
                stack.callback(front.stop)
                running.append(front)
            yield running

    def watch(self, front: Front, count: Callable[[], int]) -> Window:
        """Looks on for the plan's time, after its warm-up, while units are being done."""
        time.sleep(self.plan.warm_s)
        units, used, others, began = count(), front.processor.used_ns(), self._others_ns(), time.monotonic_ns()
        time.sleep(self.plan.seconds)
        units, used = count() - units, front.processor.used_ns() - used
        others, took = self._others_ns() - others, time.monotonic_ns() - began
        return Window(units, used, used / took, others / took)

    def close(self) -> None:
        self.load.close()
        self.upstream.close()

    def _others_ns(self) -> int:
        return sum(processor.used_ns() for processor in self._others)


def in_turn(fronts: Sequence[Front], rounds: int) -> Iterator[Front]:
    """Each front once a round, each round from another one on."""
    for number in range(rounds):
        for place in range(len(fronts)):
            yield fronts[(number + place) % len(fronts)]


@contextlib.contextmanager
def a_bench(plan: Plan, say: Callable[[str], None]) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        bench = Bench(plan, Path(directory), say)
        try:
            yield bench
        finally:
            bench.close()
