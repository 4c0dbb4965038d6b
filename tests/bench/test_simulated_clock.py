"""A simulated day of forty agents: whatever happens, the scheduler keeps its promises to the end."""

import pytest
from simulated_clock import AGENTS, LIMIT, Simulation


@pytest.mark.parametrize("seed", [1, 2])
def test_two_hundred_thousand_steps_lose_no_slot_and_break_no_order(seed: int) -> None:
    simulation = Simulation(seed)
    simulation.run(100_000)
    assert simulation.steps >= 100_000
    assert simulation.over == 0
    assert simulation.inversions == 0
    assert simulation.granted == simulation.ended > 10_000
    assert simulation.refusals > 100
    scheduler = simulation.scheduler
    assert (scheduler.held, scheduler.cooling, len(scheduler.waiting)) == (0, 0, 0)
    assert scheduler.limit in range(1, LIMIT + 1)
    assert len(scheduler.snapshot(simulation.now).evidence) <= 20
    assert simulation.tickets >= simulation.granted + AGENTS
