# What a short POST takes longer through the proxy than direct while a crowd is there: thousands of open streams, and a
# long queue at another provider.

import time
from collections.abc import Iterator

from .bench import Bench
from .descriptors import connections
from .figures import Row, percentile
from .fronts import NO_WAITING, Slotgate
from .hop import end_streams
from .latency import SLICES

PACE = 1.0  # events a second of each stream
SPARE = 16  # connections for who calls one at a time
JAMMED = "/jam/v1/messages?short"


def crowd(bench: Bench) -> Iterator[Row]:
    """Nobody is granted at the other provider: it is paused, and dropped with the front."""
    streams = bench.plan.streams[-1]
    waiting = min(bench.plan.waiters[-1], connections() - streams - SPARE)
    took: dict[str, list[float]] = {"direct": [], "slotgate": []}
    lost = 0
    with bench.fronts({**NO_WAITING, "names": ["up", "jam"]}, (Slotgate,)) as (front,):
        assert isinstance(front, Slotgate)
        front.tell("PUT", "/concurrency/pause/jam", {"durationMs": 3_600_000})
        bench.load.ask("open_calls", address=front.address, at_once=waiting, targets=[JAMMED])
        bench.load.ask("start_calls")
        bench.wait(lambda: front.tell("GET", "/concurrency/status/jam")["queued"] == waiting)
        lost += bench.load.ask("open_streams", address=front.address, number=streams)
        bench.upstream.ask("pace", a_second=PACE)
        time.sleep(bench.plan.warm_s)
        for name, address in (("direct", bench.direct), ("slotgate", front.address)) * (SLICES * bench.plan.rounds):
            some, missing = bench.load.ask("one_at_a_time", address=address, calls=bench.plan.calls // SLICES)
            took[name] += some
            lost += missing
        lost += end_streams(bench)
        bench.load.ask("close_calls")
    for share, must, goal in ((0.5, 0.4, 0.15), (0.99, None, None)):
        yield Row(
            key="crowd",
            label=f"short POST beside {streams:,} streams and {waiting:,} waiting, p{share * 100:.0f}",
            unit="ms",
            values={name: [percentile(seconds, share) * 1000] for name, seconds in took.items()},
            compared="added",
            base="direct",
            must=must,
            goal=goal,
            lost=lost,
        )
