# Hostile heads of requests behind any hop: what both refuse, and what only we refuse, as HAProxy repairs it on the way.
#
# Rule: what is refused is a 400 and the end of the connection, and not a byte of it reaches an upstream (spec §10: bare
#       CR or LF, oversized lines, what is no head).

import pytest
from rawsides.hop import folded, heard
from rawsides.message import get

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

GET = b"GET /x HTTP/1.1\r\nHost: a\r\n"
SENT_ON = b"GET /x HTTP/1.1\r\nHost: UPSTREAM\r\n"

REFUSED_BY_BOTH = [
    b"GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /x HTTP/1.1\rHost: a\r\r",
    b"GET /x a HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /x\r\nHost: a\r\n\r\n",  # HTTP/0.9
    b"GET /x http/1.1\r\nHost: a\r\n\r\n",
    b"GET /x HTTP/1.1 \r\nHost: a\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",  # TLS
    b" GET /x HTTP/1.1\r\nHost: a\r\n\r\n",
    b"G@T /x HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /x HTTP/1.1\r\n X-A: b\r\nHost: a\r\n\r\n",
    b"GET /x HTTP/1.1\r\nHost : a\r\n\r\n",
    GET + b"X-A: b\rX-B: c\r\n\r\n",
    GET + b"X-A : b\r\n\r\n",
    GET + b"X A: b\r\n\r\n",
    GET + b"X-\xc3\x84: b\r\n\r\n",
    GET + b"X-A\x00: b\r\n\r\n",
    GET + b"no colon\r\n\r\n",
    GET + b": no name\r\n\r\n",
    GET + b"X-A: b\r\n" * 301 + b"\r\n",
]

# What we refuse → what HAProxy makes of it and sends on.
REPAIRED_BY_HAPROXY = [
    (b"GET /x HTTP/1.1\r\n\r\n", b"GET /x HTTP/1.1\r\n\r\n"),  # without a Host: RFC 9112 3.2 wants a 400
    (GET + b"Host: a\r\n\r\n", SENT_ON + b"\r\n"),
    (b"GET /x HTTP/1.1\r\nHost: a b\r\n\r\n", SENT_ON + b"\r\n"),
    (b"GET  /x HTTP/1.1\r\nHost: a\r\n\r\n", SENT_ON + b"\r\n"),
    (b"GET /x HTTP/2.0\r\nHost: a\r\n\r\n", SENT_ON + b"\r\n"),
    (b"GET /x HTTP/1.2\r\nHost: a\r\n\r\n", SENT_ON + b"\r\n"),
    # bare LF, obs-fold, control characters
    (b"GET /x HTTP/1.1\nHost: a\n\n", SENT_ON + b"\r\n"),
    (b"\n" + GET + b"\r\n", SENT_ON + b"\r\n"),
    (GET + b"X-A: b\nX-B: c\r\n\r\n", SENT_ON + b"X-A: b\r\nX-B: c\r\n\r\n"),
    (GET + b"X-A: b\r\n fold: c\r\n\r\n", SENT_ON + b"X-A: b   fold: c\r\n\r\n"),
    (GET + b"X-A: b\x00\r\n\r\n", SENT_ON + b"X-A: b\x00\r\n\r\n"),
    (GET + b"X-A: b\x0bc\r\n\r\n", SENT_ON + b"X-A: b\x0bc\r\n\r\n"),
    (GET + b"X-A: b\x7f\r\n\r\n", SENT_ON + b"X-A: b\x7f\r\n\r\n"),
]


async def refused(client) -> None:
    raw, how = await client.end()
    assert raw.startswith(b"HTTP/1.1 400 Bad ")
    assert b"\r\nConnection: close\r\n" in raw
    assert raw.count(b"HTTP/1.1 ") == 1
    assert how == "fin"


@pytest.mark.parametrize("message", REFUSED_BY_BOTH, ids=lambda message: repr(message[-40:]))
async def test_head_that_is_none_is_refused_and_nothing_of_it_is_passed_on(hop, message):
    client = await hop.client()
    await client.send(message)
    await refused(client)
    assert hop.upstream.was_left_alone()


@pytest.mark.parametrize(("message", "sent_on"), REPAIRED_BY_HAPROXY, ids=lambda value: repr(value[-40:]))
async def test_head_that_haproxy_repairs_is_refused_by_us(hop, front, message, sent_on):
    client = await hop.client()
    await client.send(message)
    if front == "slotgate":
        await refused(client)
        assert hop.upstream.was_left_alone()
    else:
        sent_on = sent_on.replace(b"UPSTREAM", hop.upstream.authority.encode())
        assert await heard(await hop.upstream.link()) == folded(sent_on)


async def test_nothing_behind_a_refused_head_is_served(hop):
    client = await hop.client()
    await client.send(GET + b"X A: b\r\n\r\n" + get("/smuggled"))
    await refused(client)
    assert hop.upstream.was_left_alone()


async def test_whole_request_before_a_refused_one_is_served(hop):
    client, link = await hop.ask(get("/1") + GET + b"X A: b\r\n\r\n")
    assert (await heard(link)).first == b"GET /1 HTTP/1.1"
    await link.send(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert (await heard(client)).status == 204
    await refused(client)
    assert link.unheard() == 0


@pytest.mark.parametrize(
    "connection", ["Host", "Content-Length", "Transfer-Encoding, Host", "X-A, Cookie", "close, Authorization"]
)
async def test_connection_cannot_take_away_the_framing_or_the_address(hop, connection):
    _, link = await hop.ask(get("/x", f"Connection: {connection}", "Content-Length: 3") + b"abc")
    head = await heard(link)
    assert head.values(b"host") == [hop.upstream.authority.encode()]
    assert head.values(b"content-length") == [b"3"]
    assert await link.exactly(3) == b"abc"
