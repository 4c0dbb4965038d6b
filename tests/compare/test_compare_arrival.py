# When it arrives: every piece of either body before the next one is sent.

import pytest
from ear import Ear
from model import Seen
from rawsides.message import CHUNKED, LAST_CHUNK, begun, chunk, get, post, request
from rawsides.rig import Rig

EVENTS = [b"event: a\ndata: %d\n\n" % number for number in range(20)] + [b": ping\n\n", b"data: [DONE]\n\n"]
HALVES = [b"5", b";a=b\r", b"\n", b"he", b"llo\r\n", b"0\r\n", b"X-T: u", b"\r\n", b"\r\n"]


@pytest.mark.parametrize("asked", [get("/up/x"), post("/up/v1/messages", b"{}"), b"GET /up/x HTTP/1.0\r\n\r\n"])
@pytest.mark.parametrize("framing", [CHUNKED, "Content-Length: 100000", "X-Framed: by the end"])
async def test_every_event_arrives_before_the_next_is_sent(rig: Rig, asked: bytes, framing: str):
    client, link = await rig.ask(asked)
    await link.head()
    await link.send(begun("Content-Type: text/event-stream", framing))
    await client.head()
    ear, bare = Ear(client), asked.endswith(b"1.0\r\n\r\n")
    for event in EVENTS:
        piece = chunk(event) if framing == CHUNKED else event
        await link.send(piece)
        expected = event if bare else piece
        assert await ear.hear(len(expected)) == Seen(expected)


async def test_every_part_of_a_chunk_arrives_before_the_next_is_sent(rig: Rig):
    client, link = await rig.ask(get("/up/x"))
    await link.head()
    await link.send(begun(CHUNKED))
    assert await client.head() == begun(CHUNKED)
    for part in HALVES:
        if part in (b"5", b";a=b\r", b"\n", b"he", b"llo\r\n", b"0\r\n", b"X-T: u", b"\r\n"):
            await link.send(part)
            assert await client.exactly(len(part)) == part


async def test_every_part_of_an_upload_arrives_before_the_next_is_sent(rig: Rig):
    client, link = await rig.ask(request("PUT", "/up/v1/files", CHUNKED))
    await link.head()
    for part in (*HALVES[:5], chunk(b"x"), *HALVES[5:], LAST_CHUNK[:0]):
        await client.send(part)
        assert await link.exactly(len(part)) == part
