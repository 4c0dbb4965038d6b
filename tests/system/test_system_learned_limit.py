# limit: auto: no number is known, so nothing is held, until concurrency 429s show how many the provider takes
# (spec §3.1, §7.3).

import asyncio
from typing import Any

import pytest
from blackbox.admin import part
from blackbox.call import Call
from blackbox.rig import Options, Rig, Starter

AUTO: Options = {"limit": "auto", "cooldown": "0s", "pause": {"default": "0s"}}
CONCURRENCY = b'{"error":{"message":"too many concurrent requests"}}'
REDUCED = {"autoReducedFrom", "notice", "evidence"}


async def burst(rig: Rig, count: int = 12) -> list[Call]:
    """So many in flight together, of which the provider takes four: those four, once all the others know."""
    clients = [await rig.ask(f"burst {number}") for number in range(count)]
    calls = await rig.up.take(count)
    for call in calls[4:]:
        await call.answer(429, CONCURRENCY)
    taken = {call.name for call in calls[:4]}
    for number, client in enumerate(clients):
        if f"burst {number}" not in taken:
            assert (await client.answer()).status == 429
    return calls[:4]


async def kill(rig: Rig) -> None:
    await rig.star("stored")  # writes are made in order, and this one is acknowledged
    await rig.proxy.kill()
    await rig.proxy.restart()


async def reload(rig: Rig, limit: int | str) -> None:
    upstreams = rig.proxy.config["upstreams"]
    rig.proxy.write({"upstreams": {**upstreams, "up": {**upstreams["up"], "limit": limit}}})
    assert (await rig.admin.post("/reload")).status == 200


async def refused(rig: Rig, status: int, body: bytes, *headers: tuple[str, str]) -> None:
    client = await rig.ask()
    await (await rig.up.call()).answer(status, body, headers)
    assert (await client.answer()).status == status


def shown(entry: dict[str, Any]) -> tuple[int | None, bool]:
    return entry["limit"], entry.get("limitAuto", False)


async def test_one_burst_finds_the_limit(start: Starter) -> None:
    rig = await start({"up": AUTO})
    assert shown(await rig.status()) == (None, True)
    events = await rig.events()
    taken = await burst(rig)
    entry = await rig.until_status(held=4, limit=4)
    assert (entry["limitAuto"], entry["autoReduced"], entry["queued"]) == (True, False, 0)
    assert not REDUCED & set(entry), "nothing was lowered: it was found"
    assert entry["strikes"] == {"today": 8, "allowed": None}
    assert (await events.until("limit_set", by="learned")).data["limit"] >= 4
    assert (await rig.admin.get(f"/concurrency/limits/{part(rig.provider)}")).json["limit"] == 4
    assert await rig.metric("slotgate_limit", provider=rig.provider) == 4
    assert await rig.metric("slotgate_auto_reductions_total", provider=rig.provider) == 0
    for call in taken:
        await call.answer()
    await rig.at_rest()


async def test_provider_that_takes_four_refuses_nobody_once_that_is_known(start: Starter) -> None:
    """Twelve agents ask all the time. Some of the first twelve may come when it is known already, and wait."""
    rig = await start({"up": {**AUTO, "pause": {"default": "1s"}}})
    rig.up.limit = 4
    settled = asyncio.Event()

    async def short(call: Call) -> None:
        await settled.wait()
        await asyncio.sleep(0.02)
        await call.answer()

    rig.up.behaviour = short

    async def agent() -> list[int]:
        statuses = []
        for _ in range(4):
            client = await rig.ask()
            statuses.append((await client.answer()).status)
        return statuses

    agents = asyncio.gather(*(agent() for _ in range(12)))
    await rig.until_status(limit=4, held=4, queued=8)
    settled.set()
    each = await agents
    assert 1 <= len(rig.up.violations) <= 8
    assert sum(status == 429 for statuses in each for status in statuses[1:]) == 0, "refused after the first burst"
    assert shown(await rig.status()) == (4, True)


async def test_burst_goes_on_teaching_when_a_newcomer_was_refused_meanwhile(start: Starter) -> None:
    """A place becomes free in the middle of it, and the newcomer who takes it is refused too."""
    rig = await start({"up": AUTO})
    for number in range(12):
        await rig.ask(str(number))
    calls = await rig.up.take(12)
    await calls[11].answer(429, CONCURRENCY)
    await rig.until_status(limit=11)
    await calls[0].answer()
    await rig.in_flight(10)
    await rig.ask("newcomer")
    await (await rig.up.call()).answer(429, CONCURRENCY)
    await rig.in_flight(10)
    for call in calls[4:11]:
        await call.answer(429, CONCURRENCY)
    entry = await rig.until_status(held=3)
    assert entry["limit"] in (3, 4)


async def test_burst_that_comes_one_by_one_finds_the_limit_by_its_first_refusal(start: Starter) -> None:
    rig = await start({"up": AUTO})
    for number in range(4):
        await rig.ask(str(number))
    await rig.up.take(4)
    client = await rig.ask("one too many")
    await (await rig.up.call()).answer(429, CONCURRENCY)
    assert (await client.answer()).status == 429
    await rig.until_status(limit=4, held=4)
    await rig.line_up("waiter")
    assert "waiter" not in rig.up.names


async def test_provider_that_takes_none_is_asked_one_at_a_time(start: Starter) -> None:
    rig = await start({"up": AUTO})
    for name in "abc":
        await rig.ask(name)
    for call in await rig.up.take(3):
        await call.answer(429, CONCURRENCY)
    await rig.until_status(limit=1, inFlight=0, limitAuto=True, autoReduced=False)


async def test_pause_that_is_stated_holds_as_after_any_other(start: Starter) -> None:
    rig = await start({"up": {**AUTO, "pause": {"default": "30s"}}})
    await burst(rig, 6)
    entry = await rig.until_status(paused=True, limit=4, held=4)
    assert entry["pauseCause"] == "concurrency"


async def test_refusal_after_the_burst_lowers_what_was_learned(start: Starter) -> None:
    """The provider takes fewer than it did: from here on all is as with a limit that was set."""
    rig = await start({"up": AUTO})
    for call in await burst(rig):
        await call.answer()
    await rig.until_status(limit=4, held=0)
    client = await rig.ask("later")
    await (await rig.up.call()).answer(429, CONCURRENCY)
    assert (await client.answer()).status == 429
    entry = await rig.until_status(autoReduced=True)
    assert (entry["limit"], entry["autoReducedFrom"], entry["limitAuto"]) == (3, 4, True)
    assert [seen["kind"] for seen in entry["evidence"]][-1] == "concurrency"
    await kill(rig)
    after = await rig.status()
    assert (after["limit"], after["autoReducedFrom"], after["limitAuto"]) == (3, 4, True)
    assert (await rig.admin.post(f"/concurrency/restore/{part(rig.provider)}")).json["limit"] == 4


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, b'{"error":{"code":"rate_limit_exceeded","message":"requests per min"}}', "rate"),
        (429, b"{}", "rate"),
        (429, b'{"error":{"code":"insufficient_quota"}}', "quota"),
        (529, b"{}", "overload"),
    ],
    ids=["rate", "unknown", "quota", "overload"],
)
async def test_other_refusals_teach_nothing_and_hold_nothing(
    start: Starter, status: int, body: bytes, kind: str
) -> None:
    rig = await start({"up": {**AUTO, "pause": {"default": "30s"}}})
    for _ in range(3):
        await refused(rig, status, body, ("Retry-After", "20"))
    entry = await rig.until_status(inFlight=0)
    assert (shown(entry), entry["paused"], entry["lastRateLimit"]["kind"]) == ((None, True), False, kind)


async def test_learned_limit_survives_a_kill(start: Starter) -> None:
    rig = await start({"up": AUTO})
    taken = await burst(rig)
    await rig.until_status(limit=4, held=4)
    await kill(rig)
    for call in taken:
        await call.stopped()
    assert shown(await rig.status()) == (4, True)
    for number in range(4):
        await rig.ask(f"again {number}")
    await rig.until_status(held=4)
    await rig.line_up("waiter")
    assert "waiter" not in rig.up.names


@pytest.mark.parametrize("by_hand", ["DELETE", "PUT"])
async def test_person_who_decides_ends_the_learning_until_the_file_changes(start: Starter, by_hand: str) -> None:
    rig = await start({"up": AUTO})
    for call in await burst(rig):
        await call.answer()
    await rig.until_status(limit=4, held=0)
    path = f"/concurrency/limits/{part(rig.provider)}"
    if by_hand == "DELETE":
        assert (await rig.admin.delete(path)).status == 204
        decided = None
    else:
        assert (await rig.admin.put(path, {"limit": 50})).status == 200
        decided = 50
    assert shown(await rig.status()) == (decided, False)
    await kill(rig)
    assert shown(await rig.status()) == (decided, False), "it is remembered"
    assert (await rig.admin.post("/reload")).status == 200
    assert shown(await rig.status()) == (decided, False), "the file says what it said"
    for call in await burst(rig):
        await call.answer()
    entry = await rig.until_status(held=0)
    assert shown(entry) == (None if decided is None else 49, False), "one burst is one reduction"
    await reload(rig, 3)
    assert shown(await rig.status()) == (3, False)
    await reload(rig, "auto")
    assert shown(await rig.status()) == (None, True)
    for call in await burst(rig):
        await call.answer()
    await rig.until_status(held=0, limit=4, limitAuto=True)


async def test_number_in_the_file_ends_the_learning_and_auto_begins_it(start: Starter) -> None:
    rig = await start({"up": {**AUTO, "limit": 7}})
    assert shown(await rig.status()) == (7, False)
    await reload(rig, "auto")
    assert shown(await rig.status()) == (None, True)
    for call in await burst(rig):
        await call.answer()
    await rig.until_status(limit=4, limitAuto=True, held=0)
    await reload(rig, 9)
    assert shown(await rig.status()) == (9, False)
    await kill(rig)
    assert shown(await rig.status()) == (9, False)


async def test_limit_set_by_hand_and_lowered_since_is_not_learned_after_a_restart_either(start: Starter) -> None:
    rig = await start({"up": AUTO})
    await rig.limit(50)
    await refused(rig, 429, CONCURRENCY)
    entry = await rig.until_status(limit=49, autoReducedFrom=50)
    assert "limitAuto" not in entry
    await kill(rig)
    assert shown(await rig.status()) == (49, False)


async def test_learning_is_shown_in_the_configuration_and_sets_no_limit_before_it_has_learned(start: Starter) -> None:
    rig = await start({"up": AUTO})
    assert (await rig.admin.get("/config")).json["upstreams"]["up"]["limit"] == "auto"
    assert (await rig.admin.get("/concurrency/limits")).json == {"limits": []}
    assert (await rig.admin.get(f"/concurrency/limits/{part(rig.provider)}")).status == 404
    assert (await rig.admin.get(f"/concurrency/status/{part(rig.provider)}")).status == 404
