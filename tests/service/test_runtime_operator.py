# What an operator does to a running proxy takes effect at once.

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from runtime_desk import Desk

from proxy.errors import OwnAnswer


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    made.write({"limit": 1, "cooldown": 0}, state="memory")
    await made.start()
    yield made
    await made.stop()


async def test_star_moves_waiters_at_once_and_its_end_moves_them_back(desk):
    slot = await desk.slot()
    plain, starred, other = desk.ask("plain"), desk.ask("starred"), desk.ask("plain")
    await asyncio.sleep(0)
    await desk.runtime.star("starred", True)
    desk.admission.release(slot)
    slot = await starred
    assert not plain.done()
    await desk.runtime.star("plain", True)
    await desk.runtime.star("plain", False)
    desk.admission.release(slot)
    desk.admission.release(await plain)
    desk.admission.release(await other)


async def test_star_counts_at_every_provider(desk):
    await desk.runtime.set_limit("q", 1)
    queue = desk.runtime.admission("q")
    held = await queue.acquire(desk.ticket(), {})
    first = asyncio.create_task(queue.acquire(desk.ticket("plain"), {}))  # type: ignore[arg-type]
    second = asyncio.create_task(queue.acquire(desk.ticket("starred"), {}))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await desk.runtime.star("starred", True)
    queue.release(held, reached=False)
    queue.release(await second, reached=False)
    queue.release(await first)


async def test_waiter_is_dropped_by_its_id(desk):
    slot = await desk.slot()
    waiting = desk.ask()
    await asyncio.sleep(0)
    assert await desk.runtime.remove("p", slot.id + 1)
    with pytest.raises(OwnAnswer) as refused:
        await waiting
    assert refused.value.code == "dropped"
    desk.admission.release(slot)


async def test_slot_is_reclaimed_by_its_id(desk):
    slot = await desk.slot()
    told: list[str] = []

    class Holder:
        def abort(self, why: str) -> None:
            told.append(why)

    desk.admission.hold(slot, Holder())  # type: ignore[arg-type]
    assert await desk.runtime.remove("p", slot.id)
    assert told == ["operator"]
    assert desk.scheduler.held == 0
    assert not await desk.runtime.remove("p", slot.id)


async def test_id_that_nobody_has_removes_nothing(desk):
    assert not await desk.runtime.remove("p", 99)
    assert not await desk.runtime.remove("nowhere", 1)
    assert "nowhere" not in desk.runtime.admissions


async def test_resume_and_limit_let_waiters_go(desk):
    await desk.runtime.pause("p", 60)
    first, second = desk.ask(), desk.ask()
    await asyncio.sleep(0)
    assert not first.done()
    await desk.runtime.resume("p")
    slot = await first
    await desk.runtime.set_limit("p", None)
    desk.admission.release(await second)
    desk.admission.release(slot)


async def test_restore_where_nothing_was_reduced_changes_nothing(desk):
    assert await desk.runtime.restore("p")
    assert desk.scheduler.limit == 1


async def test_tickets_are_numbered_by_arrival_and_never_as_those_of_an_earlier_process(desk):
    begun = desk.runtime.started_at_ms // 10 % 10**9
    assert desk.runtime.next_ticket_id() >= begun
    first, *more = [desk.runtime.next_ticket_id() for _ in range(3)]
    assert more == [first + 1, first + 2]


async def test_snapshots_are_of_every_known_provider(desk):
    await desk.runtime.set_limit("elsewhere", 2)
    assert {snapshot.provider_id for snapshot in desk.runtime.snapshots()} == {"p", "elsewhere"}


async def test_repr_is_read_by_people(desk):
    assert repr(desk.runtime) == "<Runtime 1 providers, 1 upstreams>"


async def test_what_is_auto_begins_again_when_a_person_says_so(desk):
    await desk.reload({"limit": "auto", "cooldown": "auto"}, state="memory")
    await desk.runtime.set_limit("p", 7)
    await desk.runtime.set_cooldown("p", 1.5)
    assert await desk.runtime.learn("p") is True
    now = desk.admission.scheduler.snapshot(0.0)
    assert (now.limit, now.learns_limit, now.cooldown_s, now.learns_cooldown) == (None, True, 0.35, True)


@pytest.mark.parametrize(("auto", "limit", "cooldown_s"), [("limit", None, 1.5), ("cooldown", 7, 0.35)])
async def test_only_what_is_auto_begins_again(desk, auto, limit, cooldown_s):
    await desk.reload({"limit": 1, "cooldown": 0, auto: "auto"}, state="memory")
    await desk.runtime.set_limit("p", 7)
    await desk.runtime.set_cooldown("p", 1.5)
    assert await desk.runtime.learn("p") is True
    now = desk.admission.scheduler.snapshot(0.0)
    assert (now.limit, now.learns_limit) == (limit, auto == "limit")
    assert (now.cooldown_s, now.learns_cooldown) == (cooldown_s, auto == "cooldown")


async def test_where_nothing_is_auto_there_is_nothing_to_learn(desk):
    assert await desk.runtime.learn("p") is None
    assert desk.admission.scheduler.limit == 1
