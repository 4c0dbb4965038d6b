# What a short POST takes longer through a front than direct, one at a time.

from collections import defaultdict
from collections.abc import Iterator

from .bench import Bench
from .figures import Row, percentile
from .fronts import HOPS

SLICES = 10  # of a round, so that direct and through are neighbours in time


def latency(bench: Bench) -> Iterator[Row]:
    at_p50: dict[str, list[float]] = defaultdict(list)
    at_p99: dict[str, list[float]] = defaultdict(list)
    lost = 0
    with bench.fronts(some=HOPS) as fronts:
        ways = {"direct": bench.direct, **{front.name: front.address for front in fronts}}
        for address in ways.values():
            bench.load.ask("one_at_a_time", address=address, calls=bench.plan.calls)
        for _ in range(bench.plan.rounds):
            took: dict[str, list[float]] = defaultdict(list)
            for _ in range(SLICES):
                for name, address in ways.items():
                    some, missing = bench.load.ask("one_at_a_time", address=address, calls=bench.plan.calls // SLICES)
                    took[name] += some
                    lost += missing
            for name, seconds in took.items():
                at_p50[name].append(percentile(seconds, 0.5) * 1000)
                at_p99[name].append(percentile(seconds, 0.99) * 1000)
    label = "short POST, one at a time, "
    yield Row(
        key="latency",
        label=label + "p50",
        unit="ms",
        values=dict(at_p50),
        compared="added",
        base="direct",
        must=0.4,
        goal=0.15,
        lost=lost,
    )
    yield Row(
        key="latency", label=label + "p99", unit="ms", values=dict(at_p99), compared="added", base="direct", lost=lost
    )
