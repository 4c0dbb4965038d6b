# Both sides speak at once, or one falls silent: answers that begin before the request has ended, requests behind the
# last one, clients that have said all they will say.

import asyncio

import pytest
from ear import Ear
from model import FIN, OPEN, Seen, client_sees, upstream_sees
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request
from rawsides.rig import Rig
from stage import say

UPLOAD = request("PUT", "/up/v1/files", CHUNKED)
HINTS = begun("Link: <a>", status="103 Early Hints")


async def test_interim_answers_arrive_while_the_request_is_still_coming(rig: Rig):
    client, link = await rig.ask(UPLOAD)
    await link.head()
    for part in (chunk(b"one"), chunk(b"two"), b"5;a\r\nth"):
        await client.send(part)
        assert await link.exactly(len(part)) == part
        await link.send(HINTS)
        assert await client.exactly(len(HINTS)) == HINTS
    await client.send(b"ree\r\n" + LAST_CHUNK)
    assert await link.exactly(10) == b"ree\r\n" + LAST_CHUNK
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_answer_and_request_stream_at_the_same_time(rig: Rig):
    client, link = await rig.ask(UPLOAD)
    await link.head()
    await link.send(begun(CHUNKED))
    head = begun(CHUNKED, "Connection: close")  # it is not known yet whether the request will end
    assert await client.exactly(len(head)) == head
    for number in range(20):
        part = chunk(b"%d" % number)
        for source, target in ((client, link), (link, client)):
            await source.send(part)
            assert await target.exactly(len(part)) == part
    for source, target in ((client, link), (link, client)):
        await source.send(LAST_CHUNK)
        assert await target.exactly(len(LAST_CHUNK)) == LAST_CHUNK
    assert await Ear(client).hear(0, to_its_end=True) == Seen(b"", FIN)


LAST = [get("/up/x", "Connection: close"), post("/up/x", b"{}", "connection: a,CLOSE"), b"GET /up/x HTTP/1.0\r\n\r\n"]
WHOLE = [answer(b"ok"), begun(CHUNKED) + chunk(b"ok") + LAST_CHUNK, begun(status="204 x")]
UNTIL_THE_END = begun("X-A: b") + b"ok"


@pytest.mark.parametrize(
    ("message", "told", "ends"),
    [
        *((message, told, OPEN) for message in LAST for told in WHOLE),
        *((message, UNTIL_THE_END, FIN) for message in (*LAST, get("/up/x"), post("/up/x", b"{}"))),
    ],
)
async def test_what_is_behind_the_last_request_is_nobodys(rig: Rig, message: bytes, told: bytes, ends: str):
    client, link = await rig.ask(message + get("/up/behind") + post("/up/behind", b"body"))
    expected = upstream_sees(message, rig.upstream.authority.encode())
    assert await link.exactly(len(expected)) == expected
    await say(link, told, 0, ends)
    assert await Ear(client).hear(0, to_its_end=True) == client_sees(told, ends, message)
    assert link.unheard() == 0
    assert rig.upstream.was_left_alone()


@pytest.mark.parametrize("message", [get("/up/x"), post("/up/x", b"{}"), b"GET /up/x HTTP/1.0\r\n\r\n"])
@pytest.mark.parametrize("ends", [OPEN, FIN])
@pytest.mark.parametrize("told", [answer(b"ok"), begun(CHUNKED) + chunk(b"ok") + LAST_CHUNK, begun("X-A: b") + b"ok"])
async def test_client_that_half_closes_gets_its_answer(rig: Rig, message: bytes, told: bytes, ends: str):
    """As if it had said that this request is its last."""
    client = await rig.client()
    await client.send(message)
    client.fin()
    link = await rig.upstream.link()
    expected = upstream_sees(message, rig.upstream.authority.encode())
    assert await link.exactly(len(expected)) == expected
    ends = FIN if told.endswith(b"b\r\n\r\nok") else ends
    await say(link, told, 0, ends)
    last = message.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n")
    assert await Ear(client).hear(0, to_its_end=True) == client_sees(told, ends, last)


@pytest.mark.parametrize("size", [100, 60_000, 300_000])
@pytest.mark.parametrize("last", [*LAST, get("/up/x")])
async def test_slow_client_gets_its_last_answer_whatever_it_has_sent_behind(rig: Rig, last: bytes, size: int):
    """RFC 9112 9.6: closing with bytes unread would reset the answer out of its hands."""
    client = await rig.client(receive_buffer=4096)
    sending = asyncio.create_task(say(client, last + post("/up/behind", b"x" * size), 0))
    link = await rig.upstream.link()
    await link.exactly(len(upstream_sees(last, rig.upstream.authority.encode())))
    told = begun("X-A: b") + b"z" * 400_000
    answering = asyncio.create_task(say(link, told, 0, FIN))
    seen = await Ear(client).hear(0, to_its_end=True)
    assert seen == client_sees(told, FIN, last), (len(seen.data), seen.ended)
    client.close()
    await asyncio.gather(sending, answering, return_exceptions=True)
