# What waiting costs: in the scheduler alone, and for a POST in a queue of so many, beside HAProxy's queue.

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from .bench import Bench
from .child import TOP
from .descriptors import connections
from .figures import Row
from .fronts import Haproxy, Slotgate
from .hop import measured, per_unit, posts, watched
from .processor import on_core

SLOTS = 16
WAITING = {"limit": SLOTS, "cooldown": "0s"}  # no rest: HAProxy has none


def core(bench: Bench) -> Iterator[Row]:
    with on_core(bench.front_core):
        said = subprocess.run(
            [sys.executable, "tests/bench/queue_depth.py", "--json"], cwd=TOP, capture_output=True, check=True
        ).stdout
    for depth, us in json.loads(said)["enqueue_grant_us"].items():
        deepest = int(depth) == 100_000
        yield Row(
            key="core",
            label=f"enqueue + grant, {int(depth):,} waiting",
            unit="µs CPU",
            values={"slotgate": [us]},
            must=20 if deepest else None,
            goal=8 if deepest else None,
            size=int(depth),
        )


def waiters(bench: Bench) -> Iterator[Row]:
    """All ask again as soon as they were answered, so that the queue stays as long. Fewer where the system does not
    allow as many connections: the row says how many it were."""
    room = connections() - SLOTS
    for number in sorted({min(number, room) for number in bench.plan.waiters}):
        with bench.fronts(WAITING, (Slotgate, Haproxy)) as fronts:
            windows, lost = measured(fronts, bench.plan.scale_rounds, partial(posts, bench, at_once=number + SLOTS))
        yield Row(
            key="waiters",
            label=f"short POST, {number:,} waiting",
            unit="µs CPU",
            values=per_unit(windows),
            compared="times",
            lost=lost,
            size=number,
            watched=watched(windows),
        )
