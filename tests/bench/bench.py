# What rows share: the upstream and the load, and rounds in which the fronts take turns.
#
# Rule 1: each round visits all fronts, and each round begins with another one: what the machine does meanwhile meets
#         all of them.
# Rule 2: what is measured is warm: connections are open, and the work has run for a while at full pace.

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from .child import Child
from .front import Front
from .fronts import FRONTS, present
from .processor import Processor, cores, machine_ns

PATIENCE_S = 60.0
Started = TypeVar("Started", bound=Front)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long to look, and how often."""

    seconds: float = 3.0
    warm_s: float = 1.0
    rounds: int = 5
    scale_rounds: int = 3
    calls: int = 1000  # one at a time, a round
    idle_streams: int = 2000
    cooldown_s: float = 40.0
    streams: tuple[int, ...] = (10, 100, 300, 1000, 3000)
    waiters: tuple[int, ...] = (100, 1000, 10_000)
    bodies: tuple[int, ...] = (1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28, 1 << 30)
    seeds: int = 10
    depth_batches: int = 10


QUICK = Plan(
    seconds=1.0,
    warm_s=0.3,
    rounds=3,
    scale_rounds=2,
    calls=300,
    idle_streams=500,
    cooldown_s=5.0,
    streams=(10, 1000),
    waiters=(100, 1000),
    bodies=(1 << 10, 1 << 26),
    seeds=3,
    depth_batches=3,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Work that was watched for a while: units, how long, processor time of the front and the share of it that the
    kernel took, and the shares of a core in use by the front, by the load and the upstream (the busier one, if they
    have a core each), and by strangers."""

    units: int
    took_ns: int
    used_ns: int
    kernel: float
    front_busy: float
    load_busy: float
    strangers: float

    @property
    def us_per_unit(self) -> float:
        return self.used_ns / 1000 / max(self.units, 1)

    @property
    def kernel_us_per_unit(self) -> float:
        return self.us_per_unit * self.kernel

    @property
    def a_second(self) -> float:
        return self.units / self.took_ns * 1e9


class Bench:
    """The processes of one run."""

    def __init__(self, plan: Plan, directory: Path, say: Callable[[str], None]) -> None:
        self.plan = plan
        self.say = say
        self._directory = directory
        self.front_core, self.load_core, self.upstream_core = cores()
        self.upstream = Child("upstream", self.upstream_core)
        self.load = Child("load", self.load_core)
        self._awake = False
        self._own = Processor(os.getpid())
        self._started = 0
        self.upstream_port: int = self.upstream.ask("port")

    @property
    def direct(self) -> list[Any]:
        """The upstream's own address."""
        return ["127.0.0.1", self.upstream_port]

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        """With the load and the upstream in one process that never sleeps: see peers.py."""
        asleep = self.load, self.upstream, self.upstream_port
        peers = Child("peers", self.load_core)
        try:
            self.load = self.upstream = peers
            self.upstream_port = peers.ask("port")
            peers.ask("stay_awake")
            self._awake = True
            yield
        finally:
            self._awake = False
            self.load, self.upstream, self.upstream_port = asleep
            peers.close()

    @contextlib.contextmanager
    def fronts(
        self, queue: Mapping[str, Any] | None = None, some: tuple[type[Front], ...] = FRONTS
    ) -> Iterator[list[Front]]:
        """New processes, those of `some` that are installed."""
        with contextlib.ExitStack() as stack:
            yield [self.start(stack, kind, queue) for kind in present(some)]

    def start(
        self,
        stack: contextlib.ExitStack,
        kind: type[Started],
        queue: Mapping[str, Any] | None = None,
        core: int | None = None,
    ) -> Started:
        """A new process, on the front's core unless another one is said; it ends with `stack`."""
        self._started += 1
        directory = self._directory / f"{kind.name}-{self._started}"
        front = kind(directory, self.front_core if core is None else core, self.upstream_port, queue)
        stack.callback(front.stop)
        return front

    def watch(self, front: Front, count: Callable[[], int]) -> Window:
        """Looks on for the plan's time, after its warm-up, while units are being done."""
        time.sleep(self.plan.warm_s)
        before = self._look(front, count)
        time.sleep(self.plan.seconds)
        after = self._look(front, count)
        units, took, machine, user, kernel, used, own, idle, *loads = (
            new - old for old, new in zip(before, after, strict=True)
        )
        loading = (sum(loads) if self.load_core == self.upstream_core else max(loads)) - idle
        strangers = max(0, machine - used - sum(loads) - own)
        return Window(
            units=units,
            took_ns=took,
            used_ns=used,
            kernel=kernel / max(user + kernel, 1),
            front_busy=used / took,
            load_busy=loading / took,
            strangers=strangers / took,
        )

    def wait(self, done: Callable[[], bool]) -> None:
        """Until `done`, but not for ever: what does not come is lost."""
        until = time.monotonic() + PATIENCE_S
        while not done() and time.monotonic() < until:
            time.sleep(0.05)

    def close(self) -> None:
        self.load.close()
        self.upstream.close()

    def _look(self, front: Front, count: Callable[[], int]) -> tuple[int, ...]:
        everybody = machine_ns(Path("/proc/stat").read_text())
        loads = [Processor(pid).used_ns() for pid in {self.load.pid, self.upstream.pid}]
        idle = self.load.ask("idle_ns") if self._awake else 0
        user_and_kernel, used = front.processor.user_and_kernel(), front.processor.used_ns()
        return (count(), time.monotonic_ns(), everybody, *user_and_kernel, used, self._own.used_ns(), idle, *loads)


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
