"""What one enqueue and one grant cost, by how many wait: µs of processor time.

    python tests/bench/queue_depth.py [--json]

A step is what one call costs in a full queue: a newcomer lines up, a slot is given back, and the first waiter gets it.
Waiters of 50 workspaces, two of them starred, prompt starts at random. Each figure is the best of several batches,
since whatever else the machine does only adds to it.
"""

import argparse
import gc
import itertools
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # this checkout, installed or not

from proxy.core.model import Granted, Policy, Slot, Ticket
from proxy.core.scheduler import Scheduler

DEPTHS = (100, 1_000, 10_000, 100_000)
BATCHES = 40
STEPS = 500
PATIENT = Policy(max_waiting=10**9, max_wait_s=1e9)


def tickets(chance: random.Random) -> Iterator[Ticket]:
    for number in itertools.count():
        yield Ticket(
            id=number,
            workspace=f"project-{chance.randrange(50)}",
            conversation=None,
            prompt_started_at=chance.randrange(10**9),
            path="/v1/messages",
        )


def granted(effects: list[object]) -> Slot:
    effect = effects[-1]
    assert isinstance(effect, Granted)
    return effect.slot


def best(source: Iterator[Ticket], batch: Callable[[list[Ticket]], None]) -> float:
    """Processor time per ticket in µs, of the fastest batch."""
    figures = []
    for _ in range(BATCHES):
        newcomers = list(itertools.islice(source, STEPS))
        began = time.process_time()
        batch(newcomers)
        figures.append((time.process_time() - began) / STEPS * 1e6)
    return round(min(figures), 2)


def enqueue_and_grant(depth: int) -> float:
    source = tickets(random.Random(depth))
    scheduler = Scheduler("api.example.com", PATIENT, {"project-1", "project-2"}, limit=1, cooldown_s=0.0)
    slot = granted(scheduler.request(next(source), 0.0))
    for _ in range(depth):
        scheduler.request(next(source), 0.0)

    def batch(newcomers: list[Ticket]) -> None:
        nonlocal slot
        for ticket in newcomers:
            scheduler.request(ticket, 1.0)
            slot = granted(scheduler.release(slot, 1.0))

    return best(source, batch)


def without_a_queue() -> float:
    """Request and release on the fast path."""
    scheduler = Scheduler("api.example.com", PATIENT, set(), limit=1, cooldown_s=0.0)

    def batch(newcomers: list[Ticket]) -> None:
        for ticket in newcomers:
            scheduler.release(granted(scheduler.request(ticket, 1.0)), 1.0)

    return best(tickets(random.Random(0)), batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    as_json = parser.parse_args().json
    gc.freeze()  # what was imported is not what is measured
    figures = {depth: enqueue_and_grant(depth) for depth in DEPTHS}
    fast = without_a_queue()
    if as_json:
        print(json.dumps({"enqueue_grant_us": {str(depth): us for depth, us in figures.items()}, "no_queue_us": fast}))
        return
    print(f"{'waiting':>10}  µs per enqueue + grant")
    for depth, us in figures.items():
        print(f"{depth:>10,}  {us:8.2f}")
    print(f"{'none':>10}  {fast:8.2f}  (request + release)")


if __name__ == "__main__":
    main()
