# How much later a chunk of a stream arrives through a front than direct.
#
# Rule 1: each chunk carries the moment at which the upstream sent it, by the clock that all processes of a machine
#         share; the reader notes how long ago that was when it arrives.
# Rule 2: there are as many chunks at once as a busy day has, and no front has more than a part of its core to do: what
#         is measured is the way, not a queue in front of it.

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .bench import Bench
from .figures import Row, percentile
from .fronts import HOPS
from .hop import end_streams

STREAMS, PACE = 50, 20.0


def delay(bench: Bench) -> Iterator[Row]:
    values: dict[float, dict[str, list[float]]] = {share: defaultdict(list) for share in (0.5, 0.99)}
    lost = 0
    with bench.fronts(some=HOPS) as fronts:
        ways = {"direct": bench.direct, **{front.name: front.address for front in fronts}}
        for _ in range(bench.plan.rounds):
            for name, address in ways.items():
                delays, missing = _one(bench, address)
                lost += missing
                for share, found in values.items():
                    found[name].append(percentile(delays, share) / 1e6)
    for share, found in values.items():
        yield Row(
            key="delay",
            label=f"chunk of {STREAMS} streams × {PACE:g}/s, sent to arrived, p{share * 100:.0f}",
            unit="ms",
            values=dict(found),
            compared="added",
            base="direct",
            lost=lost,
        )


def _one(bench: Bench, address: list[Any]) -> tuple[list[int], int]:
    """Delays in ns, and how much was lost."""
    lost: int = bench.load.ask("open_streams", address=address, number=STREAMS, timed=True)
    bench.upstream.ask("pace", a_second=PACE, stamped=True)
    time.sleep(bench.plan.warm_s)
    bench.load.ask("take_delays")
    time.sleep(bench.plan.seconds)
    delays: list[int] = bench.load.ask("take_delays")
    return delays, lost + end_streams(bench)
