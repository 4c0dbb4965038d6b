# A client that leaves, by FIN or RST, in each phase of its request: its upstream connection ends at once, and its slot
# is free (spec §6.3, §6.4, §10).

import zlib

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request
from rawsides.rig import becomes

from proxy.web import passage

GONE = ("fin", "rst")
by_fin_and_rst = pytest.mark.parametrize("leave", ["close", "reset"])


@by_fin_and_rst
async def test_while_its_body_is_read(rig, leave):
    client = await rig.client()
    await client.send(request("POST", "/up/", "Content-Length: 2000000") + b"x" * 1_000_000)
    await becomes(lambda: rig.forwarder._budget.used == 1_000_000)
    getattr(client, leave)()
    assert (await rig.record()).outcome == "abandoned"
    assert rig.upstream.was_left_alone()


@by_fin_and_rst
@pytest.mark.parametrize("size", [2, 3_000_000])
async def test_while_it_waits_for_a_slot(start, leave, size):
    """WAIT-11: whatever the size of its body."""
    rig = await start({"limit": 1})
    holder, link = await rig.ask(post("/up/held", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(post("/up/left", b"x" * size))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    getattr(client, leave)()
    await becomes(lambda: not rig.scheduler.waiting)
    assert (await rig.record()).outcome == "abandoned"
    await link.send(answer(b"ok"))
    await holder.until(b"ok")
    assert rig.upstream.was_left_alone()
    await holder.send(post("/up/next", b"{}"))
    assert (await link.head()).startswith(b"POST /next ")


@by_fin_and_rst
async def test_while_its_upstream_is_dialled(start, leave):
    """The connection is there, but its handshake does not end."""
    rig = await start({"limit": 1}, scheme="https")
    client, link = await rig.ask(post("/up/", b"{}"))
    assert rig.scheduler.held == 1
    getattr(client, leave)()
    assert (await link.end())[1] in GONE
    assert (await rig.record()).outcome == "abandoned"
    assert rig.scheduler.in_flight == 0


@by_fin_and_rst
async def test_before_the_answer_begins(start, leave):
    """LEAK-10."""
    rig = await start({"limit": 1, "cooldown": "10s"})
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    getattr(client, leave)()
    assert await link.ended() in GONE
    record = await rig.record()
    assert (record.outcome, record.status) == ("abandoned", None)
    assert (rig.scheduler.held, rig.scheduler.cooling) == (0, 1)


@by_fin_and_rst
@pytest.mark.parametrize("head", [begun(CHUNKED), begun("Content-Length: 100"), begun()])
async def test_in_the_middle_of_the_answer(start, leave, head):
    rig = await start({"limit": 1})
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(head + chunk(b"data: 1\n\n"))
    await client.until(b"data: 1\n\n")
    getattr(client, leave)()
    assert await link.ended() in GONE
    record = await rig.record()
    assert (record.outcome, record.status) == ("abandoned", 200)


@by_fin_and_rst
async def test_while_the_upstream_pushes_and_it_does_not_read(start, leave):
    """LEAK-06."""
    rig = await start({"limit": 1})
    client, link = await rig.ask(post("/up/", b"{}"), receive_buffer=4096)
    await link.until(b"{}")
    await link.send(begun(f"Content-Length: {10**12}"))
    (connection,) = rig.listener.connections
    piece = b"x" * 65536

    def full() -> bool:
        link.send_what_fits(piece)
        return not connection.writable

    await becomes(full)
    getattr(client, leave)()
    assert await link.ended() in GONE
    assert (await rig.record()).outcome == "abandoned"


@by_fin_and_rst
async def test_while_it_uploads(rig, leave):
    client, link = await rig.ask(request("PUT", "/up/", CHUNKED) + chunk(b"part"))
    await link.until(chunk(b"part"))
    getattr(client, leave)()
    rest, _ = await link.end()
    assert not rest.endswith(LAST_CHUNK)
    assert (await rig.record()).outcome == "abandoned"


@by_fin_and_rst
async def test_while_an_uncounted_answer_comes(rig, leave):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(begun(CHUNKED) + chunk(b"part"))
    await client.until(b"part")
    getattr(client, leave)()
    assert await link.ended() in GONE


async def test_two_clients_that_leave_at_once_free_two_slots(start):
    rig = await start({"limit": 2})
    one, link_one = await rig.ask(post("/up/", b"{}"))
    two, link_two = await rig.ask(post("/up/", b"{}"))
    one.reset()
    two.reset()
    for link in (link_one, link_two):
        await link.end()
    await becomes(lambda: rig.scheduler.in_flight == 0)


# --- after the final event: a success, not a cancel (spec §6.3) ---

FINAL = [
    b"data: [DONE]\n\n",
    b"data:[DONE]\n\n",
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    b'event: response.completed\ndata: {"type":"response.completed"}\n\n',
    b'data: {"type":"response.completed","response":{}}\n\n',
    b'data: {"type": "message_stop"}\n\n',
    b'event: message_stop\r\ndata: {"type":"message_stop"}\r\n\r\n',
    b'data: {"response":{},"type":"response.incomplete"}\n\n',
    b'data: {"candidates":[{"finishReason":"STOP"}]}\n\n',
    b"data: [DONE]\n\n: and a comment\n\n",
]
WORDS = [  # SSE-12: in content they end nothing
    b'data: {"delta":"data: [DONE]"}\n\n',
    b'data: {"delta":"\\n\\ndata: [DONE]\\n\\n"}\n\n',
    b'data: {"delta":"event: message_stop"}\n\n',
    b'data: {"delta":{"type":"message_stop"}}\n\n',
    b'data: {"choices":[{"finish_reason":"stop"}]}\n\n',
]
STREAM = "Content-Type: text/event-stream"


async def noticed(rig) -> None:
    """The proxy knows that its only client has left."""
    await becomes(lambda: all(request.gone for request in rig.listener.serving()))


async def after(rig, events: bytes, leave: str):
    """An answer with `events`, after which its client leaves: the upstream's side."""
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + chunk(b"data: 1\n\n") + chunk(events))
    await client.until(chunk(events))
    getattr(client, leave)()
    return link


@by_fin_and_rst
@pytest.mark.parametrize("event", FINAL, ids=repr)
async def test_after_the_final_event_the_upstream_may_end_and_is_used_again(start, leave, event):
    rig = await start({"limit": 1})
    link = await after(rig, event, leave)
    await noticed(rig)
    assert rig.scheduler.held == 1
    await link.send(LAST_CHUNK)
    assert (await rig.record()).outcome == "completed"
    client = await rig.client()
    await client.send(post("/up/next", b"{}"))
    assert (await link.head()).startswith(b"POST /next ")


@pytest.mark.parametrize("at", range(1, len(b"data: [DONE]\n\n")))
@pytest.mark.asyncio(loop_factories=["uvloop"])
async def test_final_event_in_two_pieces_is_one(rig, at):
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(begun() + b"data: [DONE]\n\n"[:at])
    await client.until(b"data: [DONE]\n\n"[:at])
    await link.send(b"data: [DONE]\n\n"[at:])
    await client.until(b"data: [DONE]\n\n"[at:])
    client.close()
    await noticed(rig)
    link.close()
    assert (await rig.record()).outcome == "completed"


async def left_after(rig, parts, *lines: str) -> str:
    """How a request ended whose client has left after an answer in these parts, each a chunk."""
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED, *lines))
    await client.head()
    for part in parts:
        await link.send(chunk(part))
        await client.exactly(len(chunk(part)))
    client.close()
    await noticed(rig)
    link.close()  # without the last chunk, which nobody misses
    return (await rig.record()).outcome


DELTA = b'data: {"choices":[{"delta":{"content":"hello"}}]}\n\n'


@pytest.mark.parametrize("at", range(1, len(FINAL[3])))
@pytest.mark.asyncio(loop_factories=["uvloop"])
async def test_final_event_in_two_chunks_is_one(rig, at):
    """What is between chunks is in no line of the stream."""
    assert await left_after(rig, [DELTA, FINAL[3][:at], FINAL[3][at:]], STREAM) == "completed"


async def test_final_event_in_chunks_of_a_byte_is_one(rig):
    ones = [FINAL[0][at : at + 1] for at in range(len(FINAL[0]))]
    assert await left_after(rig, [DELTA, *ones], STREAM) == "completed"


async def test_what_follows_the_final_event_in_a_chunk_of_its_own_takes_nothing_back(rig):
    assert await left_after(rig, [DELTA, DELTA, FINAL[4], b": ping\n\n"], STREAM) == "completed"


async def test_final_event_of_256_kib_is_one(rig):
    """Codex closes on response.completed, which repeats all that was asked and said."""
    long = b'event: response.completed\ndata: {"type":"response.completed","response":{"a":"%s"}}\n\n' % (
        b"x" * 300_000
    )
    parts = [long[at : at + 60_000] for at in range(0, len(long), 60_000)]
    assert await left_after(rig, [DELTA, *parts], STREAM) == "completed"


@pytest.mark.parametrize(("event", "outcome"), [(FINAL[0], "completed"), (DELTA, "abandoned")])
async def test_final_event_in_a_packed_stream_is_read_in_a_copy(rig, event, outcome):
    packer = zlib.compressobj(wbits=31)
    parts = [packer.compress(each) + packer.flush(zlib.Z_SYNC_FLUSH) for each in (DELTA, DELTA, event)]
    assert await left_after(rig, parts, STREAM, "Content-Encoding: gzip") == outcome


async def test_client_that_leaves_an_answer_in_an_unknown_coding_has_given_up(rig):
    assert await left_after(rig, [DELTA, FINAL[0]], STREAM, "Content-Encoding: compress") == "abandoned"


async def test_array_of_gemini_is_over_with_a_finish_reason(rig):
    parts = [b'[{"candidates":[{"content":{}}]}\n', b',\r\n{"candidates":[{"finishReason":"STOP"}]}']
    assert await left_after(rig, parts, "Content-Type: application/json") == "completed"


@pytest.mark.parametrize("words", WORDS, ids=repr)
async def test_the_same_words_in_content_end_nothing(rig, words):
    link = await after(rig, words, "close")
    assert await link.ended() in GONE
    assert (await rig.record()).outcome == "abandoned"


async def test_upstream_that_does_not_end_after_the_final_event_is_closed(start, monkeypatch):
    monkeypatch.setattr(passage, "LAST_WORDS_S", 0.05)
    rig = await start({"limit": 1})
    link = await after(rig, FINAL[0], "close")
    assert await link.ended() in GONE
    assert (await rig.record()).outcome == "completed"


async def test_last_words_of_an_answer_that_ended_do_not_close_the_next_one(start, monkeypatch):
    monkeypatch.setattr(passage, "LAST_WORDS_S", 0.05)
    rig = await start({"limit": 1})
    link = await after(rig, FINAL[0], "close")
    await noticed(rig)
    await link.send(LAST_CHUNK)
    await rig.record()
    client = await rig.client()
    await client.send(post("/up/next", b"{}"))
    await link.until(b"{}")
    other = await after(rig_without_limit := await start(), FINAL[0], "close")
    assert await other.ended() in GONE  # by now the first one's time is over, too
    assert rig_without_limit.records
    await link.send(answer(b"next"))
    await client.until(b"next")
