"""What one enqueue and one grant cost, by how many wait: µs of processor time.

    python tests/bench/queue_depth.py [--json]

A step is what the service does for one call in a full queue: a newcomer lines up, a slot is given back, the first
waiter gets it, and the timer asks for the next deadline. Each figure is the median of several batches; waiters of 50
workspaces, two of them starred, prompt starts at random.
"""

import argparse
import gc
import itertools
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator

from proxy.core.model import Granted, Policy, Slot, Ticket
from proxy.core.scheduler import Scheduler

DEPTHS = (100, 1_000, 10_000, 100_000)
BATCHES = 15
STEPS = 2_000
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
    return next(effect.slot for effect in effects if isinstance(effect, Granted))


def timed(work: Callable[[], object]) -> float:
    """Processor time of `work` in µs per step."""
    began = time.process_time()
    work()
    return (time.process_time() - began) / STEPS * 1e6


def enqueue_and_grant(depth: int) -> float:
    chance = random.Random(depth)
    source = tickets(chance)
    scheduler = Scheduler("api.example.com", PATIENT, {"project-1", "project-2"}, limit=1, cooldown_s=0.0)
    slot = granted(scheduler.request(next(source), 0.0))
    for _ in range(depth):
        scheduler.request(next(source), 0.0)

    def batch(newcomers: list[Ticket]) -> None:
        nonlocal slot
        for ticket in newcomers:
            scheduler.request(ticket, 1.0)
            slot = granted(scheduler.release(slot, 1.0))
            scheduler.next_deadline()

    figures = []
    for _ in range(BATCHES):
        newcomers = list(itertools.islice(source, STEPS))
        figures.append(timed(lambda newcomers=newcomers: batch(newcomers)))
    return statistics.median(figures)


def request_and_release() -> float:
    """The same without a queue: the fast path."""
    source = tickets(random.Random(0))
    scheduler = Scheduler("api.example.com", PATIENT, set(), limit=1, cooldown_s=0.0)

    def batch(newcomers: list[Ticket]) -> None:
        for ticket in newcomers:
            scheduler.release(granted(scheduler.request(ticket, 1.0)), 1.0)
            scheduler.next_deadline()

    figures = []
    for _ in range(BATCHES):
        newcomers = list(itertools.islice(source, STEPS))
        figures.append(timed(lambda newcomers=newcomers: batch(newcomers)))
    return statistics.median(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    as_json = parser.parse_args().json
    gc.freeze()  # what was imported is not what is measured
    figures = {depth: round(enqueue_and_grant(depth), 2) for depth in DEPTHS}
    fast = round(request_and_release(), 2)
    if as_json:
        print(json.dumps({"enqueue_grant_us": {str(depth): us for depth, us in figures.items()}, "no_queue_us": fast}))
        return
    print(f"{'waiting':>10}  µs per enqueue + grant")
    for depth, us in figures.items():
        print(f"{depth:>10,}  {us:8.2f}")
    print(f"{'none':>10}  {fast:8.2f}  (request + release)")


if __name__ == "__main__":
    main()
