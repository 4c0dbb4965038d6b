# What was, of a real process with real traffic: it is told while it goes on, and after a restart, and after a kill.

import asyncio
from typing import Any

import pytest
from blackbox.admin import part
from blackbox.rig import Rig, Starter
from blackbox.waiting import until

from proxy.store import MINUTE_MS

UPSTREAMS = {"up": {"limit": 1, "cooldown": "0s", "auto_reduce": False, "pause": {"default": "40s"}}, "free": {}}


async def points(rig: Rig, provider: str | None = None) -> list[dict[str, Any]]:
    reply = await rig.admin.get(f"/concurrency/history/{part(provider or rig.provider)}")
    assert reply.status == 200, reply
    found: list[dict[str, Any]] = reply.json["points"]
    return found


async def total(rig: Rig, key: str) -> int:
    """Over all minutes: a test may run across the end of one."""
    return sum(point[key] for point in await points(rig))


async def one_waits_for_another(rig: Rig) -> None:
    first = await rig.ask("first")
    call = await rig.up.call()
    (second,) = await rig.line_up("second")

    async def seen() -> bool:
        return max(point["queuedMax"] for point in await points(rig)) == 1

    await until(seen, what="a history with a waiter")
    await rig.finish(call, first)
    await rig.finish(await rig.up.call(), second)
    await rig.at_rest()


@pytest.mark.one_process(reason="the minute that runs is each replica's own until it ends")
async def test_traffic_is_told_and_outlives_the_process(start: Starter) -> None:
    rig = await start(UPSTREAMS)
    await one_waits_for_another(rig)

    async def counted() -> bool:  # a request is counted a moment after its last byte
        return await total(rig, "completed") == 2

    await until(counted, what="both in the history")
    found = await points(rig)
    assert [point["at"] % MINUTE_MS for point in found] == [0] * len(found)
    assert found[-1]["partial"] is True
    assert await total(rig, "granted") == 2
    assert max(point["inFlightMax"] for point in found) == 1
    assert {point["limit"] for point in found} == {1}
    assert max(point["waitMsP95"] or 0 for point in found) > 0
    assert all(point["firstByteMsP50"] is not None for point in found if point["completed"])
    assert await points(rig, rig.provider_of("free")) == [], "nobody ever used it"
    await rig.proxy.stop()
    await rig.proxy.restart()
    assert (await total(rig, "granted"), await total(rig, "completed")) == (2, 2)
    await one_waits_for_another(rig)
    assert await total(rig, "granted") == 4


async def test_who_waited_while_nobody_asked_is_told_afterwards(start: Starter) -> None:
    rig = await start(UPSTREAMS)
    client = await rig.ask("first")
    call = await rig.up.call()
    (second,) = await rig.line_up("second")
    await asyncio.sleep(3)  # three looks; a question would be one of its own
    await rig.finish(call, client)
    await rig.finish(await rig.up.call(), second)
    await rig.at_rest()
    found = await points(rig)
    assert max(point["queuedMax"] for point in found) == 1
    assert max(point["queuedMean"] for point in found) > 0
    assert max(point["oldestWaitMsMax"] for point in found) > 500


@pytest.mark.one_process(reason="the minute that runs is each replica's own until it ends")
async def test_refusal_is_a_mark_and_a_pause_that_is_counted(start: Starter) -> None:
    rig = await start(UPSTREAMS)
    client = await rig.ask("refused")
    await (await rig.up.call()).answer(429)
    await client.answer()
    await rig.until_status(paused=True)

    async def paused() -> bool:
        return await total(rig, "pausedMs") > 0

    await until(paused, what="a pause in the history")
    assert await total(rig, "rateLimited") == 1
    await rig.resume()
    marks = (await rig.admin.get(f"/concurrency/marks/{part(rig.provider)}")).json["marks"]
    assert [mark["kind"] for mark in marks] == ["rate_limited", "paused", "resumed"]
    assert marks[1]["text"].startswith("paused for 40 s")


async def test_who_changed_what_outlives_a_kill(start: Starter) -> None:
    rig = await start(UPSTREAMS)
    await rig.limit(3)
    cli = [("X-Slotgate-Client", "cli")]
    await rig.admin.call("PUT", f"/concurrency/limits/{part(rig.provider)}", {"limit": 4}, cli)
    await rig.proxy.kill()
    rig.proxy.config["upstreams"]["up"]["limit"] = 2
    await rig.proxy.restart()
    changes = (await rig.admin.get("/concurrency/audit")).json["changes"]
    assert [(change["by"], change["what"], change["from"], change["to"]) for change in changes] == [
        ("file", "limit", 4, 2),
        ("cli", "limit", 3, 4),
        ("api", "limit", 1, 3),
    ]
