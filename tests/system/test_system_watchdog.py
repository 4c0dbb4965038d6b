# The watchdog cuts what is stuck and never what is alive; a cut is seen as one (spec §9).

import asyncio

import pytest
from blackbox.call import Call
from blackbox.client import CUT, RESET
from blackbox.rig import Rig, Starter
from blackbox.waiting import never

UPSTREAMS = {
    "up": {"limit": 1, "cooldown": "0s", "slot_timeout": "2s"},
    "brief": {"limit": 1, "cooldown": "0s", "slot_timeout": None, "max_hold": "2s"},
}
pytestmark = pytest.mark.slow


async def trickle(call: Call, seconds: float) -> None:
    call.begin()
    for _ in range(int(seconds / 0.25)):
        call.event("tick")
        await asyncio.sleep(0.25)


async def test_silent_stream_is_cut_and_its_slot_goes_to_the_next(rig: Rig) -> None:
    """EARLY-04, first case: cut and freed once, never freed while still forwarding."""
    client = await rig.ask("stuck", workspace="w", conversation="conv")
    stuck = await rig.up.call()
    stuck.begin()
    stuck.event("one")
    head = await client.head()
    await rig.line_up("next")
    body, ended = await client.body(head)
    assert body == b"data: one\n\n"
    assert ended in (CUT, RESET), "a cut answer was ended as if it were whole"
    await stuck.stopped()
    assert stuck.ended_at is not None
    assert stuck.ended_at - stuck.arrived_at >= 1.9
    call = await rig.up.call()
    assert call.name == "next"
    assert call.arrived_at >= stuck.ended_at
    await call.answer()
    told = await rig.proxy.logged(lambda line: "reclaim" in str(line.get("event")) and "conv" in line.values())
    assert rig.provider in told.values()


async def test_trickling_stream_lives(rig: Rig) -> None:
    """EARLY-04, second case: every byte is a sign of life, also past the time-out."""
    client = await rig.ask("alive")
    call = await rig.up.call()
    await trickle(call, 5)
    assert not call.gone.is_set()
    await call.finish()
    answer = await client.answer()
    assert (answer.status, answer.ended) == (200, "clean")
    assert answer.body.count(b"tick") == 20


async def test_answer_that_had_not_begun_is_504(rig: Rig) -> None:
    client = await rig.ask("stuck")
    call = await rig.up.call()
    answer = await client.answer()
    assert (answer.status, answer.code) == (504, "reclaimed")
    await call.stopped()
    await rig.in_flight(0)


async def test_only_the_stuck_one_is_reclaimed_and_its_late_end_frees_nobody_else(rig: Rig) -> None:
    """LEAK-14 and DBL-06: the late client of a reclaimed slot cannot release the slot of its successor."""
    await rig.limit(2)
    alive = await rig.ask("alive")
    alive_call = await rig.up.call()
    trickling = asyncio.create_task(trickle(alive_call, 6))
    stuck = await rig.ask("stuck")
    stuck_call = await rig.up.call()
    stuck_call.begin()
    await rig.line_up("successor")
    await stuck_call.stopped()
    successor = await rig.up.call()
    assert successor.name == "successor"
    successor.begin()
    successor_trickling = asyncio.create_task(_tick(successor, 2))
    stuck.rst()
    await rig.line_up("third")
    await never(lambda: len(rig.up.calls) > 3, during=0.3, what="the late end of a reclaimed slot freed another's")
    assert rig.up.peak == 2
    await successor_trickling
    await trickling
    assert not alive_call.gone.is_set()
    await alive_call.finish()
    assert (await alive.answer()).ended == "clean"
    assert (await rig.up.call()).name == "third"


async def _tick(call: Call, seconds: float) -> None:
    for _ in range(int(seconds / 0.25)):
        call.event("tick")
        await asyncio.sleep(0.25)


async def test_client_that_stops_reading_is_cut_and_its_slot_goes_on(rig: Rig) -> None:
    """LEAK-07: what waits for a client that does not read is no progress, however much the upstream pushes."""
    client = await rig.ask("stalled", receive_buffer=4096)
    stalled = await rig.up.call()
    stalled.begin()
    for _ in range(800):
        stalled.say(b"x" * 65536)
    await rig.line_up("next")
    call = await rig.up.call()
    assert call.name == "next"
    await stalled.stopped()
    await call.answer()
    assert await client.closed() in (CUT, RESET)


async def test_slot_is_not_held_longer_than_its_cap_even_while_bytes_flow(rig: Rig) -> None:
    client = await rig.ask("long", target="/brief/v1/messages")
    call = await rig.upstreams["brief"].call()
    trickling = asyncio.create_task(trickle(call, 20))
    head = await client.head()
    _, ended = await client.body(head)
    assert ended in (CUT, RESET)
    await call.stopped()
    assert call.ended_at is not None
    assert call.ended_at - call.arrived_at >= 1.9
    trickling.cancel()
    await asyncio.gather(trickling, return_exceptions=True)
    await rig.in_flight(0, rig.provider_of("brief"))


async def test_silence_is_never_cut_where_the_time_out_is_null(rig: Rig) -> None:
    reply = await rig.admin.get("/config")
    assert reply.json["upstreams"]["brief"]["slot_timeout"] is None


async def test_reclaim_is_counted_and_told_as_an_event(start: Starter) -> None:
    rig = await start({"up": {"limit": 1, "cooldown": "0s", "slot_timeout": "1s"}})
    events = await rig.events()
    await rig.ask("stuck", conversation="conv")
    await (await rig.up.call()).stopped()
    event = await events.until("reclaimed")
    assert (event.data["providerId"], event.data["conversationId"]) == (rig.provider, "conv")
    assert await rig.metric("slotgate_reclaimed_total", provider=rig.provider) == 1
