# What has come in one turn of the event loop counts before the client leaves in the same turn; what is over counts no
# more, though nobody waited for its end.

import asyncio

import pytest
from rawsides.message import CHUNKED, answer, begun, chunk, post
from rawsides.rig import becomes

TOKEN = chunk(b'data: {"x":1}\n\n')
DONE = chunk(b"data: [DONE]\n\n")
REFUSAL = chunk(b'data: {"type":"error","error":{"type":"rate_limit_error","message":"too many requests"}}\n\n')


async def asked(rig):
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    return client, link


async def streaming(rig):
    client, link = await asked(rig)
    await link.send(begun(CHUNKED, "Content-Type: text/event-stream") + TOKEN)
    await client.until(TOKEN)
    return client, link


async def test_final_event_that_came_before_the_client_left_is_a_success(start):
    rig = await start({"limit": 2})
    client, link = await streaming(rig)
    link.sock.send(DONE)
    client.close()
    await asyncio.sleep(0.05)  # both are here; the upstream's end is read for up to a second
    link.sock.send(b"0\r\n\r\n")
    record = await rig.record()
    assert (record.outcome, record.bytes >= len(TOKEN + DONE)) == ("completed", True)


@pytest.mark.parametrize("first", ["client", "upstream"])
async def test_refusal_that_came_before_the_connection_was_closed_is_noticed(start, first):
    rig = await start({"limit": 2})
    client, link = await streaming(rig)
    if first == "client":
        client.close()
        link.sock.send(REFUSAL)
    else:
        link.sock.send(REFUSAL)
        client.close()
    assert (await rig.record()).refused == "rate"


@pytest.mark.parametrize("by", ["operator", "watchdog"])
async def test_refusal_that_came_before_its_slot_was_taken_back_holds_who_waits(start, by):
    rig = await start({"limit": 1, "pause": {"default": "5s"}, "auto_reduce": False, "max_hold": "10m"})
    await streaming(rig)
    waiter = await rig.client()
    await waiter.send(post("/up/", b"{}"))
    await becomes(lambda: len(rig.scheduler.waiting) == 1, "one waits")
    (slot,) = rig.scheduler.slots()
    slot.holder.exchange.data(REFUSAL)  # as the socket would tell it
    if by == "operator":
        rig.admission.reclaim(slot)
    else:
        slot.granted_at -= 3600
        rig.admission.watch()
    assert rig.scheduler.paused_until_at is not None
    assert (rig.scheduler.held, len(rig.scheduler.waiting)) == (0, 1)


async def test_absorbed_overload_rests_though_a_pause_has_just_ended(start):
    rig = await start({"limit": 2, "absorb": 1})
    client, link = await asked(rig)
    now = rig.runtime.clock.now
    rig.admission.apply(rig.scheduler.pause(now() + 0.1, now()))
    await asyncio.sleep(0.115)
    refused_at = now()
    await link.send(answer(b"", status="529 Overloaded"))
    await link.until(b"{}")
    assert now() - refused_at >= 0.45
    await link.send(answer(b"ok"))
    await client.until(b"ok")


async def test_evidence_and_status_do_not_count_slots_whose_rest_is_over(start):
    rig = await start({"limit": 3, "cooldown": "100ms"})
    first, link = await asked(rig)
    second, other = await asked(rig)
    await link.send(answer(b"ok"))
    await first.until(b"ok")
    await asyncio.sleep(0.115)
    assert rig.admission.snapshot().in_flight == 1
    await other.send(answer(b"", "Retry-After: 1", status="429 Too Many Requests"))
    await second.head()
    assert [seen.in_flight for seen in rig.admission.snapshot().evidence] == [1]
