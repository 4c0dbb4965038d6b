# cooldown: auto: how long a provider goes on counting what has ended is learned from its usage count, and from a 429
# right after a slot was used again (spec §3.1, §6.3, §8).

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from blackbox.call import Call
from blackbox.rig import Options, Rig, Starter
from blackbox.upstream import Usage
from blackbox.waiting import until

GATE: Options = {"url": "/v1/usage", "field": "usage.concurrent_sessions", "interval": "100ms"}
LEARNS: Options = {"limit": 4, "cooldown": "auto", "usage": GATE}
CONCURRENCY = b'{"error":{"message":"too many concurrent requests"}}'


def lagging(rig: Rig, seconds: float = 0.7) -> Usage:
    """The upstream counts each call for so long after its end, and says so."""
    rig.up.lag = seconds
    usage = rig.up.usage = Usage()

    async def count(call: Call) -> None:
        await call.answer(200, b'{"usage":{"concurrent_sessions":%d}}' % rig.up.open)

    usage.answer = count
    return usage


async def short(call: Call) -> None:
    await asyncio.sleep(0.05)
    await call.answer()


@contextlib.asynccontextmanager
async def agents(rig: Rig, count: int = 8) -> AsyncIterator[None]:
    """So many ask one request after the other."""
    rig.up.behaviour = short

    async def agent() -> None:
        while True:
            client = await rig.ask()
            assert (await client.answer()).status == 200
            client.close()

    tasks = [asyncio.create_task(agent()) for _ in range(count)]
    try:
        yield
        assert not any(task.done() for task in tasks), tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        rig.leave()


async def learned(rig: Rig) -> dict[str, Any]:
    """Agents ask until the cooldown has come to the lag; the entry then."""
    found: dict[str, Any] = {}

    async def there() -> bool:
        found.update(await rig.status())
        return bool(found["cooldownMs"] >= 600)

    async with agents(rig):
        await until(there, what="the lag to be learned")
    return found


async def reload(rig: Rig, cooldown: str) -> None:
    upstreams = rig.proxy.config["upstreams"]
    rig.proxy.write({"upstreams": {**upstreams, "up": {**upstreams["up"], "cooldown": cooldown}}})
    assert (await rig.admin.post("/reload")).status == 200


async def kill(rig: Rig) -> None:
    await rig.star("stored")  # writes are made in order, and this one is acknowledged
    await rig.proxy.kill()
    await rig.proxy.restart()


def shown(entry: dict[str, Any]) -> tuple[int, bool]:
    return entry["cooldownMs"], entry.get("cooldownAuto", False)


# --- from the usage count ---


async def test_cooldown_moves_to_the_lag_of_the_providers_count(start: Starter) -> None:
    rig = await start({"up": LEARNS})
    lagging(rig)
    assert shown(await rig.status()) == (350, True)
    assert "lagMs" not in await rig.status(), "nothing has been learned"
    entry = await learned(rig)
    assert 600 <= entry["cooldownMs"] <= 1000
    assert (entry["lagMs"], entry["cooldownAuto"]) == (entry["cooldownMs"], True)
    assert 0.6 <= await rig.metric("slotgate_cooldown_seconds", provider=rig.provider) <= 1.0
    listed = (await rig.admin.get("/concurrency/cooldown")).json["cooldowns"]
    assert 600 <= {each["providerId"]: each["cooldownMs"] for each in listed}[rig.provider] <= 1000


async def test_slots_rest_for_as_long_as_was_learned(start: Starter) -> None:
    rig = await start({"up": {**LEARNS, "limit": 1}})
    lagging(rig)
    entry = await learned(rig)
    rig.up.behaviour = short
    await rig.at_rest()
    rig.up.clear()
    for name in "ab":
        await rig.ask(name)
    first, second = await rig.up.take(2)
    await until(lambda: second.done.is_set())
    assert first.ended_at is not None
    assert second.arrived_at - first.ended_at >= entry["cooldownMs"] / 1000 * 0.9


async def test_what_others_use_is_not_taken_for_a_lag(start: Starter) -> None:
    rig = await start({"up": LEARNS})
    usage = lagging(rig, 0.0)

    async def count(call: Call) -> None:
        await call.answer(200, b'{"usage":{"concurrent_sessions":%d}}' % (rig.up.open + 2))

    usage.answer = count
    async with agents(rig):
        await until(lambda: len(usage.polls) >= 30, what="polls while agents ask")
        entry = await rig.status()
    assert entry["cooldownMs"] <= 350 * 1.2


async def test_fixed_cooldown_stays_and_the_lag_is_known_all_the_same(start: Starter) -> None:
    rig = await start({"up": {**LEARNS, "cooldown": "200ms"}})
    usage = lagging(rig)
    async with agents(rig):

        async def known() -> bool:
            return (await rig.status()).get("lagMs", 0) >= 250

        await until(known, what="a lag")
    assert usage.polls
    assert shown(await rig.status()) == (200, False)


# --- who sets it ---


async def test_cooldown_set_by_hand_is_fixed_until_the_file_changes(start: Starter) -> None:
    rig = await start({"up": LEARNS})
    usage = lagging(rig)
    await learned(rig)
    await rig.cooldown(123)
    assert shown(await rig.status()) == (123, False)
    seen = len(usage.polls)
    async with agents(rig):
        await until(lambda: len(usage.polls) >= seen + 20)
    assert shown(await rig.status()) == (123, False)
    await kill(rig)
    assert shown(await rig.status()) == (123, False), "the file still says what it said before"
    assert (await rig.admin.post("/reload")).status == 200
    assert shown(await rig.status()) == (123, False)
    await reload(rig, "1s")
    assert shown(await rig.status()) == (1000, False)
    await reload(rig, "auto")
    assert shown(await rig.status()) == (350, True)
    entry = await learned(rig)
    assert (entry["lagMs"], entry["cooldownAuto"]) == (entry["cooldownMs"], True)


async def test_learned_cooldown_survives_a_kill_and_is_learned_on(start: Starter) -> None:
    rig = await start({"up": LEARNS})
    lagging(rig)
    await learned(rig)
    await rig.at_rest()
    before, _ = shown(await rig.status())
    await kill(rig)
    after, learns = shown(await rig.status())
    assert learns
    assert after == pytest.approx(before, rel=0.12), "what was told last is near enough"
    lagging(rig, 0.0)
    async with agents(rig):
        await until(lambda: rig.up.usage is not None and len(rig.up.usage.polls) >= 15)
    assert (await rig.status())["cooldownMs"] < after, "it goes down again where less is needed"


async def test_auto_in_the_file_replaces_a_number_without_a_restart(start: Starter) -> None:
    rig = await start({"up": {**LEARNS, "cooldown": "80ms"}})
    lagging(rig)
    assert shown(await rig.status()) == (80, False)
    await reload(rig, "auto")
    assert shown(await rig.status()) == (350, True)


# --- from a 429 right after a slot was used again ---


RECYCLES: Options = {"limit": 2, "cooldown": "auto", "pause": {"default": "0s"}}


async def recycled(rig: Rig) -> tuple[Call, Call]:
    """Two in flight, one of them in a slot that was used before: (that one, the other)."""
    for name in ("first", "other"):
        await rig.ask(name)
    calls = await rig.up.take(2)
    await rig.line_up("again")
    await calls[0].answer()
    again = await rig.up.call()
    assert again.name == "again"
    return again, calls[1]


async def test_429_right_after_a_reuse_at_full_load_makes_slots_rest_longer_and_the_next_lowers(start: Starter) -> None:
    rig = await start({"up": RECYCLES})
    events = await rig.events()
    again, other = await recycled(rig)
    await again.answer(429, CONCURRENCY)
    entry = await rig.until_status(cooldownMs=700)
    assert (entry["limit"], entry["autoReduced"], entry["cooldownAuto"], entry["lagMs"]) == (2, False, True, 700)
    assert (entry["lastRateLimit"]["kind"], entry["strikes"]["today"]) == ("concurrency", 1)
    await other.answer(429, CONCURRENCY)
    entry = await rig.until_status(held=0)
    assert (entry["limit"], entry["autoReduced"], entry["strikes"]["today"]) == (2, False, 2), "one burst"
    await rig.at_rest()
    again, other = await recycled(rig)
    await again.answer(429, CONCURRENCY)
    entry = await rig.until_status(autoReduced=True)
    assert (entry["limit"], entry["autoReducedFrom"], entry["cooldownMs"]) == (1, 2, 700)
    assert (await events.until("reduced")).data["limit"] == 1
    await other.answer()


async def test_raised_cooldown_survives_a_kill(start: Starter) -> None:
    rig = await start({"up": RECYCLES})
    again, _ = await recycled(rig)
    await again.answer(429, CONCURRENCY)
    await rig.until_status(cooldownMs=700)
    await kill(rig)
    assert shown(await rig.status()) == (700, True)


@pytest.mark.parametrize(
    ("options", "body"),
    [
        (RECYCLES, b'{"error":{"code":"rate_limit_exceeded","message":"too many requests per min"}}'),
        ({**RECYCLES, "cooldown": "350ms"}, CONCURRENCY),
    ],
    ids=["rate", "fixed cooldown"],
)
async def test_other_429s_after_a_reuse_lower_the_limit_at_once(start: Starter, options: Options, body: bytes) -> None:
    rig = await start({"up": options})
    again, other = await recycled(rig)
    await again.answer(429, body)
    entry = await rig.until_status(autoReduced=True)
    assert (entry["limit"], entry["cooldownMs"], "lagMs" in entry) == (1, 350, False)
    await other.answer()


async def test_429_without_full_load_lowers_the_limit_at_once(start: Starter) -> None:
    rig = await start({"up": {**RECYCLES, "limit": 3}})
    again, other = await recycled_of_three(rig)
    await again.answer(429, CONCURRENCY)
    entry = await rig.until_status(autoReduced=True)
    assert (entry["limit"], entry["cooldownMs"]) == (2, 350)
    await other.answer()


async def recycled_of_three(rig: Rig) -> tuple[Call, Call]:
    await rig.ask("first")
    first = await rig.up.call()
    await first.answer()
    await rig.at_rest()
    for name in ("again", "other"):
        await rig.ask(name)
    again, other = await rig.up.take(2)
    return again, other
