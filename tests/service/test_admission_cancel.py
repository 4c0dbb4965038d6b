# The hand-off of a slot through a future, and a waiter that is cancelled at each moment of it (facts: aiohttp, C).
#
# Rule: whatever the moment, the slot ends with one holder or goes on to the next waiter; none is lost or made.

import asyncio
import random

import pytest
from provider_desk import Desk

from proxy.core.model import Granted, Left, Policy, Refused, Released, Slot
from proxy.errors import OwnAnswer


async def cancelled(task: "asyncio.Task[Slot]") -> None:
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_waiting_then_cancelled_leaves_the_queue():
    p = Desk()
    slot, (first, second) = await p.held_and_waiting(2)
    first.cancel()
    await cancelled(first)
    assert isinstance(p.seen[-1], Left)
    p.admission.release(slot)
    assert (await second).ticket.id == 3


async def test_cancelled_before_its_task_ran_gets_no_slot():
    """The future is cancelled, its task has not run, and the slot becomes free: the next one gets it."""
    p = Desk()
    slot, (first, second) = await p.held_and_waiting(2)
    first.cancel()
    p.admission.release(slot)
    await cancelled(first)
    assert (await second).ticket.id == 3
    assert p.scheduler.held == 1


async def test_granted_before_its_task_ran_and_not_cancelled_has_it():
    p = Desk()
    slot, (first,) = await p.held_and_waiting(1)
    p.admission.release(slot)
    assert p.scheduler.held == 1
    assert await first is p.scheduler.slots()[0]


async def test_granted_then_cancelled_gives_the_slot_on():
    """Granted, its task has not run, and its client leaves."""
    p = Desk()
    slot, (first, second) = await p.held_and_waiting(2)
    p.admission.release(slot)
    first.cancel()
    await cancelled(first)
    assert (await second).ticket.id == 3
    assert p.scheduler.held == 1


async def test_granted_then_cancelled_skips_the_rest():
    """It never reached the upstream (spec §6.3)."""
    p = Desk(cooldown_s=60.0)
    slot, (first, second) = await p.held_and_waiting(2)
    p.admission.release(slot, reached=False)
    first.cancel()
    await cancelled(first)
    assert (await second).ticket.id == 3


async def test_refused_then_cancelled_changes_nothing():
    p = Desk()
    slot, (first, second) = await p.held_and_waiting(2)
    p.admission.apply(p.scheduler.drop(p.scheduler.waiting.ordered()[0], 0.0))
    first.cancel()
    await cancelled(first)
    assert len(p.scheduler.waiting) == 1
    p.admission.release(slot)
    assert (await second).ticket.id == 3


async def test_cancelled_then_refused_is_cancelled():
    p = Desk()
    _, (first,) = await p.held_and_waiting(1)
    first.cancel()
    p.admission.apply(p.scheduler.drop_all("draining"))
    await cancelled(first)
    assert not p.scheduler.waiting


async def test_cancelled_before_it_asked_has_asked_nothing():
    p = Desk()
    task = p.ask()
    task.cancel()
    await cancelled(task)
    assert p.seen == []


async def test_cancelled_twice_is_cancelled_once():
    """LEAK-04: a cancellation during the cleaning up finds nothing to interrupt."""
    p = Desk()
    slot, (first, second) = await p.held_and_waiting(2)
    p.admission.release(slot)
    first.cancel()
    first.cancel()
    await cancelled(first)
    assert (await second).ticket.id == 3
    assert p.scheduler.held == 1


@pytest.mark.parametrize("dead", [1, 2, 1500])
async def test_many_that_leave_at_once_do_not_strand_the_living(dead):
    """WAIT-02: all are cancelled, none of their tasks has run, and one slot becomes free."""
    p = Desk(policy=Policy(max_waiting=2000))
    slot, tasks = await p.held_and_waiting(dead + 1)
    *leaving, living = tasks
    for task in leaving:
        task.cancel()
    p.admission.release(slot)
    assert (await living).ticket.id == dead + 2
    await asyncio.gather(*leaving, return_exceptions=True)
    assert (p.scheduler.held, len(p.scheduler.waiting)) == (1, 0)
    assert p.peak == 1


async def test_what_happened_is_told_in_its_order():
    p = Desk()
    slot, (first, second) = await p.held_and_waiting(2)
    p.seen.clear()
    first.cancel()
    p.admission.release(slot)
    await cancelled(first)
    await second
    assert p.names() == ["Released", "Granted", "Released", "Granted"]
    assert [effect.ticket.id for effect in p.seen if isinstance(effect, Granted)] == [2, 3]
    assert [effect.slot.id for effect in p.seen if isinstance(effect, Released)] == [1, 2]


@pytest.mark.parametrize("limit", [1, 3])
async def test_no_slot_is_lost_or_made_in_a_storm_of_cancellations(limit):
    """300 trials: callers come, go and are cancelled at random moments of the loop."""
    chance = random.Random(limit)
    for _ in range(300):
        p = Desk(limit)
        running: list[asyncio.Task[None]] = []

        async def work(p: Desk = p) -> None:
            slot = await p.slot()
            try:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                p.admission.release(slot)

        for _ in range(chance.randrange(2, 14)):
            running.append(asyncio.create_task(work()))
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
            if chance.random() < 0.6:
                chance.choice(running).cancel()
        for _ in range(chance.randrange(8)):
            chance.choice(running).cancel()
            if chance.random() < 0.5:
                await asyncio.sleep(0)
        await asyncio.gather(*running, return_exceptions=True)
        assert p.peak <= limit
        assert (p.scheduler.in_flight, len(p.scheduler.waiting)) == (0, 0)
        assert len([e for e in p.seen if isinstance(e, Granted)]) == len([e for e in p.seen if isinstance(e, Released)])
        slots = [await p.slot() for _ in range(limit)]  # all of them are there
        assert len(slots) == p.scheduler.held == limit
        for slot in slots:
            p.admission.release(slot)
        p.admission.close()


async def test_release_and_cancel_and_arrival_in_one_turn_keep_order_and_limit():
    """WAIT-07: whoever arrives in the moment of a hand-over waits behind those that wait."""
    p = Desk()
    slot, (first, second) = await p.held_and_waiting(2)
    p.admission.release(slot)
    late = p.ask()
    first.cancel()
    assert (await second).ticket.id == 3
    await cancelled(first)
    assert not late.done()
    p.admission.release(second.result())
    assert (await late).ticket.id == 4
    assert p.peak == 1


async def test_refusal_carries_the_state_of_the_queue():
    p = Desk(policy=Policy(max_waiting=1))
    _, (waiting,) = await p.held_and_waiting(1)
    with pytest.raises(OwnAnswer) as refused:
        await p.slot()
    assert refused.value.code == "queue_full"
    assert "at p: 1 waiting, limit 1" in refused.value.message
    assert isinstance(p.seen[-1], Refused)
    waiting.cancel()
    await cancelled(waiting)
    p.admission.close()
