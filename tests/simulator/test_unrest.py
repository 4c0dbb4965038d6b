"""Days of forty agents who hang up, lose their slots and are starred: the scheduler keeps its promises to the end."""

import pytest

from .options import parser, setup
from .simulation import Simulation

WORDS = "--agents 40 --limit 4 --real-limit 3 --gate 1s --usage-latency 50ms-1500ms --usage-failures 10% --unrest"


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "more",
    ["", "--cooldown auto --absorb 1 --auto-restore 10m --external 0-1", "--overload 5% --absorb 4 --in-stream 20%"],
)
def test_whatever_happens_no_slot_is_lost_and_no_order_broken(seed: int, more: str) -> None:
    words = f"run {WORDS} {more} --slowness 0 --hours 12 --seed {seed}"
    run = Simulation(setup(parser().parse_args(words.split()), "proxy")).run()
    assert run.proxy is not None
    scheduler = run.proxy.scheduler
    assert run.proxy.steps >= 50_000
    assert run.meter.calls == run.backlog.calls
    assert run.meter.given_up > 0
    assert (run.meter.over, run.meter.inversions) == (0, 0)
    assert len(run.meter.refused) > 20
    while (deadline := scheduler.next_deadline()) is not None and scheduler.in_flight:
        run.clock.now = max(run.clock.now, deadline)
        run.proxy.apply(scheduler.tick(run.clock.now, int(run.clock.now * 1000)))
    assert (scheduler.held, scheduler.cooling, len(scheduler.waiting)) == (0, 0, 0)
    assert scheduler.limit in range(1, 5)
    assert len(scheduler.snapshot(run.clock.now).evidence) <= 20
