# Reload, three ways: all or nothing, and nothing in flight or waiting is disturbed (spec §3.4).

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from blackbox.admin import part
from blackbox.rig import Rig, Starter
from blackbox.waiting import never, until

Way = Callable[[Rig], Awaitable[None]]


async def by_signal(rig: Rig) -> None:
    rig.proxy.signal(signal.SIGHUP)


async def by_call(rig: Rig) -> None:
    reply = await rig.admin.post("/reload")
    assert reply.status in (200, 422), reply


async def by_change(rig: Rig) -> None:
    """The file's change is noticed by itself."""


UPSTREAMS = {
    "up": {"limit": 2, "cooldown": "0s", "pause": {"default": "0s"}},
    "two": {"limit": 1, "cooldown": "0s"},
}
THREE_WAYS = pytest.mark.parametrize("way", [by_signal, by_call, by_change])


@pytest_asyncio.fixture(loop_scope="session")
async def rig(rig: Rig) -> AsyncIterator[Rig]:
    """The shared process with its first configuration in force, whatever the test before did to the file."""
    first = dict(rig.proxy.config)
    yield rig
    rig.proxy.config.clear()
    rig.proxy.write(first)
    assert (await rig.admin.post("/reload")).status == 200


def with_up(rig: Rig, **options: Any) -> dict[str, Any]:
    upstreams = rig.proxy.config["upstreams"]
    return {"upstreams": {**upstreams, "up": {**upstreams["up"], **options}}}


async def config_errors(rig: Rig) -> list[str | None]:
    """Of each process."""
    return [(await admin.get("/status")).json["config"]["error"] for admin in rig.proxy.admins]


@THREE_WAYS
async def test_changed_limit_applies_and_disturbs_nobody(rig: Rig, way: Way) -> None:
    """REL-01: whatever is reloaded, the peak stays at the limit in force, and queue and order are kept."""
    for name in "ab":
        await rig.ask(name)
    a, b = await rig.up.take(2)
    for call in (a, b):
        call.begin()
        call.event("one")
    await rig.line_up("c", "d", "e", "f")
    rig.proxy.write(with_up(rig, limit=3))
    await way(rig)
    c = await rig.up.call()
    assert c.name == "c"
    await rig.until_status(limit=3, inFlight=3, queued=3)
    rig.proxy.write(with_up(rig, limit=1))
    await way(rig)
    await rig.until_status(limit=1, inFlight=3, queued=3)
    for call in (a, b):
        call.event("two")
        await call.finish()
    await rig.in_flight(1)
    await never(lambda: len(rig.up.calls) > 3, during=0.2)
    await c.answer()
    for name in "def":
        call = await rig.up.call()
        assert call.name == name
        await call.answer()
    assert rig.up.peak == 3


async def test_unchanged_file_changes_nothing(rig: Rig) -> None:
    """REL-01: a reload builds no new limiter."""
    for name in "ab":
        await rig.ask(name)
    await rig.up.take(2)
    await rig.line_up("c", "d")
    for _ in range(5):
        reply = await rig.admin.post("/reload")
        assert reply.json == {"changed": [], "needsRestart": []}
    entry = await rig.status()
    assert (entry["inFlight"], entry["queued"]) == (2, 2)
    assert rig.up.peak == 2


@THREE_WAYS
async def test_broken_file_keeps_the_old_one_in_force(rig: Rig, way: Way) -> None:
    """REL-04: one bad upstream among three, and nothing at all is taken over."""
    await rig.ask("a")
    await rig.up.call()
    upstreams = rig.proxy.config["upstreams"]
    broken = {**upstreams, "up": {**upstreams["up"], "limit": 7}, "bad": {"url": "ftp://x", "limt": 1}}
    rig.proxy.write({"upstreams": broken})
    await way(rig)

    async def bad() -> bool:
        return all(await config_errors(rig))

    await until(bad)
    assert all("bad" in str(error) for error in await config_errors(rig))
    assert (await rig.status())["limit"] == 2
    assert (await (await rig.ask(target="/bad/x")).answer()).code == "unknown_upstream"
    assert await rig.metric("slotgate_config_last_reload_successful") == 0
    await rig.proxy.logged(lambda line: "limt" in str(line))
    rig.proxy.write({"upstreams": upstreams})
    await way(rig)

    async def good() -> bool:
        return not any(await config_errors(rig))

    await until(good)
    assert await rig.metric("slotgate_config_last_reload_successful") == 1


async def test_reload_call_answers_every_error_at_once(rig: Rig) -> None:
    rig.proxy.write(with_up(rig, limit="many", cooldwn="1s") | {"queue": {"max_wait": 5}})
    reply = await rig.admin.post("/reload")
    assert reply.status == 422
    text = reply.body.decode()
    for key in ("upstreams.up.limit", "upstreams.up.cooldwn", "queue.max_wait"):
        assert key in text, key
    rig.proxy.file.write_text("upstreams: [")
    assert (await rig.admin.post("/reload")).status == 422
    rig.proxy.file.unlink()
    assert (await rig.admin.post("/reload")).status == 422
    client = await rig.ask("a")
    await rig.finish(await rig.up.call(), client)


async def test_changed_keys_are_named_and_those_that_need_a_restart_too(rig: Rig) -> None:
    """REL-03: applied, or said plainly that it is not."""
    changes: dict[str, Any] = with_up(rig, limit=5, cooldown="2s", slot_timeout="9m")
    rig.proxy.write(changes | {"queue": {"max_waiting": 7}, "state": "memory"})
    reply = await rig.admin.post("/reload")
    assert reply.status == 200
    assert {"upstreams.up.limit", "upstreams.up.cooldown", "queue.max_waiting"} <= set(reply.json["changed"])
    assert reply.json["needsRestart"] == ["state"]
    entry = await rig.until_status(limit=5, cooldownMs=2000)
    assert entry["providerId"] == rig.provider
    effective = (await rig.admin.get("/config")).json
    assert effective["queue"]["max_waiting"] == 7
    assert effective["upstreams"]["up"]["slot_timeout"] == "9m"


async def test_changed_patience_of_the_queue_applies(rig: Rig) -> None:
    await rig.limit(1)
    await rig.ask("holder")
    await rig.up.call()
    rig.proxy.write({"queue": {"max_waiting": 1, "max_wait": "1s"}})
    assert (await rig.admin.post("/reload")).status == 200
    (waiter,) = await rig.line_up("a")
    assert (await (await rig.ask("b")).answer()).code == "queue_full"
    assert (await waiter.answer()).code == "queue_timeout"


async def test_removed_upstream_finishes_what_it_has(rig: Rig) -> None:
    two = rig.upstreams["two"]
    client = await rig.ask("a", target="/two/v1/messages")
    call = await two.call()
    call.begin()
    waiter = await rig.ask("b", target="/two/v1/messages")
    await rig.queued(1, rig.provider_of("two"))
    rig.proxy.write({"upstreams": {"up": rig.proxy.config["upstreams"]["up"]}})
    assert (await rig.admin.post("/reload")).status == 200
    assert (await (await rig.ask(target="/two/v1/messages")).answer()).code == "unknown_upstream"
    call.event("one")
    await client.until(b"one\n\n")
    await call.finish()
    await rig.finish(await two.call(), waiter)


async def test_added_upstream_serves(rig: Rig) -> None:
    upstreams = {**rig.proxy.config["upstreams"], "new": {"url": rig.up.url, "provider": "new", "limit": 1}}
    rig.proxy.write({"upstreams": upstreams})
    await rig.admin.post("/reload")
    client = await rig.ask("a", target="/new/v1/messages")
    await rig.finish(await rig.up.call(), client)
    assert (await rig.admin.get("/concurrency/limits/new")).json["limit"] == 1


async def test_pause_and_hand_made_limit_outlive_a_reload(rig: Rig) -> None:
    """A limit set by hand beats the file until the file's own value changes."""
    await rig.limit(5)
    await rig.pause(60_000)
    rig.proxy.write({"queue": {"max_waiting": 9}})
    await rig.admin.post("/reload")
    entry = await rig.status()
    assert (entry["limit"], entry["paused"]) == (5, True)
    rig.proxy.write(with_up(rig, limit=3))
    await rig.admin.post("/reload")
    entry = await rig.status()
    assert (entry["limit"], entry["paused"]) == (3, True)


async def test_reload_ends_a_reduction_only_where_the_file_sets_the_limit(rig: Rig) -> None:
    client = await rig.ask("a")
    await (await rig.up.call()).answer(429, b"{}")
    await client.answer()
    await rig.until_status(limit=1, autoReduced=True)
    rig.proxy.write({"queue": {"max_waiting": 9}})
    await rig.admin.post("/reload")
    assert (await rig.status())["limit"] == 1
    rig.proxy.write(with_up(rig, limit=4))
    await rig.admin.post("/reload")
    entry = await rig.status()
    assert (entry["limit"], entry["autoReduced"]) == (4, False)


async def test_reload_is_told_as_an_event(rig: Rig) -> None:
    events = await rig.events()
    rig.proxy.write(with_up(rig, limit=5))
    await rig.admin.post("/reload")
    await events.until("limit_set", providerId=rig.provider)
    await events.until("reloaded")
    assert (await rig.admin.get(f"/concurrency/limits/{part(rig.provider)}")).json["limit"] == 5


@pytest.mark.parametrize("text", ["", "upstreams: [", "\x00", "nonsense: 1\n"], ids=["empty", "yaml", "nul", "key"])
async def test_broken_file_at_the_start_is_one_clear_message(start: Starter, text: str) -> None:
    """STA-05: exit status 78 says that trying again is no use; an empty file is not broken."""
    rig = await start(run=False)
    rig.proxy.file.write_text(text)
    if not text:
        rig.proxy.file.write_text("listen: 127.0.0.1:1x\n")
    await rig.proxy.spawn()
    assert await rig.proxy.ended() == 78
    assert str(rig.proxy.file) in rig.proxy.output
    assert "Traceback" not in rig.proxy.output
