# How late the next request leaves after a cooldown, beside a bare timer of an event loop.
#
# Rule 1: the upstream is the judge of both: it takes the time from its answer to the next request, less the cooldown.
#         Both are there at the same time, on the front's core, with the same ways to the upstream.
# Rule 2: for each of PROVIDERS two callers, so that one always waits. They are many because a cooldown is long, and p99
#         needs many; they begin one after the other, so that no two cooldowns end in the same moment.

import time
from collections import defaultdict
from collections.abc import Iterator

from .bench import Bench
from .child import Child
from .figures import Row, percentile
from .fronts import Slotgate

PROVIDERS = 20
COOLDOWN_S = 0.35  # the default


def cooldown(bench: Bench) -> Iterator[Row]:
    names = [f"p{number}" for number in range(PROVIDERS)]
    timer = Child("timer", bench.front_core)
    values: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    with bench.fronts({"names": names, "limit": 1}, (Slotgate,)) as (front,):
        targets = [f"/{name}/v1/messages?paced=slotgate-{name}" for name in names]
        bench.load.ask("open_calls", address=front.address, at_once=2 * PROVIDERS, targets=targets)
        bench.load.ask("start_calls", apart_s=COOLDOWN_S / PROVIDERS)
        timer.ask("start", address=bench.direct, number=PROVIDERS, rest_s=COOLDOWN_S)
        time.sleep(2 * COOLDOWN_S)
        bench.upstream.ask("take_rests")
        for _ in range(bench.plan.rounds):
            time.sleep(bench.plan.cooldown_s / bench.plan.rounds)
            late: dict[str, list[float]] = defaultdict(list)
            for key, rest in bench.upstream.ask("take_rests"):
                late[key.partition("-")[0]].append((rest - COOLDOWN_S) * 1000)
            for who, found in late.items():
                for share in (0.5, 0.99):
                    values[who][share].append(percentile(found, share))
        timer.ask("stop")
        lost = bench.load.ask("stop_calls")
        bench.load.ask("close_calls")
    timer.close()
    for share, bounds in ((0.5, (None, None)), (0.99, (3.0, 1.0))):
        yield Row(
            key="cooldown",
            label=f"cooldown's end to the next request, p{share * 100:.0f}",
            unit="ms",
            values={who: by_share[share] for who, by_share in values.items()},
            compared="added",
            base="timer",
            must=bounds[0],
            goal=bounds[1],
            lost=lost,
        )
