# The watchdog looks at every slot that is held, and holds up nobody while it does (spec §9).

import asyncio
from itertools import pairwise

from provider_desk import Desk

from proxy.core.model import Policy, Slot
from proxy.service.watch import SLOTS_AT_ONCE, look_at_slots


class Silent:
    """Has made no progress for long, and counts how often it was looked at."""

    def __init__(self) -> None:
        self.measured = 0
        self.aborted = 0

    def abort(self, why: str) -> None:
        self.aborted += 1

    def measure(self, slot: Slot, now: float) -> None:
        self.measured += 1
        slot.progress_at = now - 300.0


async def held(desk: Desk, count: int) -> Silent:
    holder = Silent()
    for _ in range(count):
        desk.admission.hold(await desk.slot(), holder)
    return holder


async def test_each_turn_of_the_loop_looks_at_a_few_and_all_are_looked_at_once():
    count = 3 * SLOTS_AT_ONCE + 1
    desk = Desk(None)
    holder = await held(desk, count)
    look, seen = asyncio.create_task(look_at_slots(desk.admission)), [0]
    while not look.done():
        await asyncio.sleep(0)
        seen.append(holder.measured)
    assert holder.measured == count
    assert max(after - before for before, after in pairwise(seen)) == SLOTS_AT_ONCE


async def test_all_that_are_stuck_are_taken_back():
    desk = Desk(None, policy=Policy(slot_timeout_s=300.0))
    holder = await held(desk, SLOTS_AT_ONCE + 1)
    await look_at_slots(desk.admission)
    assert (holder.aborted, desk.scheduler.held) == (SLOTS_AT_ONCE + 1, 0)


async def test_what_was_given_back_during_the_look_is_left_alone():
    desk = Desk(None, policy=Policy(slot_timeout_s=300.0))
    holder = await held(desk, SLOTS_AT_ONCE)
    last = await desk.slot()
    desk.admission.hold(last, holder)
    look = asyncio.create_task(look_at_slots(desk.admission))
    await asyncio.sleep(0)
    desk.admission.release(last)
    await look
    assert holder.aborted == SLOTS_AT_ONCE
    assert desk.names().count("Released") == SLOTS_AT_ONCE + 1
