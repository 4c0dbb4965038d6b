# A slot for each answer of a socket: asked for with the message, given back with the event that ends it (spec §10).

import pytest
from rawsides.answers import answering, held, waiting
from rawsides.frames import BINARY, CLOSE, CODEX, PING, PONG, TEXT, create, event, frame, hear, said, socket, text
from rawsides.message import begun, get, post

ENDS = ["completed", "failed", "incomplete", "cancelled", "done"]


@pytest.mark.parametrize("lines", [[CODEX], []])
async def test_the_socket_itself_takes_no_slot(start, lines):
    rig = await start({"limit": 1})
    await socket(rig, *lines)
    await socket(rig, *lines)
    assert rig.scheduler.held == 0


async def test_codex_is_known_by_its_header_whatever_the_path(start):
    rig = await start({"limit": 1})
    await socket(rig, CODEX, target="/up/elsewhere")
    assert rig.scheduler.held == 0
    await socket(rig, target="/up/elsewhere")
    assert rig.scheduler.held == 1


async def test_compression_is_not_offered_to_the_upstream(rig):
    _, link = await rig.ask(
        get(
            "/up/v1/responses",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Extensions: permessage-deflate",
            "Sec-WebSocket-Version: 13",
        )
    )
    head = await link.head()
    assert b"xtensions" not in head
    assert b"Sec-WebSocket-Version: 13\r\n" in head


async def test_refused_handshake_is_passed_on(rig):
    client, link = await rig.ask(get("/up/v1/responses", "Connection: Upgrade", "Upgrade: websocket"))
    await link.head()
    refused = begun("Retry-After: 3", "Content-Length: 2", status="429 Too Many Requests") + b"no"
    await link.send(refused)
    assert await client.exactly(len(refused)) == refused


@pytest.mark.parametrize("end", ENDS)
async def test_slot_is_held_from_the_message_to_the_event_that_ends_its_answer(start, end):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    asked = create(input="a")
    await client.send(asked)
    assert (await hear(link)).raw == asked
    assert rig.scheduler.held == 1
    for said_back in (event("created", "r1"), event("output_text.delta", delta="x"), event(end, "r1")):
        assert rig.scheduler.held == 1
        await link.send(said_back)
        assert (await hear(client)).raw == said_back
    await held(rig, 0)
    await client.send(create())
    await hear(link)
    assert rig.scheduler.held == 1


async def test_next_message_waits_for_a_slot_and_goes_up_as_it_came(start):
    rig = await start({"limit": 1})
    first, link = await socket(rig)
    await answering(first, link)
    second, other = await socket(rig)
    asked = create(input="second", previous_response_id="r9")
    await second.send(asked)
    await waiting(rig)
    await link.send(event("completed", "r1"))
    assert (await hear(other)).raw == asked


async def test_http_and_sockets_wait_in_one_queue(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    plain = await rig.client()
    await plain.send(post("/up/v1/responses", b"{}"))
    await waiting(rig)
    await link.send(event("completed", "r1"))
    assert (await (await rig.upstream.link()).head()).startswith(b"POST ")


async def test_older_prompt_goes_first_whichever_socket_is_older(start):
    rig = await start({"limit": 1})
    running, link = await socket(rig)
    await answering(running, link)
    sides = []
    for start_ms in (3000, 1000, 2000):
        client, side = await socket(rig, f"X-Slotgate-Prompt-Started-At: {1_700_000_000_000 + start_ms}")
        await client.send(create(input=str(start_ms)))
        sides.append((start_ms, side))
        await waiting(rig, len(sides))
    order = []
    ended = link
    for start_ms in (1000, 2000, 3000):
        await ended.send(event("completed"))
        ended = dict(sides)[start_ms]
        order.append((await hear(ended)).json["input"])
    assert order == ["1000", "2000", "3000"]


async def test_prewarm_takes_no_slot(start):
    rig = await start({"limit": 1})
    running, link = await socket(rig)
    await answering(running, link)
    client, other = await socket(rig)
    asked = create(generate=False)
    await client.send(asked)
    assert (await hear(other)).raw == asked
    assert (rig.scheduler.held, len(rig.scheduler.waiting)) == (1, 0)


async def test_end_of_a_prewarm_is_not_the_end_of_the_answer_behind_it(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await client.send(create(generate=False) + create())
    await hear(link), await hear(link)
    for back in (event("created", "r1"), event("completed", "r1"), event("created", "r2")):
        await link.send(back)
        await hear(client)
    assert rig.scheduler.held == 1
    await link.send(event("completed", "r2"))
    await held(rig, 0)


async def test_what_comes_behind_a_waiting_message_waits_too_and_pings_pass(start):
    rig = await start({"limit": 1})
    running, link = await socket(rig)
    await answering(running, link)
    client, other = await socket(rig)
    behind = said(text('{"type":"session.update"}')), said(b"\x00\xff", BINARY)
    await client.send(create() + behind[0])
    await waiting(rig)
    await client.send(said(b"p", PING) + behind[1])
    assert (await hear(other)).opcode == PING
    await other.send(frame(b"p", PONG))
    assert (await hear(client)).opcode == PONG
    assert other.unheard() == 0
    await link.send(event("completed", "r1"))
    assert (await hear(other)).json["type"] == "response.create"
    assert [(await hear(other)).raw, (await hear(other)).raw] == list(behind)


async def test_message_in_fragments_goes_up_in_the_same_fragments(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    payload = text({"type": "response.create", "input": "é" * 100})
    parts = [
        said(payload[:20], TEXT, fin=False),
        said(payload[20:50], 0, fin=False),
        said(b"", 0, fin=False),
        said(payload[50:], 0),
    ]
    await client.send(parts[0] + parts[1])
    await client.send(said(b"ping", PING))
    assert (await hear(link)).payload == b"ping"
    await client.send(parts[2] + parts[3])
    assert [(await hear(link)).raw for _ in parts] == parts
    assert rig.scheduler.held == 1


async def test_every_byte_may_come_alone(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    asked, back = create(input="x" * 200), event("completed", "r1")
    for side, other, whole in ((client, link, asked), (link, client, back)):
        for at in range(len(whole)):
            await side.send(whole[at : at + 1])
        assert (await hear(other)).raw == whole
    await held(rig, 0)


async def test_bytes_of_the_upstream_pass_before_their_frame_is_whole(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    whole = event("output_text.delta", delta="x" * 300)
    await link.send(whole[:50])
    assert await client.exactly(50) == whole[:50]
    await link.send(whole[50:])
    assert await client.exactly(len(whole) - 50) == whole[50:]


async def test_words_of_a_model_end_nothing(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    for back in (
        event("output_text.delta", delta='{"type":"response.completed"}'),
        event("output_item.done", item={"type": "error"}),
        frame(b"\xff\xfe", BINARY),
    ):
        await link.send(back)
        await hear(client)
    assert rig.scheduler.held == 1


async def test_error_that_does_not_call_itself_one_ends_an_answer_that_has_not_begun(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    await link.send(frame(text({"error": {"message": "no"}})))
    assert "error" in (await hear(client)).json
    await held(rig, 0)


async def test_answers_of_two_streams_are_told_apart(start):
    rig = await start({"limit": 2})
    client, link = await socket(rig)
    for stream, response in (("a", "r1"), ("b", "r2")):
        await client.send(create(stream_id=stream))
        await hear(link)
        await link.send(event("created", response, stream_id=stream))
        await hear(client)
    assert rig.scheduler.held == 2
    first, second = rig.scheduler.holding()
    await link.send(event("completed", "r2", stream_id="b"))
    await held(rig, 1)
    assert rig.scheduler.holding() == [first]
    await link.send(frame(text({"type": "error", "stream_id": "a", "error": {"message": "no"}})))
    await held(rig, 0)
    assert second.held is False


async def test_record_of_each_answer_and_of_the_socket(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig, "session-id: s1", target="/~proj/up/v1/responses?key=secret")
    await answering(client, link)
    await link.send(event("completed", "r1"))
    record = await rig.record()
    assert (record.method, record.path, record.workspace, record.conversation) == ("GET", "/v1/responses", "proj", "s1")
    assert (record.status, record.outcome, record.counted, record.upstream) == (200, "completed", True, "up")
    assert record.bytes == len(event("created", "r1") + event("completed", "r1"))
    assert record.first_byte_ms is not None
    client.close()
    whole = await rig.record(2)
    assert (whole.status, whole.counted, whole.ticket_id) == (101, False, None)
    assert len(rig.records) == 2


async def test_slot_shows_what_its_answer_does(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    (slot,) = rig.scheduler.holding()
    assert (slot.phase, slot.bytes, slot.ticket.path) == ("waiting", 0, "/v1/responses")
    await link.send(frame(b"", PING))
    await hear(client)
    assert (slot.phase, slot.bytes) == ("waiting", 0), "a ping is nothing of an answer"
    await link.send(event("created", "r1"))
    await hear(client)
    assert (slot.phase, slot.bytes) == ("streaming", len(event("created", "r1")))


async def test_closing_handshake_passes_both_ways(rig):
    client, link = await socket(rig)
    closing = said(b"\x03\xe8bye", CLOSE)
    await client.send(closing)
    assert (await hear(link)).raw == closing
    await link.send(frame(b"\x03\xe8", CLOSE))
    assert (await hear(client)).opcode == CLOSE
    link.close()
    assert await client.ended() == "fin"


async def test_many_answers_of_one_socket_leave_no_slot_behind(start):
    """LEAK-15: also those that fail on the way."""
    rig = await start({"limit": 2, "auto_reduce": False})
    client, link = await socket(rig)
    for number in range(20):
        response = f"r{number}"
        await client.send(create(input=str(number)))
        assert (await hear(link)).json["input"] == str(number)
        assert rig.scheduler.held == 1
        if number % 3 == 0:
            await link.send(frame(text({"type": "error", "error": {"message": "no"}})))
        else:
            await link.send(event("created", response) + event("failed" if number % 3 == 1 else "completed", response))
            await hear(client)
        await hear(client)
        await held(rig, 0)
    assert [each.outcome for each in rig.records] == ["completed"] * 20
