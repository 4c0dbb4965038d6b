# Rate limits that are told in a socket hold the queue as those of answers over HTTP do, and may be absorbed (spec §7).

import pytest
from rawsides.answers import answering, held, waiting
from rawsides.frames import CLOSE, PING, TEXT, create, event, frame, hear, said, socket, text
from rawsides.message import begun, get
from rawsides.rig import becomes

from proxy.web.socket.desk import UNDER_WAY_MAX
from proxy.web.socket.downward import Downward
from proxy.web.socket.socket import Socket

LIMITED = frame(
    text(
        {
            "type": "error",
            "status": 429,
            "error": {"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": "Too many requests"},
            "headers": {"retry-after": "3"},
        }
    )
)
FAILED = event("failed", "r1", about={"error": {"code": "rate_limit_exceeded", "message": "Rate limit reached"}})
BROKEN = frame(text({"type": "error", "status": 400, "error": {"type": "invalid_request_error", "message": "no"}}))
BRIEF = {"limit": 2, "pause": {"default": "50ms", "max": "50ms"}, "auto_reduce": False}


@pytest.mark.parametrize("refusal", [LIMITED, FAILED])
async def test_refusal_pauses_and_reduces_and_reaches_the_client(start, refusal):
    rig = await start({"limit": 2})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    await link.send(refusal)
    assert (await hear(client)).raw == refusal
    await held(rig, 0)
    assert rig.scheduler.limit == 1
    assert rig.scheduler.paused_until_at is not None
    limit = rig.scheduler.last_rate_limit
    assert limit.kind == "rate"
    record = await rig.record()
    assert (record.outcome, record.refused) == ("completed", "rate")
    assert record.status == (429 if refusal is LIMITED else 200)


async def test_wait_that_the_frame_states_is_believed(start):
    rig = await start({"limit": 2})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    await link.send(LIMITED)
    await hear(client)
    assert rig.scheduler.last_rate_limit.retry_after_ms == 3000


async def test_error_that_is_no_limit_holds_nothing(start):
    rig = await start({"limit": 2, "absorb": 2})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    await link.send(BROKEN)
    assert (await hear(client)).raw == BROKEN
    await held(rig, 0)
    assert (rig.scheduler.limit, rig.scheduler.paused_until_at) == (2, None)
    assert (await rig.record()).status == 400


async def test_limit_that_shows_in_the_middle_of_an_answer_is_told_and_passed_on(start):
    rig = await start({"limit": 2, "absorb": 2})
    client, link = await socket(rig)
    await answering(client, link)
    await link.send(LIMITED)
    assert (await hear(client)).raw == LIMITED
    assert rig.scheduler.limit == 1


async def test_limit_of_a_prewarm_has_no_effect(start):
    rig = await start({"limit": 2})
    client, link = await socket(rig)
    await client.send(create(generate=False))
    await hear(link)
    await link.send(LIMITED)
    await hear(client)
    assert (rig.scheduler.limit, rig.scheduler.last_rate_limit) == (2, None)


async def test_refusals_are_absorbed_and_the_message_is_said_again(start):
    rig = await start({**BRIEF, "absorb": 2})
    client, link = await socket(rig)
    asked = create(input="x" * 300)
    await client.send(asked)
    for _ in range(3):
        assert (await hear(link)).raw == asked
        await link.send(frame(b"", PING))
        assert (await hear(client)).opcode == PING, "control frames are not held"
        if _ < 2:
            await link.send(LIMITED)
            await held(rig, 0)
    await link.send(event("created", "r1") + event("completed", "r1"))
    assert (await hear(client)).json["type"] == "response.created"
    assert (await hear(client)).json["type"] == "response.completed"
    record = await rig.record()
    assert (record.absorbed, record.status, record.refused, record.outcome) == (2, 200, "rate", "completed")
    assert len(rig.records) == 1


async def test_last_refusal_is_seen_when_there_is_no_other_try(start):
    rig = await start({**BRIEF, "absorb": 1})
    client, link = await socket(rig)
    await client.send(create())
    for _ in range(2):
        await hear(link)
        await link.send(LIMITED)
    assert (await hear(client)).raw == LIMITED
    record = await rig.record()
    assert (record.absorbed, record.status, record.outcome) == (1, 429, "completed")


async def test_refusal_is_handed_over_when_the_wait_for_another_try_is_over(start):
    rig = await start({"limit": 1, "absorb": 1}, queue={"max_wait": "200ms"})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    await link.send(LIMITED)
    assert (await hear(client)).raw == LIMITED
    assert (await rig.record()).status == 429
    await client.send(said(b"", PING))
    assert (await hear(link)).opcode == PING


async def test_refusal_in_fragments_and_single_bytes_is_absorbed(start):
    rig = await start({**BRIEF, "absorb": 1})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    payload = text({"type": "error", "status": 429, "error": {"code": "rate_limit_exceeded", "message": "m"}})
    raw = frame(payload[:10], TEXT, fin=False) + frame(b"p", PING) + frame(payload[10:], 0)
    for at in range(len(raw)):
        await link.send(raw[at : at + 1])
    assert (await hear(client)).opcode == PING
    assert (await hear(link)).json["type"] == "response.create"
    await link.send(event("completed"))
    assert (await hear(client)).json["type"] == "response.completed"


async def test_refusal_that_is_told_twice_is_absorbed_once(start):
    rig = await start({**BRIEF, "absorb": 2})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    await link.send(LIMITED + FAILED)
    assert (await hear(link)).json["type"] == "response.create"
    await link.send(event("completed", "r2"))
    assert (await hear(client)).json["response"]["id"] == "r2"
    assert (await rig.record()).absorbed == 1


@pytest.mark.parametrize("at", [None, -1, -3])
async def test_upstream_that_refuses_and_says_goodbye_shows_both(start, at):
    rig = await start({"limit": 1, "absorb": 2})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    closing = frame(b"\x03\xf5", CLOSE)
    await link.send((LIMITED + closing)[:at])
    if at is not None:
        await waiting(rig)
        await link.send(closing[at:])
    assert [(await hear(client)).raw, (await hear(client)).raw] == [LIMITED, closing]
    await waiting(rig, 0)
    link.close()
    assert await client.ended() == "fin"


async def test_upstream_that_refuses_and_hangs_up_shows_the_refusal(start):
    rig = await start({"limit": 1, "absorb": 2})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    await link.send(LIMITED)
    await waiting(rig)
    link.close()
    assert (await client.end())[0] == LIMITED


async def test_message_behind_one_that_waits_again_keeps_its_place(start):
    rig = await start({**BRIEF, "absorb": 1})
    client, link = await socket(rig)
    await client.send(create(input="first") + create(input="second"))
    assert (await hear(link)).json["input"] == "first"
    await link.send(LIMITED)
    assert (await hear(link)).json["input"] == "first"
    await link.send(event("created", "r1"))
    assert (await hear(link)).json["input"] == "second"
    await becomes(lambda: rig.scheduler.held == 2)


async def test_what_went_up_behind_it_makes_a_refusal_final(start):
    """Said again, it would stand behind what it stood before."""
    rig = await start({**BRIEF, "absorb": 2})
    client, link = await socket(rig)
    await client.send(create() + said(b'{"type":"x"}'))
    await hear(link), await hear(link)
    await link.send(LIMITED)
    assert (await hear(client)).raw == LIMITED


async def test_answer_is_held_only_until_it_begins(start):
    rig = await start({**BRIEF, "absorb": 2})
    client, link = await socket(rig)
    await answering(client, link)
    whole = event("output_text.delta", delta="x" * 300)
    await link.send(whole[:50])
    assert await client.exactly(50) == whole[:50]


async def test_beginning_that_is_too_long_for_a_refusal_is_not_held(start):
    rig = await start({**BRIEF, "absorb": 2})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    whole = event("created", "r1", instructions="x" * 200_000)
    await link.send(whole[:100_000])
    assert await client.exactly(100_000) == whole[:100_000]
    await link.send(whole[100_000:])
    assert await client.exactly(len(whole) - 100_000) == whole[100_000:]
    await link.send(event("completed", "r1"))
    await hear(client)
    await held(rig, 0)


async def test_client_that_leaves_while_its_message_waits_again_leaves_the_queue(start):
    rig = await start({"limit": 1, "absorb": 2})
    client, link = await socket(rig)
    await client.send(create())
    await hear(link)
    await link.send(LIMITED)
    await waiting(rig)
    client.close()
    await waiting(rig, 0)
    record = await rig.record()
    assert (record.outcome, record.absorbed) == ("abandoned", 1)


async def test_last_event_that_is_too_long_to_be_parsed_ends_its_answer(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await answering(client, link)
    whole = frame(b'{"type":"response.completed","response":{"id":"r1","x":"' + b"y" * 1_500_000 + b'"}}')
    at = 0
    while at < len(whole):
        sent = link.send_what_fits(whole[at : at + 65536])
        assert await client.exactly(sent) == whole[at : at + sent]
        at += sent
    await held(rig, 0)


BUSY = b'{"error":{"type":"rate_limit_error","code":"rate_limit_exceeded","message":"slow down"}}'


async def shaken(rig, answer):
    """A handshake that is answered so, without a switch."""
    client, link = await rig.ask(get("/up/v1/responses", "Connection: Upgrade", "Upgrade: websocket"))
    await link.head()
    await link.send(answer)
    assert await client.exactly(len(answer)) == answer


async def test_handshake_that_is_refused_for_a_limit_pauses_as_any_other_request(start):
    rig = await start({"limit": 3, "auto_reduce": True})
    await shaken(
        rig,
        begun("Retry-After: 7", f"Content-Length: {len(BUSY)}", status="429 Too Many Requests") + BUSY,
    )
    await becomes(lambda: rig.scheduler.paused_until_at is not None, "paused")
    record = await rig.record()
    assert (record.status, record.refused, record.counted, rig.scheduler.held) == (429, "rate", False, 0)


@pytest.mark.parametrize("status", ["401 Unauthorized", "426 Upgrade Required", "500 Internal Server Error"])
async def test_handshake_that_is_refused_for_another_reason_pauses_nothing(start, status):
    rig = await start({"limit": 3})
    await shaken(rig, begun("Content-Length: 2", status=status) + b"no")
    await rig.record()
    assert (rig.scheduler.paused_until_at, rig.scheduler.limit, rig.scheduler.held) == (None, 3, 0)


async def test_so_many_prewarms_go_up_at_the_same_time_and_the_rest_when_one_has_ended(start):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    await client.send(create(generate=False) * (UNDER_WAY_MAX + 1) + said(b"", PING))
    for _ in range(UNDER_WAY_MAX):
        assert (await hear(link)).json["generate"] is False
    assert (await hear(link)).opcode == PING
    await link.send(event("created", "r1") + event("completed", "r1"))
    assert (await hear(link)).json["generate"] is False


async def test_message_in_very_many_fragments_goes_up_in_one_piece_of_work(start, monkeypatch):
    rig = await start({"limit": 1})
    client, link = await socket(rig)
    sent = []
    send = Socket.send
    monkeypatch.setattr(Socket, "send", lambda self, raw: (sent.append(raw), send(self, raw)))
    payload = text({"type": "response.create"})
    raw = said(b"", fin=False) + said(b"", 0, fin=False) * 1000 + said(payload, 0)
    await client.send(raw)
    assert await link.exactly(len(raw)) == raw
    assert sent == [raw]


def test_empty_fragments_of_a_message_take_no_memory():
    class Passed:
        size = 0

        def data(self, data):
            self.size += len(data)

    class Hearer:
        holds = False

        def upstream_moved(self, size):
            pass

        def caught_up(self):
            pass

    relay = Passed()
    down = Downward(relay, Hearer(), relay)
    raw = frame(b"", fin=False) + frame(b"", 0, fin=False) * 1000
    down.data(raw)
    assert (relay.size, down._read) == (len(raw), [])
