# A slot in the hands of a holder: given back, taken back, given back for another try; and what time does to it.

import asyncio

import pytest
from provider_desk import Desk

from proxy.core.model import PausePolicy, Policy, Reclaimed, Released, Slot
from proxy.errors import OwnAnswer
from proxy.service import admission, local_admission


class Holder:
    """Remembers what it was told, and says the progress that it was given."""

    def __init__(self, desk: Desk, progress_at: float | None = None) -> None:
        self.told: list[tuple[str, int]] = []
        self._desk = desk
        self._progress_at = progress_at

    def abort(self, why: str) -> None:
        self.told.append((why, len(self._desk.scheduler.waiting)))

    def measure(self, slot: Slot, now: float) -> None:
        if self._progress_at is not None:
            slot.progress_at = self._progress_at


async def test_free_slot_is_given_at_once_and_where_there_is_none_nothing_happens():
    desk = Desk()
    slot = desk.admission.at_once(desk.ticket())
    assert slot is not None
    assert slot.held
    assert desk.admission.at_once(desk.ticket()) is None
    assert (desk.names(), len(desk.scheduler.waiting)) == (["Granted"], 0)
    desk.admission.release(slot)
    assert not slot.held
    assert desk.admission.at_once(desk.ticket()) is not None


async def test_what_outlives_the_process_is_told_for_keeping_and_nothing_else():
    desk = Desk()
    slot, (waiter,) = await desk.held_and_waiting(1)
    now = desk.clock.now()
    desk.admission.rate_limited(slot, status=429, kind="rate", retry_after_ms=10)
    desk.admission.apply(desk.scheduler.set_limit(2, "api", now))
    desk.admission.rate_limited(slot, status=429, kind="rate", retry_after_ms=None)
    desk.admission.apply(desk.scheduler.resume(now))
    desk.admission.apply(desk.scheduler.set_cooldown(0.0, "api"))
    desk.admission.apply(desk.scheduler.reclaim(slot, now))
    desk.admission.release(await waiter)
    of_a_request = {"Queued", "Granted", "Released", "Reclaimed"}
    assert of_a_request < set(desk.names())
    assert desk.kept == [effect for effect in desk.seen if type(effect).__name__ not in of_a_request]


async def test_second_release_frees_nobody_elses_slot():
    desk = Desk()
    slot, (next_one, last) = await desk.held_and_waiting(2)
    desk.admission.release(slot)
    desk.admission.release(slot)
    await next_one
    desk.admission.release(slot)
    await asyncio.sleep(0)
    assert not last.done()
    assert desk.names().count("Released") == 1
    desk.admission.release(next_one.result())
    await last


async def test_late_release_after_a_reclaim_changes_nothing():
    """DBL-06."""
    desk = Desk()
    slot, (next_one, last) = await desk.held_and_waiting(2)
    desk.admission.apply(desk.scheduler.reclaim(slot, desk.clock.now()))
    await next_one
    desk.admission.release(slot)
    await asyncio.sleep(0)
    assert not last.done()
    desk.admission.release(next_one.result())
    await last


@pytest.mark.plain
async def test_holder_closes_before_anybody_else_gets_the_slot():
    desk = Desk()
    slot, (next_one,) = await desk.held_and_waiting(1)
    holder = Holder(desk)
    desk.admission.hold(slot, holder)
    granted_when_aborted: list[bool] = []
    abort = holder.abort
    holder.abort = lambda why: (granted_when_aborted.append(next_one.done()), abort(why))  # type: ignore
    desk.admission.apply(desk.scheduler.reclaim(slot, desk.clock.now(), "operator"))
    await next_one
    assert (granted_when_aborted, [why for why, _ in holder.told]) == ([False], ["operator"])
    assert desk.names()[-3:] == ["Reclaimed", "Released", "Granted"]


async def test_holder_is_told_once_and_not_after_its_release():
    desk = Desk()
    slot = await desk.slot()
    holder = Holder(desk)
    desk.admission.hold(slot, holder)
    desk.admission.release(slot)
    desk.admission.apply(desk.scheduler.reclaim(slot, desk.clock.now()))
    assert holder.told == []


async def test_watch_takes_back_what_made_no_progress_and_leaves_the_rest():
    """LEAK-14: exactly the one that hangs."""
    desk = Desk(3, policy=Policy(slot_timeout_s=10.0))
    now = desk.clock.now()
    hanging, moving, unmeasured = [await desk.slot() for _ in range(3)]
    holders = [Holder(desk, now - 11), Holder(desk, now - 1)]
    for slot, holder in zip((hanging, moving), holders, strict=True):
        desk.admission.hold(slot, holder)
    desk.admission.watch()
    assert [len(holder.told) for holder in holders] == [1, 0]
    (reclaimed,) = [effect for effect in desk.seen if isinstance(effect, Reclaimed)]
    assert (reclaimed.slot, reclaimed.why) == (hanging, "silent")
    assert reclaimed.after_s == pytest.approx(11, abs=0.5)
    assert desk.scheduler.slots() == [moving, unmeasured]


async def test_watch_ends_what_is_held_for_too_long_whatever_its_progress():
    desk = Desk(policy=Policy(max_hold_s=10.0))
    slot = await desk.slot()
    slot.granted_at -= 11
    holder = Holder(desk, desk.clock.now())
    desk.admission.hold(slot, holder)
    desk.admission.watch()
    assert [why for why, _ in holder.told] == ["max_hold"]


# --- another try in the same place (spec §7.5) ---


def again_for(desk: Desk, slot: Slot, *, tries: int = 1, stated_ms: int | None = None, patience_s: float = 1e6):
    return desk.admission.acquire_again(slot, {}, tries, stated_ms, patience_s)


@pytest.fixture
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "BACKOFF_S", 0.0)


@pytest.mark.usefixtures("no_rest")
async def test_try_again_waits_in_its_own_place():
    desk = Desk()
    slot, (later,) = await desk.held_and_waiting(1)
    again = await again_for(desk, slot)
    assert again is not slot
    assert again.ticket is slot.ticket
    await asyncio.sleep(0)
    assert not later.done()
    assert [type(effect) for effect in desk.seen].count(Released) == 1
    desk.admission.release(slot)  # the old one is nobody's
    assert desk.scheduler.held == 1
    desk.admission.release(again)
    await later


async def test_try_again_during_a_longer_pause_is_refused():
    desk = Desk(policy=Policy(max_wait_s=1.0))
    slot = await desk.slot()
    desk.admission.rate_limited(slot, status=429, kind="rate", retry_after_ms=30_000)
    with pytest.raises(OwnAnswer) as refused:
        await again_for(desk, slot, patience_s=1.0)
    assert refused.value.code == "paused"
    assert "paused for another 30 s" in refused.value.message
    assert desk.scheduler.held == 0
    desk.admission.close()


async def test_try_again_during_a_pause_beyond_its_own_patience_is_refused_though_others_would_wait():
    desk = Desk(policy=Policy(max_wait_s=60.0))
    slot = await desk.slot()
    desk.admission.rate_limited(slot, status=429, kind="rate", retry_after_ms=30_000)
    with pytest.raises(OwnAnswer) as refused:
        async with asyncio.timeout(5):
            await again_for(desk, slot, patience_s=1.0)
    assert refused.value.code == "paused"
    desk.admission.close()


async def test_try_again_after_a_reclaim_is_refused_and_does_not_hang():
    desk = Desk()
    slot = await desk.slot()
    desk.admission.hold(slot, Holder(desk))
    desk.admission.apply(desk.scheduler.reclaim(slot, desk.clock.now()))
    with pytest.raises(OwnAnswer) as refused:
        async with asyncio.timeout(5):
            await again_for(desk, slot)
    assert refused.value.code == "reclaimed"


@pytest.mark.parametrize(
    ("tries", "stated_ms", "least_s"),
    [(1, None, 0.5), (2, None, 1.0), (5, None, 8.0), (9, None, 8.0), (1, 3000, 3.0), (1, 9_000_000, 60.0)],
)
async def test_try_again_that_no_pause_holds_rests_first(tries: int, stated_ms: int | None, least_s: float) -> None:
    desk = Desk(policy=Policy(pause=PausePolicy(max_s=60.0)))
    slot = await desk.slot()
    task = asyncio.create_task(again_for(desk, slot, tries=tries, stated_ms=stated_ms))
    await asyncio.sleep(0)
    wakes_in_s = desk.scheduler.next_deadline() - desk.clock.now()
    assert least_s - 1.0 < wakes_in_s <= least_s * 1.25
    assert len(desk.scheduler.waiting) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    desk.admission.close()


async def test_try_again_that_a_pause_holds_needs_no_rest():
    desk = Desk()
    slot = await desk.slot()
    desk.admission.rate_limited(slot, status=429, kind="rate", retry_after_ms=10)
    task = asyncio.create_task(again_for(desk, slot, tries=9))
    await asyncio.sleep(0)
    assert not desk.scheduler.waiting.resting
    async with asyncio.timeout(30):
        desk.admission.release(await task)
    desk.admission.close()


async def test_old_holder_hears_nothing_of_the_new_try():
    desk = Desk()
    slot = await desk.slot()
    holder = Holder(desk)
    desk.admission.hold(slot, holder)
    again = await again_for(desk, slot)
    desk.admission.apply(desk.scheduler.reclaim(again, desk.clock.now()))
    assert holder.told == []


async def test_try_again_that_is_cancelled_leaves_nothing():
    desk = Desk(cooldown_s=60.0)
    slot = await desk.slot()
    task = asyncio.create_task(again_for(desk, slot))
    await asyncio.sleep(0)
    assert len(desk.scheduler.waiting) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (desk.scheduler.held, len(desk.scheduler.waiting)) == (0, 0)
    desk.admission.close()


# --- what time does ---


async def test_end_of_a_rest_wakes_the_queue():
    desk = Desk(cooldown_s=0.03)
    slot, (waiting,) = await desk.held_and_waiting(1)
    released_at = desk.clock.now()
    desk.admission.release(slot)
    async with asyncio.timeout(5):
        await waiting
    assert desk.clock.now() - released_at >= 0.029
    desk.admission.close()


async def test_earliest_of_several_rests_wakes_first():
    desk = Desk(2, cooldown_s=60.0)
    long_rest, short_rest = await desk.slot(), await desk.slot()
    waiting = desk.ask()
    await asyncio.sleep(0)
    desk.admission.release(long_rest)
    desk.admission.apply(desk.scheduler.set_cooldown(0.02, "api"))
    desk.admission.release(short_rest)
    async with asyncio.timeout(5):
        await waiting
    desk.admission.close()


async def test_longest_wait_ends_in_queue_timeout():
    desk = Desk(policy=Policy(max_wait_s=0.02))
    _, (waiting,) = await desk.held_and_waiting(1)
    with pytest.raises(OwnAnswer) as refused:
        async with asyncio.timeout(5):
            await waiting
    assert (refused.value.code, refused.value.status) == ("queue_timeout", 503)
    assert "1 waiting" not in refused.value.message
    desk.admission.close()


async def test_end_of_a_pause_lets_the_first_go():
    desk = Desk(2)
    now = desk.clock.now()
    desk.admission.apply(desk.scheduler.pause(now + 0.03, now))
    waiting = desk.ask()
    async with asyncio.timeout(5):
        await waiting
    assert desk.clock.now() - now >= 0.029
    desk.admission.close()


async def test_what_is_not_due_yet_is_left_alone_by_the_timer():
    desk = Desk()
    slot, (waiting,) = await desk.held_and_waiting(1)
    desk.admission.apply(desk.scheduler.pause(desk.clock.now() + 0.01, desk.clock.now()))
    async with asyncio.timeout(5):
        while desk.scheduler.paused_until_at is not None:
            await asyncio.sleep(0.005)
    await asyncio.sleep(0)
    assert not waiting.done()
    desk.admission.release(slot)
    desk.admission.release(await waiting)
    desk.admission.close()


async def test_few_requests_left_hold_the_queue_for_their_window():
    desk = Desk(4)
    slot = await desk.slot()
    before = desk.clock.now()
    desk.admission.few_left(slot, 1, 30.0)
    second, waiting = await desk.slot(), desk.ask()
    await asyncio.sleep(0)
    assert not waiting.done()
    until_at = desk.scheduler.snapshot(before).few_left_until_at
    assert until_at is not None
    assert 30.0 <= until_at - before < 60.0
    desk.admission.release(slot)
    desk.admission.release(second)
    desk.admission.release(await waiting)
    desk.admission.close()


async def test_closed_admission_grants_nothing_by_time():
    desk = Desk(cooldown_s=0.01)
    slot, (waiting,) = await desk.held_and_waiting(1)
    desk.admission.release(slot)
    desk.admission.close()
    other = Desk(cooldown_s=0.02)
    slot, (later,) = await other.held_and_waiting(1)
    other.admission.release(slot)
    await later  # by now the first one's rest is long over
    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    other.admission.close()
    desk.admission.close()


# --- what the gate may know ---


async def test_poll_gets_the_credentials_of_the_first_waiter_and_only_while_it_waits():
    desk = Desk(policy=Policy(gate_interval_s=60.0))
    slot = await desk.slot()
    first, second = desk.ask({"authorization": "one"}), desk.ask({"authorization": "two"})
    await asyncio.sleep(0)
    desk.admission.release(slot)
    assert desk.polls == [{"authorization": "one"}]
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    desk.admission.apply(desk.scheduler.polled(5, None, desk.clock.now()))
    desk.admission.apply(desk.scheduler.set_limit(2, "api", desk.clock.now()))
    assert desk.polls[1:] == [{"authorization": "two"}]
    desk.admission.apply(desk.scheduler.polled(0, None, desk.clock.now()))
    await second
    assert desk.admission._credentials == {}
    desk.admission.close()


async def test_slot_taken_back_before_its_waiter_has_run_is_not_used():
    """Grant and DELETE in one turn of the loop: nobody holds the slot yet who could be told."""
    desk = Desk()
    first, (waiter,) = await desk.held_and_waiting(1)
    desk.admission.release(first)
    (granted,) = desk.scheduler.slots()
    desk.admission.apply(desk.scheduler.reclaim(granted, desk.clock.now()))
    with pytest.raises(OwnAnswer) as refused:
        await waiter
    assert refused.value.code == "reclaimed"
    assert desk.scheduler.held == 0
    assert await desk.slot() is not granted
    desk.admission.close()


# --- words for the client ---


async def test_retry_after_grows_with_the_queue_and_stays_within_a_minute():
    desk = Desk(policy=Policy(max_waiting=1000))
    assert desk.admission.refusal("queue_full").retry_after_s == 1
    slot, waiting = await desk.held_and_waiting(20)
    slot.granted_at -= 3
    desk.admission.answered(slot, success=True)
    desk.admission.release(slot)
    middle = desk.admission.refusal("queue_full").retry_after_s
    assert middle is not None
    assert 40 <= middle <= 59 or middle == 59
    now = desk.clock.now()
    desk.admission.apply(desk.scheduler.pause(now + 10_000, now))
    paused = desk.admission.refusal("queue_full")
    assert "paused for another 2 h 47 min" in paused.message
    stated = {desk.admission.refusal("queue_full").retry_after_s for _ in range(200)}
    assert min(stated) >= 45
    assert max(stated) == 59
    assert len(stated) > 5, "a long pause must not send everybody back at once"
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    desk.admission.close()


async def test_refused_clients_do_not_come_back_as_one_wave():
    desk = Desk()
    now = desk.clock.now()
    desk.admission.apply(desk.scheduler.pause(now + 40, now))
    assert len({desk.admission.refusal("paused").retry_after_s for _ in range(50)}) > 5
    desk.admission.close()


async def test_full_queue_is_known_before_a_body_is_read():
    desk = Desk(policy=Policy(max_waiting=1))
    desk.admission.check_room()
    _, (waiting,) = await desk.held_and_waiting(1)
    with pytest.raises(OwnAnswer) as refused:
        desk.admission.check_room()
    assert refused.value.code == "queue_full"
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    desk.admission.close()


async def test_repr_is_read_by_people():
    desk = Desk(4)
    assert repr(desk.admission) == "<Admission <Scheduler p held 0/4 cooling 0 waiting 0>>"


async def test_while_nobody_waits_one_timer_serves_the_rests_that_end_together(monkeypatch):
    monkeypatch.setattr(local_admission, "LATE_S", 60.0)
    desk = Desk(limit=20, cooldown_s=0.01)
    loop, armed = asyncio.get_running_loop(), []
    monkeypatch.setattr(loop, "call_at", lambda *when, call=loop.call_at: armed.append(when) or call(*when))
    for slot in [await desk.slot() for _ in range(20)]:
        desk.admission.release(slot)
    assert len(armed) == 1
    desk.admission.close()


async def test_who_comes_after_a_rests_end_does_not_wait_for_that_look(monkeypatch):
    monkeypatch.setattr(local_admission, "LATE_S", 60.0)
    desk = Desk(cooldown_s=0.01, policy=Policy(max_waiting=0))
    desk.admission.release(await desk.slot())
    await asyncio.sleep(0.05)
    assert (await desk.slot()).held


async def test_who_waits_for_a_rests_end_is_granted_at_it(monkeypatch):
    monkeypatch.setattr(local_admission, "LATE_S", 60.0)
    desk = Desk(cooldown_s=0.05)
    desk.admission.release(await desk.slot())
    async with asyncio.timeout(10):
        assert (await desk.slot()).held
