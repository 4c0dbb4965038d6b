# What outlives the process, with a real state file: every decision is there after a restart, and the latest one wins.

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from runtime_desk import Desk

from proxy.core.model import CooldownSet, LimitSet, Reduced
from proxy.store import ProviderRecord, Saved
from proxy.store.memory import MemoryStore


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    await made.start()
    yield made
    await made.stop()


async def test_limit_set_by_hand_survives(desk):
    assert await desk.runtime.set_limit("p", 7)
    await desk.restart()
    assert desk.scheduler.limit == 7


async def test_removed_limit_stays_removed(desk):
    assert await desk.runtime.set_limit("p", None)
    await desk.restart()
    assert desk.scheduler.limit is None


async def test_changed_file_beats_a_limit_set_by_hand(desk):
    await desk.runtime.set_limit("p", 7)
    await desk.restart({"limit": 5})
    assert desk.scheduler.limit == 5


async def test_limit_set_by_hand_after_the_file_was_changed_wins_again(desk):
    await desk.runtime.set_limit("p", 7)
    await desk.restart({"limit": 5})
    await desk.runtime.set_limit("p", 8)
    await desk.restart()
    assert desk.scheduler.limit == 8


async def test_file_that_was_changed_and_changed_back_is_the_latest_word(desk):
    await desk.runtime.set_limit("p", 7)
    await desk.runtime.set_cooldown("p", 2.0)
    await desk.restart({"limit": 5, "cooldown": "1s"})
    await desk.restart({"limit": 4})
    assert (desk.scheduler.limit, desk.scheduler.cooldown_s) == (4, 0.35)


async def test_limit_of_a_provider_that_nobody_names_survives(desk):
    await desk.runtime.set_limit("elsewhere", 2)
    await desk.runtime.set_cooldown("elsewhere", 0.0)
    await desk.restart()
    assert "elsewhere" in desk.runtime.admissions
    assert desk.runtime.admission("elsewhere").scheduler.limit == 2
    assert desk.runtime.admission("elsewhere").scheduler.cooldown_s == 0.0


async def test_provider_that_is_configured_no_more_loses_its_limit_by_hand(desk):
    """The file's word changed: it says nothing of that provider now."""
    await desk.runtime.set_limit("p", 7)
    await desk.restart({"provider": "q"})
    assert desk.runtime.admission("p").scheduler.limit is None
    assert desk.runtime.admission("q").scheduler.limit == 4


async def test_cooldown_set_by_hand_survives_until_the_file_changes(desk):
    assert await desk.runtime.set_cooldown("p", 2.0)
    await desk.restart()
    assert desk.scheduler.cooldown_s == 2.0
    await desk.restart({"cooldown": "1s"})
    assert desk.scheduler.cooldown_s == 1.0


async def reduced(desk: Desk) -> None:
    slot = await desk.slot()
    desk.admission.rate_limited(slot, status=429, kind="concurrency", retry_after_ms=30_000)
    desk.admission.release(slot)


async def test_auto_reduce_survives_with_its_evidence_and_can_be_restored(desk):
    await reduced(desk)
    before = desk.scheduler.snapshot(0.0)
    await desk.restart()
    after = desk.scheduler.snapshot(0.0)
    assert (after.limit, after.auto_reduced_from, after.notice) == (3, 4, before.notice)
    assert after.evidence == before.evidence != ()
    assert await desk.runtime.restore("p")
    await desk.restart()
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (4, None)


async def test_pause_survives_for_what_is_left_of_it(desk):
    await reduced(desk)
    await desk.restart()
    left_s = desk.scheduler.paused_until_at - desk.runtime.clock.now()
    assert 20 < left_s <= 30
    assert desk.scheduler.pause_cause == "concurrency"
    waiting = desk.ask()
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_pause_that_was_ended_by_hand_does_not_come_back(desk):
    assert await desk.runtime.pause("p", 3600)
    await desk.restart()
    assert desk.scheduler.pause_cause == "operator"
    assert await desk.runtime.resume("p")
    await desk.restart()
    assert desk.scheduler.paused_until_at is None


async def test_stars_survive(desk):
    assert await desk.runtime.star("one", True)
    assert await desk.runtime.star("two", True)
    assert await desk.runtime.star("one", False)
    await desk.restart()
    assert desk.runtime.stars == {"two"}


async def test_changes_of_state_are_in_the_history(desk):
    await desk.runtime.set_limit("p", 7)
    await desk.runtime.star("w", True)
    slot = await desk.slot()
    desk.admission.release(slot)
    await desk.restart()
    events = await desk.runtime.store.history(0)
    names = [event.name for event in events]
    assert ("limit_set" in names, "starred" in names) == (True, True)
    assert not {"granted", "released"} & set(names), "what each request does is no history"


async def test_learned_limit_survives(desk):
    await desk.restart({"limit": "auto"})
    one, two = await desk.slot(), await desk.slot()
    desk.admission.rate_limited(two, status=429, kind="concurrency", retry_after_ms=0)
    assert desk.scheduler.limit == 1
    for slot in (one, two):
        desk.admission.release(slot)
    await desk.restart()
    assert desk.scheduler.limit == 1


# --- when an answer may be given ---


class SlowStore(MemoryStore):
    """Stores when it is let to, and then says `answer`."""

    def __init__(self, answer: bool = True) -> None:
        super().__init__()
        self.let = asyncio.Event()
        self.answer = answer
        self.error = None if answer else "no space left on device"
        self.records: list[ProviderRecord] = []
        self.done: list[int | None] = []

    async def save_provider(self, record: ProviderRecord) -> bool:
        self.records.append(record)
        await self.let.wait()
        self.done.append(record.limit)
        return self.answer


async def test_call_is_answered_when_it_is_stored(desk):
    await desk.stop()
    store = desk.store = SlowStore()
    await desk.start()
    answer = asyncio.create_task(desk.runtime.set_limit("p", 7))
    while not store.records:
        await asyncio.sleep(0)
    assert desk.scheduler.limit == 7, "made first, stored then"
    assert not answer.done()
    store.let.set()
    assert await answer


async def test_many_changes_at_once_are_one_write_and_a_later_one_another(desk):
    await desk.stop()
    store = desk.store = SlowStore()
    await desk.start()
    store.let.set()
    answers = [asyncio.create_task(desk.runtime.set_limit("p", limit)) for limit in range(1, 50)]
    assert all(await asyncio.gather(*answers))
    assert [record.limit for record in store.records] == [49]
    await desk.runtime.set_limit("p", 50)
    assert [record.limit for record in store.records] == [49, 50]


async def test_change_during_a_write_is_written_too(desk):
    await desk.stop()
    store = desk.store = SlowStore()
    await desk.start()
    first = asyncio.create_task(desk.runtime.set_limit("p", 1))
    while not store.records:
        await asyncio.sleep(0)
    second = asyncio.create_task(desk.runtime.set_limit("p", 2))
    await asyncio.sleep(0)
    store.let.set()
    assert await first
    assert await second
    assert [record.limit for record in store.records] == [1, 2]


async def test_change_that_cannot_be_stored_holds_in_memory_and_is_told(desk):
    await desk.stop()
    store = desk.store = SlowStore(False)
    store.let.set()
    await desk.start()
    assert not await desk.runtime.set_limit("p", 7)
    assert desk.scheduler.limit == 7
    assert ("state.write_failed", {"error": "no space left on device"}) in desk.said


async def test_caller_that_leaves_does_not_stop_the_write(desk):
    await desk.stop()
    store = desk.store = SlowStore()
    await desk.start()
    answer = asyncio.create_task(desk.runtime.set_limit("p", 7))
    while not store.records:
        await asyncio.sleep(0)
    answer.cancel()
    await asyncio.gather(answer, return_exceptions=True)
    store.let.set()
    assert await desk.runtime.set_limit("p", 8)
    assert store.done == [7, 8]


async def test_what_is_not_stored_yet_is_stored_at_the_end(tmp_path):
    desk = Desk(tmp_path)
    await desk.start()
    desk.admission.apply(desk.scheduler.set_limit(7, "api", desk.runtime.clock.now()))  # nobody awaits its write
    await desk.stop()
    await desk.start()
    assert desk.scheduler.limit == 7
    await desk.stop()


# --- who said it ---

REDUCED = Reduced(3, 4, "")


@pytest.fixture
async def store(desk: Desk) -> SlowStore:
    """Where `desk`, started again, stores at once."""
    await desk.stop()
    made = desk.store = SlowStore()
    made.let.set()
    await desk.start()
    return made


async def stored(store: SlowStore) -> ProviderRecord:
    while not store.done:
        await asyncio.sleep(0)
    return store.records[-1]


@pytest.mark.parametrize(
    ("effects", "by"),
    [
        ([REDUCED], "auto"),
        ([REDUCED, LimitSet(4, "auto_restore")], "auto"),
        ([REDUCED, LimitSet(4, "restore")], "api"),
        ([LimitSet(4, "api"), REDUCED], "api"),
        ([LimitSet(4, "api"), REDUCED, LimitSet(4, "auto_restore")], "api"),
        ([LimitSet(4, "learned")], "auto"),
        ([LimitSet(7, "api"), LimitSet(4, "file")], "file"),
        ([CooldownSet(1.0, "api")], "file"),
    ],
)
async def test_who_set_the_limit_is_kept(desk, store, effects, by):
    desk.admission.apply(effects)
    assert (await stored(store)).limit_by == by


@pytest.mark.parametrize(("by", "kept"), [("api", "api"), ("file", "file"), ("learned", "auto")])
async def test_who_set_the_cooldown_is_kept(desk, store, by, kept):
    desk.admission.apply([CooldownSet(1.0, by)])
    assert (await stored(store)).cooldown_by == kept


async def test_what_a_reload_sets_is_the_files(desk, store):
    await desk.reload({"limit": 5, "cooldown": "1s"})
    record = await stored(store)
    assert (record.limit_by, record.file_limit, record.cooldown_by, record.file_cooldown_s) == ("file", 5, "file", 1.0)


async def test_what_is_learned_again_is_the_files(desk, store):
    await desk.reload({"limit": "auto", "cooldown": "auto"})
    desk.admission.apply([LimitSet(7, "api"), CooldownSet(1.0, "api")])
    await stored(store)
    assert await desk.runtime.learn("p")
    assert (store.records[-1].limit_by, store.records[-1].cooldown_by) == ("file", "file")


async def test_strikes_and_the_time_to_a_restore_survive(desk, store):
    await desk.stop()
    record = ProviderRecord(
        provider_id="p",
        limit=3,
        limit_by="auto",
        file_limit=4,
        cooldown_s=0.35,
        cooldown_by="file",
        file_cooldown_s=0.35,
        auto_reduced_from=4,
        evidence=(),
        paused_until_ms=None,
        pause_cause=None,
        strikes=3,
        strikes_until_ms=desk.runtime.clock.wall_ms() + 3_600_000,
        restore_after_s=7200.0,
    )

    async def opened() -> Saved:
        return Saved(providers={"p": record})

    store.open = opened
    desk.write({"auto_restore": "1h", "strikes": 10})
    await desk.start()
    now = desk.runtime.clock.now()
    after = desk.scheduler.snapshot(now)
    assert (after.strikes, after.restore_after_s) == (3, 7200.0)
    assert after.strikes_until_at - now == pytest.approx(3600.0, abs=60.0)
    assert after.restore_at - now == pytest.approx(7200.0, abs=60.0)


async def test_what_is_auto_in_the_file_is_learned_from_the_start(desk):
    await desk.restart({"limit": "auto", "cooldown": "auto"})
    begun = desk.scheduler.snapshot(0.0)
    assert (begun.learns_limit, begun.learns_cooldown) == (True, True)
