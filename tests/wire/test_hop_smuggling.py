# Framings that two readers could read two ways, behind any hop: what both refuse, and what only we refuse, as HAProxy
# decides for one of the readings and makes that plain to who is behind it.
#
# Rule: what is refused is a 400 (HAProxy says 422 of a coding it does not know) and the end of the connection, and not
#       a byte of it reaches an upstream (spec §10: bad framing, conflicting lengths).

import pytest
from rawsides.hop import carried, folded, heard, trailers
from rawsides.message import CHUNKED, LAST_CHUNK, chunk, get, request

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

POST = b"POST /x HTTP/1.1\r\nHost: a\r\n"
SENT_ON = b"POST /x HTTP/1.1\r\nHost: UPSTREAM\r\n"
TE = b"Transfer-Encoding: "
CL = b"Content-Length: "

REFUSED_BY_BOTH = [
    POST + CL + b"3\r\n" + CL + b"4\r\n\r\nabc",
    POST + CL + b"3, 4\r\n\r\nabc",
    POST + CL + b"-3\r\n\r\nabc",
    POST + CL + b"+3\r\n\r\nabc",
    POST + CL + b"0x3\r\n\r\nabc",
    POST + CL + b"3 3\r\n\r\nabc",
    POST + CL + b"3a\r\n\r\nabc",
    POST + CL + b"\r\n\r\nabc",
    POST + CL + b"99999999999999999999\r\n\r\nabc",
    POST + TE + b"gzip, chunked\r\n\r\n0\r\n\r\n",
    POST + TE + b"chunked, gzip\r\n\r\n0\r\n\r\n",
    POST + TE + b"chunked, chunked\r\n\r\n0\r\n\r\n",
    POST + TE + b"chunked\r\n" + TE + b"chunked\r\n\r\n0\r\n\r\n",
    POST + TE + b"chunked\r\nTransfer-encoding: cow\r\n\r\n0\r\n\r\n",
    POST + TE + b"xchunked\r\n\r\n0\r\n\r\n",
    POST + TE + b"identity\r\n\r\n",
    POST + TE + b"chunked;q=1\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
]

# What we refuse → the head and the body that HAProxy makes of it and sends on.
REPAIRED_BY_HAPROXY = [
    (POST + (CL + b"3\r\n") * 2 + b"\r\nabc", SENT_ON + CL + b"3\r\n\r\n", b"abc"),
    (POST + CL + b"3, 3\r\n\r\nabc", SENT_ON + CL + b"3\r\n\r\n", b"abc"),
    (
        POST + CL + b"3\r\n" + TE + b"chunked\r\n\r\n0\r\n\r\n",
        SENT_ON + TE + b"chunked\r\n\r\n",
        b"0\r\n\r\n",
    ),
    (
        POST + TE + b"chunked\r\n" + CL + b"3\r\n\r\n0\r\n\r\n",
        SENT_ON + TE + b"chunked\r\n\r\n",
        b"0\r\n\r\n",
    ),
    (
        b"POST /x HTTP/1.0\r\nHost: a\r\n" + TE + b"chunked\r\n\r\n0\r\n\r\n",
        b"POST /x HTTP/1.0\r\nHost: UPSTREAM\r\n" + TE + b"chunked\r\n\r\n",
        b"0\r\n\r\n",
    ),
    (
        POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        SENT_ON + TE + b"chunked\r\n\r\n",
        b"0\r\n\r\n",
    ),
]

# Not here: names of trailers that are no tokens. We refuse them; HAProxy 2.6 does so in some runs, and in others waits
# for more.
BROKEN_BY_BOTH = [
    b"\r\n",
    b"g\r\n",
    b"-1\r\n",
    b"+1\r\na\r\n",
    b"0x1\r\na\r\n",
    b" 1\r\na\r\n",
    b"1 1\r\na\r\n",
    b"10000000000000000\r\n",
    b"FFFFFFFFFFFFFFFF\r\n",
    b"3\r\nabcd\r\n",
    b"3\r\nabc0\r\n\r\n",
    b"0\r\nno colon\r\n\r\n",
    b"0\r\n: u\r\n\r\n",
]
# What we refuse → what HAProxy takes it to carry behind the first chunk.
BROKEN_BY_US = [
    (b"1 \r\na\r\n0\r\n\r\n", b"a"),
    (b"1\na\r\n0\r\n\r\n", b"a"),
    (b"1\r\na\n0\r\n\r\n", b"a"),
    (b"1;a\nb\r\n0\r\n\r\n", b"b"),  # who takes the LF for part of the extension sees another body
    (b"1;a\x00\r\na\r\n0\r\n\r\n", b"a"),
    (b"0\r\nX-T: u\x00\r\n\r\n", b""),
    (b"0\r\n\n", b""),
]


async def refused(client) -> None:
    raw, how = await client.end()
    assert raw.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 422 "))
    assert raw.count(b"HTTP/1.1 ") == 1
    assert how == "fin"


@pytest.mark.parametrize("message", REFUSED_BY_BOTH, ids=lambda message: repr(message[33:80]))
async def test_framing_that_can_be_read_two_ways_is_refused(hop, message):
    client = await hop.client()
    await client.send(message + get("/smuggled"))
    await refused(client)
    assert hop.upstream.was_left_alone()


@pytest.mark.parametrize(("message", "head", "body"), REPAIRED_BY_HAPROXY)
async def test_framing_that_haproxy_decides_is_refused_by_us(hop, front, message, head, body):
    client = await hop.client()
    await client.send(message)
    if front == "slotgate":
        await refused(client)
        assert hop.upstream.was_left_alone()
    else:
        link = await hop.upstream.link()
        assert await heard(link) == folded(head.replace(b"UPSTREAM", hop.upstream.authority.encode()))
        assert await link.exactly(len(body)) == body


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("broken", BROKEN_BY_BOTH)
async def test_chunk_that_is_none_is_refused_and_nothing_of_its_request_is_passed_on(hop, method, broken):
    client = await hop.client()
    await client.send(request(method, "/x", CHUNKED) + chunk(b"fine") + broken + LAST_CHUNK)
    await refused(client)
    assert hop.upstream.was_left_alone()


@pytest.mark.parametrize("broken", BROKEN_BY_BOTH)
async def test_upload_that_breaks_on_its_way_has_no_end(hop, broken):
    client, link = await hop.ask(request("PUT", "/x", CHUNKED) + chunk(b"fine"))
    await link.head()
    assert await carried(link, 4) == b"fine"
    await client.send(broken + LAST_CHUNK + get("/smuggled"))
    await refused(client)
    raw, _ = await link.end()
    assert not raw.endswith(LAST_CHUNK)
    assert b"smuggled" not in raw
    assert hop.upstream.was_left_alone()


@pytest.mark.parametrize(("broken", "payload"), BROKEN_BY_US)
async def test_chunk_that_haproxy_repairs_is_refused_by_us(hop, front, broken, payload):
    client = await hop.client()
    await client.send(request("PUT", "/x", CHUNKED) + chunk(b"fine") + broken)
    if front == "slotgate":
        await refused(client)
        assert hop.upstream.was_left_alone()
    else:
        link = await hop.upstream.link()
        await link.head()
        assert await carried(link, 4 + len(payload)) == b"fine" + payload
        await trailers(link)
