# Every change by hand that took effect is noted: by whom, what, from what to what.

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from runtime_desk import Desk

from proxy.errors import ConfigErrors, OwnAnswer
from proxy.service.audit import KEYS_MAX, Actor
from proxy.store import SavedChange, open_store
from proxy.store.memory import MemoryStore

Seen = tuple[str, str, str | None, str | None, object, object]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    await made.start()
    yield made
    await made.stop()


async def trail(desk: Desk) -> list[Seen]:
    """Oldest first."""
    found = await desk.runtime.audit.last(since_ms=0, most=1000)
    return [(c.by, c.what, c.provider_id, c.workspace, c.before, c.after) for c in reversed(found)]


async def test_limit_and_cooldown(desk):
    await desk.runtime.set_limit("p", 7, Actor.PAGE)
    await desk.runtime.set_limit("p", None, Actor.CLI)
    await desk.runtime.set_limit("q", 2)
    await desk.runtime.set_cooldown("p", 1.5, Actor.PAGE)
    assert await trail(desk) == [
        ("page", "limit", "p", None, 4, 7),
        ("cli", "limit", "p", None, 7, None),
        ("api", "limit", "q", None, None, 2),
        ("page", "cooldown", "p", None, 350, 1500),
    ]


async def test_word_that_repeats_what_holds_is_no_change(desk):
    for _ in range(2):
        await desk.runtime.set_limit("p", 4)  # the first makes it a person's: the file's next word is another one
        await desk.runtime.set_cooldown("p", 0.35)
        await desk.runtime.star("w", True)
        await desk.runtime.resume("p")
        await desk.runtime.restore("p")
    assert [what for _, what, *_ in await trail(desk)] == ["limit", "cooldown", "star"]


async def test_pause_and_resume_tell_until_when(desk):
    await desk.runtime.pause("p", 60, Actor.PAGE)
    until = desk.runtime.clock.to_wall_ms(desk.scheduler.paused_until_at)
    await desk.runtime.resume("p", Actor.CLI)
    assert await trail(desk) == [
        ("page", "pause", "p", None, None, {"until": until}),
        ("cli", "resume", "p", None, {"until": until}, None),
    ]


async def test_restore_tells_the_limits_and_what_refusals_did_is_not_by_hand(desk):
    slot = await desk.slot()
    desk.admission.rate_limited(slot, status=429, kind="concurrency", retry_after_ms=30_000)
    desk.admission.release(slot)
    await desk.runtime.restore("p", Actor.PAGE)
    assert await trail(desk) == [("page", "restore", "p", None, 3, 4)]


async def test_learning_anew_tells_what_was_forgotten(desk):
    await desk.reload({"limit": "auto", "cooldown": "auto"})
    await desk.runtime.set_limit("p", 7)
    await desk.runtime.learn("p", Actor.CLI)
    assert (await trail(desk))[-1] == (
        *("cli", "learn", "p", None),
        *({"limit": 7, "cooldownMs": 350}, {"limit": None, "cooldownMs": 350}),
    )
    await desk.reload({"limit": 4})
    before = await trail(desk)
    assert await desk.runtime.learn("p") is None
    assert await trail(desk) == before


async def test_star_is_the_workspaces(desk):
    await desk.runtime.star("größer\n=1", True, Actor.PAGE)
    await desk.runtime.star("größer\n=1", False)
    assert await trail(desk) == [
        ("page", "star", None, "größer\n=1", False, True),
        ("api", "star", None, "größer\n=1", True, False),
    ]


async def test_reclaim_and_drop_tell_who_and_after_how_long(desk):
    await desk.runtime.set_limit("p", 1)
    slot = await desk.slot()
    waiting = desk.ask("hopeful")
    await asyncio.sleep(0)
    assert await desk.runtime.remove("p", slot.id + 1, Actor.PAGE)
    assert await desk.runtime.remove("p", slot.id, Actor.CLI)
    assert not await desk.runtime.remove("p", slot.id, Actor.CLI)
    with pytest.raises(OwnAnswer):
        await waiting
    drop, reclaim = (await trail(desk))[1:]
    assert drop[:4] == ("page", "drop", "p", "hopeful")
    assert reclaim[:4] == ("cli", "reclaim", "p", "w")
    assert set(drop[4]) == {"id", "waitedMs"}
    assert set(reclaim[4]) == {"id", "heldMs"}
    assert (drop[4]["id"], reclaim[4]["id"]) == (str(slot.id + 1), str(slot.id))
    assert (drop[5], reclaim[5]) == (None, None)


async def test_file_that_is_read_again_tells_its_keys_and_what_became_of_limits(desk):
    await desk.runtime.set_limit("p", 7)
    await desk.reload({"limit": 5, "cooldown": "1s"})
    assert (await trail(desk))[1:] == [
        ("file", "limit", "p", None, 7, 5),
        ("file", "cooldown", "p", None, 350, 1000),
        ("file", "reload", None, None, None, {"changed": ["upstreams.up.limit", "upstreams.up.cooldown"]}),
    ]


async def test_file_that_says_the_same_or_nonsense_changes_nothing(desk):
    await desk.reload({})
    with pytest.raises(ConfigErrors):
        await desk.reload({"limit": "many"})
    assert await trail(desk) == []


async def test_reload_of_very_many_keys_is_a_small_value(desk):
    desk.runtime.audit.reloaded([f"upstreams.u{number}.limit" for number in range(KEYS_MAX + 9)])
    ((*_, after),) = await trail(desk)
    assert (len(after["changed"]), after["more"]) == (KEYS_MAX, 9)


async def test_file_that_was_changed_between_two_processes_is_noted_at_the_start(desk):
    await desk.runtime.set_limit("p", 7)
    await desk.runtime.set_cooldown("p", 2.0)
    await desk.restart({"limit": 5, "cooldown": "1s"})
    assert (await trail(desk))[2:] == [
        ("file", "limit", "p", None, 7, 5),
        ("file", "cooldown", "p", None, 2000, 1000),
    ]
    await desk.restart()
    assert len(await trail(desk)) == 4


async def test_change_is_in_the_file_when_the_call_returns(desk):
    await desk.runtime.set_limit("p", 7, Actor.PAGE)
    other = open_store("sqlite", str(desk.state))  # as after a kill: nothing is closed
    await other.open()
    (change,) = await other.changes(since_ms=0, most=9)
    assert (change.by, change.what, change.after) == ("page", "limit", 7)
    await other.close()


class Forgetful(MemoryStore):
    """It keeps settings, and no trail."""

    error = "no space left"

    async def append_changes(self, changes: "list[SavedChange]") -> bool:  # type: ignore[override]
        return False


async def test_trail_that_cannot_be_stored_is_said_in_the_log_and_the_change_holds(tmp_path):
    desk = Desk(tmp_path)
    desk.store = Forgetful()
    await desk.start()
    assert await desk.runtime.set_limit("p", 7)
    assert desk.scheduler.limit == 7
    assert desk.said == [("state.write_failed", {"error": "no space left"})]
    await desk.stop()


async def test_repr_is_read_by_people(desk):
    assert repr(desk.runtime.audit) == "<Audit <Pending save changes: 0>>"
