# Hostile answers behind any hop: what is a 502 to both, and what only we refuse, as HAProxy repairs it or passes it on.
#
# Rule: what is refused is a 502 at once, nothing of it reaches the client, and its connection is closed (spec §10).

import pytest
from rawsides.hop import folded, heard
from rawsides.message import CHUNKED, LAST_CHUNK, get

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

GONE = ("fin", "rst")
OK = b"HTTP/1.1 200 OK\r\n"
END = b"Content-Length: 0\r\n\r\n"
TE = b"Transfer-Encoding: "
CL = b"Content-Length: "

REFUSED_BY_BOTH = [
    b"SSH-2.0-OpenSSH\r\n\r\n",
    b"http/1.1 200 OK\r\n" + END,
    b"ICY 200 OK\r\n" + END,
    b"HTTP/1.1 2x0 OK\r\n" + END,
    b" HTTP/1.1 200 OK\r\n" + END,
    OK + b"X A: b\r\n" + END,
    OK + b"X-A : b\r\n" + END,
    OK + b"X-A\x00: b\r\n" + END,
    OK + b": b\r\n" + END,
    OK + b"no colon\r\n" + END,
    OK + b" X-A: b\r\n" + END,
    OK + b"X-A: b\rX-B: c\r\n" + END,
    OK + CL + b"5\r\n" + CL + b"6\r\n\r\nhello",
    OK + CL + b"5, 6\r\n\r\nhello",
    OK + CL + b"+5\r\n\r\nhello",
    OK + CL + b"-5\r\n\r\nhello",
    OK + CL + b"0x5\r\n\r\nhello",
    OK + CL + b"\r\n\r\nhello",
    OK + CL + b"99999999999999999999\r\n\r\nhello",
    OK + TE + b"gzip, chunked\r\n\r\n" + LAST_CHUNK,
    OK + TE + b"gzip\r\n\r\n",
    OK + TE + b"chunked\r\n" + TE + b"chunked\r\n\r\n" + LAST_CHUNK,
    OK + b"X-A: b\r\n" * 301 + b"\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    b"HTTP/1.1 200 " + b"O" * 310_000,
]

# What we refuse → the head that HAProxy makes of it.
REPAIRED_BY_HAPROXY = [
    (b"HTTP/2.0 200 OK\r\n" + END, OK + END),
    (b"HTTP/1.1  200 OK\r\n" + END, OK + END),
    (b"HTTP/1.1 2000 OK\r\n" + END, b"HTTP/1.1 2000 OK\r\n" + END),
    (b"HTTP/1.1 20 OK\r\n" + END, b"HTTP/1.1 20 OK\r\n\r\n"),
    (b"HTTP/1.1 200 O\x00K\r\n" + END, b"HTTP/1.1 200 O\x00K\r\n" + END),
    (b"HTTP/1.1 200 OK\n" + CL + b"0\n\n", OK + END),
    (OK + b"X-A: b\nX-B: c\r\n" + END, OK + b"X-A: b\r\nX-B: c\r\n" + END),
    (OK + b"X-A: b\r\n folded\r\n" + END, OK + b"X-A: b   folded\r\n" + END),
    (OK + b"X-A: b\x00\r\n" + END, OK + b"X-A: b\x00\r\n" + END),
    (OK + b"X-A: b\x7f\r\n" + END, OK + b"X-A: b\x7f\r\n" + END),
    (OK + CL + b"0\r\n" + END, OK + END),
    (OK + CL + b"0, 0\r\n\r\n", OK + END),
    (OK + CL + b"5\r\n" + TE + b"chunked\r\n\r\n" + LAST_CHUNK, OK + TE + b"chunked\r\n\r\n"),
    (OK + b"X-A: b\r\n" * 201 + b"\r\n", OK + b"X-A: b\r\n" * 201 + b"Connection: close\r\n\r\n"),
    (OK + b"X-A: " + b"b" * 33_000 + b"\r\n" + END, OK + b"X-A: " + b"b" * 33_000 + b"\r\n" + END),
]


@pytest.mark.parametrize("raw", REFUSED_BY_BOTH, ids=lambda raw: repr(raw[:60]))
async def test_answer_that_is_none_is_a_502_and_its_connection_is_closed(hop, raw):
    client, link = await hop.ask(get("/1"))
    await link.head()
    await link.send(raw)
    head = await heard(client)
    assert head.status == 502
    await client.exactly(int(head.values(b"content-length")[0]))
    assert await link.ended() in GONE
    await client.send(get("/2"))
    assert (await heard(await hop.upstream.link())).first == b"GET /2 HTTP/1.1"
    assert client.unheard() == 0


@pytest.mark.parametrize(("raw", "sent_on"), REPAIRED_BY_HAPROXY, ids=lambda raw: repr(raw[:60]))
async def test_answer_that_haproxy_repairs_is_a_502_from_us(hop, front, raw, sent_on):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(raw)
    head = await heard(client)
    if front == "slotgate":
        assert head.status == 502
        assert await link.ended() in GONE
    else:
        assert head == folded(sent_on)


async def test_only_we_refuse_chunks_of_http_1_0(hop, front):
    """RFC 9112 6.1: a framing that cannot be trusted. HAProxy believes it, and ends both connections with it."""
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(b"HTTP/1.0 200 OK\r\n" + CHUNKED.encode() + b"\r\n\r\n" + LAST_CHUNK)
    assert (await heard(client)).status == (502 if front == "slotgate" else 200)
    assert await link.ended() in GONE
