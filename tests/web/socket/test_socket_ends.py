# How a socket ends, from every side: no slot is lost, and each answer ends in its one record (spec §6.3, §6.4, §9).

import asyncio

import pytest
from rawsides.answers import answering, held, waiting
from rawsides.frames import (
    BINARY,
    CLOSE,
    MASK,
    PING,
    TEXT,
    create,
    event,
    frame,
    hear,
    said,
    socket,
    text,
)
from rawsides.message import get
from rawsides.rig import becomes

from proxy.service.watch import watch_slots

GONE = ("fin", "rst")


async def one_waits(start, **entry):
    """A socket that holds the only slot, and one whose message waits for it."""
    rig = await start({"limit": 1, **entry})
    running, link = await socket(rig)
    await answering(running, link)
    client, other = await socket(rig)
    await client.send(create(input="waits"))
    await waiting(rig)
    return rig, running, link, client, other


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_client_that_leaves_while_its_message_waits_leaves_the_queue(start, how):
    rig, _, link, client, other = await one_waits(start)
    getattr(client, how)()
    await waiting(rig, 0)
    assert await other.ended() in GONE
    await link.send(event("completed", "r1"))
    await held(rig, 0)
    record = next(each for each in rig.records if each.outcome == "abandoned")
    assert (record.counted, record.held_ms) == (True, 0)


async def test_client_that_says_goodbye_while_its_message_waits_leaves_the_queue(start):
    rig, _, _, client, other = await one_waits(start)
    await client.send(said(b"", CLOSE))
    await waiting(rig, 0)
    assert (await hear(other)).opcode == CLOSE


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_client_that_leaves_cuts_the_answer_and_gives_the_slot_back(start, how):
    rig, running, link, _, other = await one_waits(start)
    getattr(running, how)()
    assert await link.ended() in GONE
    assert (await hear(other)).json["input"] == "waits"
    record = next(each for each in rig.records if each.outcome == "abandoned")
    assert (record.counted, record.status) == (True, 200)


async def test_client_that_says_goodbye_in_an_answer_is_not_waited_for_long(start):
    rig, running, link, _, other = await one_waits(start)
    await running.send(said(b"\x03\xe8", CLOSE))
    assert (await hear(link)).opcode == CLOSE
    assert (await hear(other)).json["input"] == "waits"  # though the upstream has not answered
    assert await link.ended() in GONE
    await becomes(lambda: any(each.outcome == "abandoned" for each in rig.records))


async def test_client_that_leaves_after_the_last_event_is_no_cancel(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    await link.send(event("completed", "r1"))
    await hear(client)
    client.close()
    assert await link.ended() in GONE
    await rig.record(2)
    assert [each.outcome for each in rig.records] == ["completed", "completed"]


@pytest.mark.parametrize("how", ["close", "reset", "fin"])
async def test_upstream_that_ends_in_an_answer_shows_as_a_cut(start, how):
    rig, running, link, client, other = await one_waits(start)
    getattr(link, how)()
    assert await running.ended() in GONE, "no close frame"
    assert (await hear(other)).json["input"] == "waits"
    record = await rig.record()
    assert (record.outcome, record.status, record.counted) == ("cut", 200, True)
    assert rig.scheduler.paused_until_at is None, "PAUSE-09: a close is no rate limit"
    await client.send(said(b"", PING))
    assert (await hear(other)).opcode == PING, "the other socket goes on"


@pytest.mark.parametrize("how", ["close", "fin"])
async def test_upstream_that_drops_an_idle_socket_is_seen_by_the_client(rig, how):
    """WS-08."""
    client, link = await socket(rig)
    getattr(link, how)()
    assert await client.ended() == "fin"
    assert (await rig.record()).outcome == "completed"


async def test_upstream_that_says_goodbye_in_an_answer_and_ends_is_gone_at_once(start):
    _, running, link, _, other = await one_waits(start)
    await link.send(frame(b"\x03\xe9", CLOSE))
    link.fin()
    assert (await hear(running)).opcode == CLOSE
    assert await running.ended() in GONE
    assert (await hear(other)).json["input"] == "waits"


async def test_upstream_that_ends_behind_its_goodbye_still_hears_the_clients(rig):
    client, link = await socket(rig)
    await link.send(frame(b"\x03\xe9", CLOSE))
    link.fin()
    assert (await hear(client)).opcode == CLOSE
    assert await client.ended() == "fin"
    await client.send(said(b"\x03\xe9", CLOSE))
    assert (await hear(link)).opcode == CLOSE


async def test_answer_that_the_proxy_cuts_at_its_end_is_not_the_clients_doing(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    for connection in list(rig.listener.connections):
        connection.cut(at_once=True)
    assert (await rig.record()).outcome == "cut"


async def test_upstream_that_says_goodbye_while_a_message_waits_gets_it_not(start):
    rig, _, _, client, other = await one_waits(start)
    closing = frame(b"\x03\xe9later", CLOSE)
    await other.send(closing)
    assert (await hear(client)).raw == closing
    await waiting(rig, 0)
    await client.send(said(b"\x03\xe9", CLOSE))
    assert (await hear(other)).opcode == CLOSE


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (frame(b"hello"), 1002),
        (said(b"hello")[:1].replace(b"\x81", b"\xc1") + said(b"hello")[1:], 1002),
        (frame(b"x" * 126, PING, mask=MASK), 1002),
        (said(b"x", 3), 1002),
        (said(b'{"type":"response.create","input":"\xff"}'), 1007),
    ],
)
async def test_client_that_breaks_the_protocol_is_told_and_cut(start, raw, code):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    await client.send(said(b"a", BINARY) + raw + said(b"b", BINARY))
    assert (await hear(link)).payload == b"a"
    assert await link.ended() in GONE
    closing = await hear(client)
    assert (closing.opcode, int.from_bytes(closing.payload[:2], "big")) == (CLOSE, code)
    client.close()
    await held(rig, 0)
    outcomes = {each.counted: (each.outcome, each.why) for each in [await rig.record(1), await rig.record(2)]}
    assert outcomes[True][0] == "abandoned"
    assert outcomes[False][0] == "cut"
    assert outcomes[False][1].startswith("the client: ")


@pytest.mark.parametrize("raw", [frame(b"hello", mask=MASK), frame(b"hello", bits=0x40), frame(b"", PING, fin=False)])
async def test_upstream_that_breaks_the_protocol_is_told_and_the_client_cut(start, raw):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    await link.send(raw)
    closing = await hear(link)
    assert (closing.opcode, closing.masked, closing.payload[:2]) == (CLOSE, True, (1002).to_bytes(2, "big"))
    assert (await client.end())[1] in GONE
    await held(rig, 0)
    assert {each.outcome for each in [await rig.record(1), await rig.record(2)]} == {"cut"}


# --- the watchdog ---


def watchdog(rig):
    rig.runtime.tasks.start("watch", watch_slots(rig.runtime))


async def test_silent_answer_is_taken_back_though_pings_pass(start):
    rig = await start({"limit": 1, "slot_timeout": "200ms"})
    watchdog(rig)
    client, link = await socket(rig)
    await answering(client, link)

    async def pinging():
        while True:
            await client.send(said(b"", PING))
            await link.send(frame(b"", PING))
            await asyncio.sleep(0.02)

    task = asyncio.create_task(pinging())
    await held(rig, 0)
    await asyncio.wait([task])
    assert (await link.end())[1] in GONE
    assert (await client.end())[1] in GONE
    record = next(each for each in rig.records if each.counted)
    assert (record.outcome, record.status) == ("reclaimed", 200)
    assert task.exception() is not None


async def test_idle_socket_is_never_taken_back(start):
    rig = await start({"limit": 1, "slot_timeout": "50ms"})
    watchdog(rig)
    client, link = await socket(rig)
    await answering(client, link)
    await link.send(event("completed", "r1"))
    await hear(client)
    await asyncio.sleep(0.2)
    await client.send(create())
    assert (await hear(link)).json["type"] == "response.create"


async def test_socket_on_which_nothing_moves_ends_after_tunnel_idle_but_not_in_an_answer(start):
    rig = await start({"limit": 1, "tunnel_idle": "100ms"})
    client, link = await socket(rig)
    await answering(client, link)
    await asyncio.sleep(0.4)
    await link.send(event("completed", "r1"))
    assert (await hear(client)).json["type"] == "response.completed"
    assert await client.ended() in GONE
    assert await link.ended() in GONE


async def test_operator_takes_an_answer_back(start):
    rig, running, link, _, other = await one_waits(start)
    (slot,) = rig.scheduler.holding()
    rig.admission.apply(rig.scheduler.reclaim(slot, rig.runtime.clock.now()))
    assert await link.ended() in GONE
    assert await running.ended() in GONE
    assert (await hear(other)).json["input"] == "waits"
    assert {each.outcome for each in [await rig.record(1), await rig.record(2)]} == {"reclaimed"}


async def test_reader_that_does_not_take_its_answer_is_taken_back(start):
    rig = await start({"limit": 1, "slot_timeout": "300ms"})
    watchdog(rig)
    client, link = await socket(rig)
    await answering(client, link)
    piece = event("output_text.delta", delta="x" * 60_000)
    while rig.scheduler.held:
        link.send_what_fits(piece)
        await asyncio.sleep(0.001)
    await becomes(lambda: any(each.outcome == "reclaimed" for each in rig.records))
    client.close()


# --- the end of the process ---


async def test_idle_sockets_are_told_that_the_proxy_goes(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    rig.forwarder.drain()
    for side, masked in ((client, False), (link, True)):
        closing = await hear(side)
        assert (closing.opcode, closing.masked, closing.payload[:2]) == (CLOSE, masked, (1001).to_bytes(2, "big"))
    link.close()
    assert await client.ended() == "fin"


async def test_answer_under_way_is_finished_before_the_socket_is_told(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    rig.forwarder.drain()
    await link.send(event("output_text.delta", delta="x"))
    assert (await hear(client)).json["delta"] == "x"
    await link.send(event("completed", "r1"))
    assert (await hear(client)).json["type"] == "response.completed"
    assert (await hear(client)).payload[:2] == (1001).to_bytes(2, "big")


async def test_upstream_that_does_not_answer_the_goodbye_is_not_waited_for(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    rig.forwarder.drain()
    await hear(client)
    assert await client.ended() in GONE
    assert (await link.end())[1] in GONE


async def test_message_that_waits_may_be_granted_in_a_drain(start):
    rig, _, link, _, other = await one_waits(start)
    rig.forwarder.drain()
    await link.send(event("completed", "r1"))
    assert (await hear(other)).json["input"] == "waits"


async def test_message_that_comes_in_a_drain_is_refused_in_words(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    rig.forwarder.drain()
    await client.send(create())
    told = (await hear(client)).json
    assert (told["type"], told["status"], told["error"]["code"]) == ("error", 503, "draining")
    await link.send(event("completed", "r1"))
    assert (await hear(client)).json["type"] == "response.completed"


async def test_handshake_in_a_drain_is_refused(start):
    rig = await start({"limit": 1})
    rig.forwarder.drain()
    client = await rig.client()
    await client.send(get("/up/v1/responses", "Connection: Upgrade", "Upgrade: websocket"))
    assert b" 503 " in await client.head()


async def test_text_that_is_no_json_is_the_upstreams_to_judge(rig):
    client, link = await socket(rig)
    for raw in (said(b'{"type":"session.update"'), said(b"\xff\xfe", TEXT), said(text('["response.create"]'))):
        await client.send(raw)
        assert (await hear(link)).raw == raw
    assert rig.scheduler.held == 0


# --- a reload ---


@pytest.mark.parametrize("entry", [{"websocket": "refuse"}, {"provider": "other"}], ids=["refused", "provider"])
async def test_socket_whose_upstream_is_another_now_asks_for_nothing_more(start, entry):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await rig.reconfigure(entry)
    await client.send(create())
    for side in (client, link):
        closing = await hear(side)
        assert (closing.opcode, closing.payload[:2]) == (CLOSE, (1001).to_bytes(2, "big"))
    assert rig.scheduler.held == 0


async def test_answer_under_way_in_a_reload_is_finished_first(start):
    rig = await start({"limit": 2})
    client, link = await socket(rig)
    await answering(client, link)
    await rig.reconfigure({"websocket": "refuse"})
    await client.send(create())
    assert (await hear(client)).json["error"]["code"] == "draining"
    await link.send(event("completed", "r1"))
    assert (await hear(client)).json["type"] == "response.completed"
    assert (await hear(client)).opcode == CLOSE


async def test_reload_that_changes_only_the_limit_changes_nothing_for_a_socket(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await rig.reconfigure({"limit": 3, "tunnel_idle": "1h"})
    await answering(client, link)
    assert rig.scheduler.held == 1
