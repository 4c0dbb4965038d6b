# auto_restore: a reduced limit goes up again by itself, a step at a time, and a 429 takes the step back and makes the
# next one wait for twice as long (spec §3.1, §7.3).

import itertools
import time

import pytest
from blackbox.admin import part
from blackbox.call import Call
from blackbox.rig import Options, Rig, Starter
from blackbox.waiting import never

# Two seconds where something must happen before a step, or be refused soon after it: a busy machine is quick enough.
SOON: Options = {"limit": 4, "cooldown": "0s", "auto_restore": "1s", "pause": {"default": "0s"}}
LATER: Options = {**SOON, "auto_restore": "2s", "pause": {"default": "0s"}}
NEVER: Options = {**SOON, "auto_restore": None, "pause": {"default": "0s"}}
CONCURRENCY = b'{"error":{"message":"too many concurrent requests"}}'
REDUCED = {"autoReducedFrom", "notice", "evidence", "restoreAt", "restoreAfterMs"}


async def refused(rig: Rig, status: int = 429, body: bytes = CONCURRENCY) -> None:
    client = await rig.ask("refused")
    await (await rig.up.call()).answer(status, body)
    assert (await client.answer()).status == status
    await rig.in_flight(0)


async def in_flight(rig: Rig) -> Call:
    """One that runs: whatever it is told, it is told at once."""
    await rig.ask("running")
    return await rig.up.call()


async def kill(rig: Rig) -> None:
    await rig.star("stored")  # writes are made in order, and this one is acknowledged
    await rig.proxy.kill()
    await rig.proxy.restart()


async def reload(rig: Rig, auto_restore: str | None) -> None:
    upstreams = rig.proxy.config["upstreams"]
    rig.proxy.write({"upstreams": {**upstreams, "up": {**upstreams["up"], "auto_restore": auto_restore}}})
    assert (await rig.admin.post("/reload")).status == 200


async def test_reduced_limit_goes_back_up_by_itself_and_says_when(start: Starter) -> None:
    rig = await start({"up": LATER})
    events = await rig.events()
    assert not REDUCED & set(await rig.status())
    await refused(rig)
    entry = await rig.status()
    assert (entry["limit"], entry["autoReducedFrom"], entry["restoreAfterMs"]) == (3, 4, 2000)
    assert abs(entry["restoreAt"] - entry["lastRateLimit"]["at"] - 2000) < 500
    step = await events.until("limit_set", by="auto_restore")
    assert (step.data["limit"], step.data["providerId"]) == (4, rig.provider)
    assert step.data["at"] - entry["lastRateLimit"]["at"] >= 1950
    await rig.proxy.logged(lambda line: line.get("by") == "auto_restore")
    entry = await rig.status()
    assert (entry["limit"], entry["autoReduced"]) == (4, False)
    assert not REDUCED & set(entry)


async def test_it_goes_up_one_step_at_a_time(start: Starter) -> None:
    rig = await start({"up": NEVER})
    for _ in range(3):
        await refused(rig)
    assert (await rig.status())["limit"] == 1
    events = await rig.events()
    await reload(rig, "1s")
    steps = [await events.until("limit_set", by="auto_restore", limit=limit) for limit in (2, 3, 4)]
    for earlier, later in itertools.pairwise(steps):
        assert later.data["at"] - earlier.data["at"] >= 950
    assert (await rig.status())["autoReduced"] is False


async def test_step_lets_a_waiter_go(start: Starter) -> None:
    rig = await start({"up": {**LATER, "limit": 2, "pause": {"default": "0s"}}})
    await refused(rig)
    await in_flight(rig)
    await rig.line_up("waiter")
    assert (await rig.up.call()).name == "waiter"
    assert (await rig.status())["limit"] == 2


async def test_429_after_a_step_takes_it_back_and_doubles_the_time_and_that_survives_a_kill(start: Starter) -> None:
    rig = await start({"up": LATER})
    events = await rig.events()
    for _ in range(2):
        await refused(rig)
    running = await in_flight(rig)
    await events.until("limit_set", by="auto_restore", limit=3)
    await running.answer(429, CONCURRENCY)
    assert (await events.until("reduced")).data["limit"] == 2
    entry = await rig.until_status(limit=2)
    assert (entry["autoReducedFrom"], entry["restoreAfterMs"]) == (4, 4000)
    evidence = [(seen["kind"], seen["status"], seen["retryAfterMs"]) for seen in entry["evidence"]]
    refusal = ("concurrency", 429, None)
    assert evidence == [refusal, refusal, ("restored", 0, None), refusal]
    assert entry["evidence"][2]["inFlight"] == 1
    assert entry["lastRateLimit"]["kind"] == "concurrency", "a step is no rate limit"
    await kill(rig)
    after = await rig.status()
    for key in ("limit", "autoReduced", "autoReducedFrom", "notice", "evidence", "restoreAfterMs"):
        assert after[key] == entry[key], key
    assert after["lastRateLimit"] == entry["lastRateLimit"]
    left_ms = after["restoreAt"] - time.time() * 1000
    assert 0 < left_ms <= 4500


async def test_limit_that_an_earlier_process_reduced_goes_up_in_the_next(start: Starter) -> None:
    rig = await start({"up": LATER})
    await refused(rig)
    await kill(rig)
    events = await rig.events()
    assert (await rig.status())["autoReducedFrom"] == 4
    assert (await events.until("limit_set", by="auto_restore")).data["limit"] == 4
    await kill(rig)
    entry = await rig.status()
    assert (entry["limit"], entry["autoReduced"]) == (4, False)


async def test_rate_limit_begins_the_time_anew_and_overload_and_quota_do_not(start: Starter) -> None:
    rig = await start({"up": {**SOON, "auto_restore": "1h", "pause": {"default": "0s"}}})
    await refused(rig)
    first = (await rig.status())["restoreAt"]
    for status in (529, 402):
        await refused(rig, status, b'{"error":{"message":"Insufficient balance"}}' if status == 402 else b"{}")
        assert (await rig.status())["restoreAt"] == pytest.approx(first, abs=20)
    await refused(rig, 429, b"{}")
    entry = await rig.status()
    assert (entry["limit"], entry["restoreAfterMs"]) == (2, 3_600_000)
    assert abs(entry["restoreAt"] - entry["lastRateLimit"]["at"] - 3_600_000) < 500
    assert entry["restoreAt"] > first


@pytest.mark.parametrize("how", ["limit", "restore"])
async def test_person_who_decides_ends_it(start: Starter, how: str) -> None:
    rig = await start({"up": SOON})
    for _ in range(2):
        await refused(rig)
    if how == "limit":
        await rig.limit(3)
    else:
        assert (await rig.admin.post(f"/concurrency/restore/{part(rig.provider)}")).status == 200
    entry = await rig.status()
    assert (entry["limit"], entry["autoReduced"]) == (3 if how == "limit" else 4, False)
    assert not REDUCED & set(entry)
    await never(lambda: any(line.get("by") == "auto_restore" for line in rig.proxy.log), during=1.3)


async def test_without_a_limit_there_is_nothing_to_restore(start: Starter) -> None:
    rig = await start({"up": SOON})
    await refused(rig)
    await rig.admin.delete(f"/concurrency/limits/{part(rig.provider)}")
    entry = await rig.status()
    assert (entry["limit"], REDUCED & set(entry)) == (None, set())


async def test_reload_that_adds_it_counts_from_then_and_one_that_takes_it_away_ends_it(start: Starter) -> None:
    rig = await start({"up": NEVER})
    for _ in range(2):
        await refused(rig)
    assert not {"restoreAt", "restoreAfterMs"} & set(await rig.status())
    before = time.time() * 1000
    await reload(rig, "1h")
    entry = await rig.status()
    assert (entry["limit"], entry["autoReducedFrom"], entry["restoreAfterMs"]) == (2, 4, 3_600_000)
    assert before + 3_599_500 < entry["restoreAt"] < time.time() * 1000 + 3_600_500
    events = await rig.events()
    await reload(rig, "1s")
    assert (await events.until("limit_set", by="auto_restore")).data["limit"] == 3
    await reload(rig, None)
    entry = await rig.status()
    assert not {"restoreAt", "restoreAfterMs"} & set(entry)
