# A released slot rests, counts while it rests, and its end wakes the queue by itself (spec §6.3).

from blackbox.admin import part
from blackbox.rig import Rig
from blackbox.waiting import never

CLOCKS_S = 0.02  # our clock and the proxy's timer, which counts milliseconds, need not agree to the last of them

UPSTREAMS = {
    "up": {"limit": 1, "cooldown": "0s"},
    "free": {"cooldown": "0s"},
}


async def test_resting_slot_counts_as_in_flight_and_its_end_wakes_the_next(rig: Rig) -> None:
    await rig.cooldown(400)
    await rig.ask("a")
    first = await rig.up.call()
    await rig.line_up("b")
    await first.answer()
    entry = await rig.until_status(cooling=1, held=0)
    assert (entry["inFlight"], entry["queued"]) == (1, 1)
    assert [slot["phase"] for slot in (await rig.slots())["slots"]] == ["cooling"]
    second = await rig.up.call()
    assert first.ended_at is not None
    assert 0.4 - CLOCKS_S <= second.arrived_at - first.ended_at < 5
    await second.answer()
    await rig.until_status(cooling=1)
    await rig.until_status(cooling=0, held=0)


async def test_newcomer_waits_for_the_end_of_a_rest(rig: Rig) -> None:
    await rig.cooldown(300)
    client = await rig.ask("a")
    first = await rig.up.call()
    await rig.finish(first, client)
    await client.request("POST", "/up/v1/messages", [("x-name", "b")], b"{}")
    second = await rig.up.call()
    assert first.ended_at is not None
    assert second.arrived_at - first.ended_at >= 0.3 - CLOCKS_S
    await second.answer()


async def test_each_slot_rests_on_its_own(rig: Rig) -> None:
    await rig.limit(2)
    await rig.cooldown(500)
    await rig.ask("a")
    await rig.ask("b")
    a, b = await rig.up.take(2)
    await rig.line_up("c", "d")
    await a.answer()
    await never(lambda: len(rig.up.calls) > 2, during=0.25)
    await b.answer()
    c, d = await rig.up.take(2)
    assert a.ended_at is not None
    assert b.ended_at is not None
    assert c.arrived_at - a.ended_at >= 0.5 - CLOCKS_S
    assert d.arrived_at - b.ended_at >= 0.5 - CLOCKS_S
    assert d.arrived_at - c.arrived_at > 0.1, "the second rest ended with the first"
    await c.answer()
    await d.answer()


async def test_changed_cooldown_applies_to_slots_released_from_then_on(rig: Rig) -> None:
    await rig.limit(2)
    await rig.cooldown(2_000)
    await rig.ask("a")
    await rig.ask("b")
    a, b = await rig.up.take(2)
    await a.answer()
    await rig.until_status(cooling=1)
    await rig.cooldown(0)
    await b.answer()
    entry = await rig.until_status(held=0)
    assert (entry["cooling"], entry["cooldownMs"]) == (1, 0), "the new cooldown ended an old rest"
    await rig.ask("c")
    await rig.ask("d")
    c, d = await rig.up.take(2)
    assert a.ended_at is not None
    assert c.arrived_at - a.ended_at < 2, "the slot without a rest was not free"
    assert d.arrived_at - a.ended_at >= 2
    await c.answer()
    await d.answer()


async def test_cooldown_of_a_provider_without_a_limit_is_kept_and_makes_no_limit(rig: Rig) -> None:
    provider = rig.provider_of("free")
    await rig.cooldown(300, provider)
    assert (await rig.admin.get(f"/concurrency/cooldown/{part(provider)}")).json == {
        "providerId": provider,
        "cooldownMs": 300,
    }
    assert (await rig.admin.get(f"/concurrency/limits/{part(provider)}")).status == 404
    assert (await rig.admin.get(f"/concurrency/status/{part(provider)}")).status == 404
    free = rig.upstreams["free"]
    await rig.limit(1, provider)
    await rig.ask("a", target="/free/v1/messages")
    first = await free.call()
    await rig.ask("b", target="/free/v1/messages")
    await rig.queued(1, provider)
    await first.answer()
    second = await free.call()
    assert first.ended_at is not None
    assert second.arrived_at - first.ended_at >= 0.3 - CLOCKS_S
    await second.answer()


async def test_cooldown_is_validated_and_listed(rig: Rig) -> None:
    path = f"/concurrency/cooldown/{part(rig.provider)}"
    for bad in (-1, 600_001, "1", 1.5, True, None):
        reply = await rig.admin.put(path, {"cooldownMs": bad})
        assert (reply.status, "cooldownMs" in reply.json["error"]["message"]) == (400, True), bad
    reply = await rig.admin.put(path, {"cooldownMs": 600_000})
    assert (reply.status, reply.json) == (200, {"providerId": rig.provider, "cooldownMs": 600_000})
    listed = (await rig.admin.get("/concurrency/cooldown")).json["cooldowns"]
    assert {"providerId": rig.provider, "cooldownMs": 600_000} in listed
    await rig.cooldown(0)


async def test_client_that_left_rests_its_slot_too(rig: Rig) -> None:
    """It did reach the upstream, whose books may lag behind."""
    await rig.cooldown(300)
    client = await rig.ask("a")
    first = await rig.up.call()
    await rig.line_up("b")
    client.rst()
    await first.stopped()
    second = await rig.up.call()
    assert first.ended_at is not None
    assert second.arrived_at - first.ended_at >= 0.3 - CLOCKS_S
    await second.answer()
