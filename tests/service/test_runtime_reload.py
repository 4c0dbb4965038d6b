# A reload: validated whole, then swapped; what runs and waits is not disturbed (spec §3.4).

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from runtime_desk import Desk

from proxy.core.model import Phase
from proxy.errors import ConfigErrors, OwnAnswer
from proxy.service import watch
from proxy.service.watch import watch_config


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    made.write(state="memory")
    await made.start()
    yield made
    await made.stop()


async def test_limit_changed_in_the_file_beats_the_one_set_by_hand(desk):
    await desk.runtime.set_limit("p", 7)
    await desk.reload({"limit": 5})
    assert desk.scheduler.limit == 5


async def test_file_that_says_the_same_as_before_changes_no_limit_set_by_hand(desk):
    """Other keys did change."""
    await desk.runtime.set_limit("p", 7)
    await desk.runtime.set_cooldown("p", 2.0)
    for slot_timeout in ("1m", "2m"):
        await desk.reload({"limit": 4, "slot_timeout": slot_timeout})
        assert (desk.scheduler.limit, desk.scheduler.cooldown_s) == (7, 2.0)


async def test_cooldown_changed_in_the_file_leaves_a_limit_set_by_hand(desk):
    await desk.runtime.set_limit("p", 7)
    await desk.reload({"cooldown": "1s"})
    assert (desk.scheduler.limit, desk.scheduler.cooldown_s) == (7, 1.0)


async def test_cooldown_set_by_hand_after_the_file_was_changed_stays_while_the_file_says_the_same(desk):
    await desk.reload({"cooldown": "1s"})
    await desk.runtime.set_cooldown("p", 2.0)
    await desk.reload({"cooldown": "1s", "slot_timeout": "1m"})
    assert desk.scheduler.cooldown_s == 2.0


async def test_file_that_says_auto_begins_to_learn(desk):
    await desk.reload({"limit": "auto", "cooldown": "auto"})
    now = desk.scheduler.snapshot(0.0)
    assert (now.limit, now.learns_limit, now.learns_cooldown) == (None, True, True)
    await desk.reload({"limit": 4})
    now = desk.scheduler.snapshot(0.0)
    assert (now.limit, now.learns_limit, now.learns_cooldown) == (4, False, False)


async def test_limit_that_left_the_file_is_unlimited(desk):
    await desk.reload({"limit": ...})
    assert desk.scheduler.limit is None


async def test_limit_in_the_file_ends_an_auto_reduce(desk):
    slot = await desk.slot()
    desk.admission.rate_limited(slot, status=429, kind="concurrency", retry_after_ms=0)
    desk.admission.release(slot)
    assert desk.scheduler.auto_reduced_from == 4
    await desk.reload()
    assert desk.scheduler.auto_reduced_from == 4
    await desk.reload({"limit": 6})
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (6, None)


async def test_higher_limit_lets_waiters_go_and_a_lower_one_evicts_nobody(desk):
    """REL-01."""
    slots = [await desk.slot() for _ in range(4)]
    waiting = [desk.ask() for _ in range(3)]
    await asyncio.sleep(0)
    await desk.reload({"limit": 5})
    first = await waiting[0]
    await desk.reload({"limit": 1})
    assert desk.scheduler.held == 5
    assert [task.done() for task in waiting] == [True, False, False]
    for slot in [*slots, first]:
        desk.admission.release(slot, reached=False)
    await waiting[1]
    assert not waiting[2].done()
    assert desk.scheduler.held == 1
    desk.admission.release(waiting[1].result(), reached=False)
    desk.admission.release(await waiting[2])


async def test_unchanged_file_changes_nothing(desk):
    """REL-01."""
    slot = await desk.slot()
    changed = await desk.reload(state="memory")
    assert changed == ([], [])
    assert desk.scheduler.slots() == [slot]
    desk.admission.release(slot)


async def test_pause_and_counts_carry_over(desk):
    await desk.runtime.pause("p", 60)
    slot_count = desk.scheduler.held
    until_at = desk.scheduler.paused_until_at
    await desk.reload({"slot_timeout": "1m"})
    assert (desk.scheduler.paused_until_at, desk.scheduler.held) == (until_at, slot_count)


@pytest.mark.parametrize("text", ["limit: [", "upstreams: {up: {url: http://a, limit: many}}", "nonsense: 1", "\t"])
async def test_file_with_an_error_leaves_everything_as_it_was(desk, text):
    """REL-04: all old or all new."""
    before = desk.runtime.settings
    desk.file.write_text(text)
    with pytest.raises(ConfigErrors):
        await desk.runtime.reload()
    assert desk.runtime.settings is before
    assert str(desk.file) in (desk.runtime.config_error or "")
    loaded_at_ms = desk.runtime.loaded_at_ms
    await desk.reload({"limit": 9})
    assert desk.runtime.config_error is None
    assert desk.runtime.loaded_at_ms >= loaded_at_ms
    assert desk.scheduler.limit == 9


async def test_unusable_ca_file_leaves_everything_as_it_was(desk, tmp_path):
    (tmp_path / "ca.pem").write_text("no certificate")
    before = desk.runtime.settings
    with pytest.raises(ConfigErrors) as errors:
        await desk.reload({"url": "https://a.test", "limit": 9, "tls": {"ca_file": str(tmp_path / "ca.pem")}})
    assert "upstreams.up.tls.ca_file" in str(errors.value)
    assert desk.runtime.settings is before
    assert desk.scheduler.limit == 4


async def test_what_needs_a_restart_says_so(desk):
    changed, needs_restart = await desk.reload({"limit": 9}, listen="127.0.0.1:1", state="memory")
    assert "listen" in changed
    assert "upstreams.up.limit" in changed
    assert needs_restart == ["listen"]


async def test_shorter_patience_counts_for_those_that_wait(desk):
    slots = [await desk.slot() for _ in range(4)]
    waiting = desk.ask()
    await asyncio.sleep(0)
    await desk.reload(queue={"max_wait": "20ms"})
    with pytest.raises(OwnAnswer) as refused:
        async with asyncio.timeout(5):
            await waiting
    assert refused.value.code == "queue_timeout"
    for slot in slots:
        desk.admission.release(slot)


async def test_removed_upstream_keeps_its_queues_rules_however_often_the_file_is_read(desk):
    """It finishes what it has."""
    await desk.reload({"slot_timeout": "7s", "absorb": 3})
    slot = await desk.slot()
    for _ in range(3):
        await desk.reload({"provider": "q"}, queue={"max_waiting": 5})
        policy = desk.scheduler.policy
        assert (policy.slot_timeout_s, policy.absorb, policy.max_waiting) == (7.0, 3, 5)
    assert desk.scheduler.limit == 4
    assert desk.scheduler.slots() == [slot]
    assert slot.phase is Phase.CONNECTING
    desk.admission.release(slot)


async def test_upstream_that_comes_back_has_its_new_rules(desk):
    await desk.runtime.set_limit("p", 7)
    await desk.reload({"provider": "q"})
    await desk.reload({"limit": 4, "slot_timeout": "9s"})
    assert desk.scheduler.limit == 7, "the file says what it always said"
    assert desk.scheduler.policy.slot_timeout_s == 9.0


async def test_new_upstream_has_its_queue_at_once(desk):
    await desk.reload({"provider": "q", "limit": 2})
    assert desk.runtime.admissions["q"].scheduler.limit == 2


async def test_provider_known_by_hand_alone_has_the_queues_new_rules(desk):
    await desk.runtime.set_limit("elsewhere", 2)
    await desk.reload(queue={"max_waiting": 5})
    assert desk.runtime.admission("elsewhere").scheduler.policy.max_waiting == 5


async def test_what_needs_a_restart_is_measured_against_what_runs(desk):
    desk.write(state="memory", listen="127.0.0.1:1")
    assert await desk.runtime.reload() == (["listen"], ["listen"])
    assert await desk.runtime.reload() == ([], ["listen"]), "still not what runs"
    desk.write(state="memory")
    assert await desk.runtime.reload() == (["listen"], []), "put back: what runs is what the file says"


async def test_reloads_do_not_overlap(desk):
    """Two calls at once: each takes the file as it then is, one after the other."""
    desk.write({"limit": 8}, state="memory")
    one, two = await asyncio.gather(desk.runtime.reload(), desk.runtime.reload())
    assert "upstreams.up.limit" in one[0]
    assert two == ([], [])


async def test_changed_file_is_seen_and_a_broken_one_is_tried_again_when_it_changes(desk, monkeypatch):
    looks: list[Path] = []
    look = watch._stamp
    monkeypatch.setattr(watch, "CONFIG_S", 0.005)
    monkeypatch.setattr(watch, "_stamp", lambda find: (look(find), looks.append(find()))[0])
    desk.runtime.tasks.start("watch", watch_config(desk.runtime, lambda: desk.file))

    async def becomes(limit: int | None, error: bool) -> None:
        async with asyncio.timeout(5):
            while (desk.scheduler.limit, desk.runtime.config_error is not None) != (limit, error):
                await asyncio.sleep(0.002)

    for limit in (5, 6):
        seen = len(looks)
        while len(looks) < seen + 2:  # the file as it is has been looked at, and the clock of its stamp has moved
            await asyncio.sleep(0.002)
        desk.write({"limit": limit})
        await becomes(limit, False)
    desk.file.write_text("limit: [")
    await becomes(6, True)
    desk.file.unlink()  # an editor that replaces it
    desk.write({"limit": 7})
    await becomes(7, False)
