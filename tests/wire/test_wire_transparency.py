# What one side sends is what the other sees, byte for byte, from socket to socket (spec §10).

import gzip

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request
from rawsides.targets import ODD_TARGETS

TARGETS = [*ODD_TARGETS, b"/caf\xc3\xa9/\xff", b"/a#fragment"]


@pytest.mark.asyncio(loop_factories=["uvloop"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: repr(target[:40]))
async def test_target_arrives_as_it_was_written(rig, target):
    _, link = await rig.ask(b"GET /up" + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (await link.head()).startswith(b"GET " + target + b" HTTP/1.1\r\n")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE", "PROPFIND", "M-SEARCH", "get", "X-anything"])
async def test_request_without_a_body_gets_no_framing(rig, method):
    """FRM-03, HDR-04, HDR-05: nothing is added."""
    _, link = await rig.ask(request(method, "/up/"))
    host = rig.upstream.authority.encode()
    assert await link.head() == b"%s / HTTP/1.1\r\nHost: %s\r\n\r\n" % (method.encode(), host)


async def test_empty_post_keeps_its_length(rig):
    _, link = await rig.ask(post("/up/", b""))
    assert b"\r\nContent-Length: 0\r\n" in await link.head()


async def test_headers_arrive_with_their_spelling_order_duplicates_and_octets(rig):
    """HDR-06."""
    lines = b"x-b: 1\r\nX-Title: \xe4\xbd\xa0\r\nX-L: caf\xe9\r\nX-B: 2\r\nCookie: a=b\r\ncookie: c=d\r\nX-Empty:\r\n"
    client, link = await rig.ask(b"GET /up/ HTTP/1.1\r\nHOST: a\r\n" + lines + b"\r\n")
    host = rig.upstream.authority.encode()
    assert await link.head() == b"GET / HTTP/1.1\r\nHOST: %s\r\n%s\r\n" % (host, lines)
    back = b"HTTP/1.1 207 caf\xe9\r\nSet-Cookie: a\r\nset-cookie: b\r\nLink: <a>\r\nETag: x\r\nSET-COOKIE: \xff\r\n"
    await link.send(back + b"Content-Length: 0\r\n\r\n")
    assert await client.head() == back + b"Content-Length: 0\r\n\r\n"


@pytest.mark.parametrize("body", [b"hello", b"", bytes(range(256)) * 40, gzip.compress(b"text", mtime=0), b"not gzip"])
async def test_body_arrives_as_it_was_sent(rig, body):
    """FRM-02, BODY-04: one framing, no decoding."""
    client, link = await rig.ask(post("/up/", body, "Content-Encoding: gzip"))
    head = await link.head()
    assert b"Content-Encoding: gzip\r\nContent-Length: %d\r\n" % len(body) in head
    assert b"ransfer" not in head
    assert await link.exactly(len(body)) == body
    whole = answer(body, "Content-Encoding: gzip")
    await link.send(whole)
    assert await client.exactly(len(whole)) == whole


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_chunked_request_arrives_with_its_chunks_extensions_and_trailers(rig, method):
    """FRM-04: counted ones are read whole first, the others stream."""
    raw = b"3;a=b\r\nabc\r\n00A\r\n0123456789\r\n0\r\nX-T: u\r\n\r\n"
    client = await rig.client()
    await client.send(request(method, "/up/", CHUNKED, "Trailer: X-T", "TE: trailers") + raw)
    link = await rig.upstream.link()
    head = await link.head()
    assert head.endswith(b"Transfer-Encoding: chunked\r\nTrailer: X-T\r\nTE: trailers\r\n\r\n")
    assert b"Content-Length" not in head
    assert await link.exactly(len(raw)) == raw


async def test_chunked_answer_arrives_with_its_chunks_extensions_and_trailers(rig):
    client, link = await rig.ask(get("/up/", "TE: trailers"))
    await link.head()
    raw = begun(CHUNKED, "Trailer: X-T") + b"3;a=b\r\nabc\r\n00A\r\n0123456789\r\n000\r\nX-T: u\r\n\r\n"
    await link.send(raw)
    assert await client.exactly(len(raw)) == raw


@pytest.mark.parametrize(
    ("method", "status", "line"),
    [
        ("HEAD", "200 OK", "Content-Length: 1000"),
        ("HEAD", "200 OK", CHUNKED),
        ("GET", "204 No Content", "X-A: b"),
        ("GET", "204 No Content", "Content-Length: 5"),
        ("GET", "304 Not Modified", "Content-Length: 1000"),
        ("GET", "304 Not Modified", "ETag: x"),
    ],
)
async def test_answer_without_a_body_keeps_its_headers_and_the_connections(rig, method, status, line):
    client, link = await rig.ask(request(method, "/up/1"))
    await link.head()
    await link.send(begun(line, status=status))
    assert await client.head() == begun(line, status=status)
    await client.send(get("/up/2"))
    assert (await link.head()).startswith(b"GET /2 ")


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", "text/plain"])
@pytest.mark.parametrize("framing", [CHUNKED, "Content-Length: 1000", "X-Framed: by close"])
async def test_head_and_every_piece_are_passed_on_the_moment_they_come(rig, kind, framing):
    """SSE-01, SSE-02."""
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    head = begun(f"Content-Type: {kind}", framing)
    await link.send(head)
    assert (await client.head()).startswith(head[:-2])
    for number in range(5):
        event = b"data: %d\n\n" % number
        piece = chunk(event) if framing == CHUNKED else event
        await link.send(piece)
        assert await client.exactly(len(piece)) == piece


@pytest.mark.parametrize("size", [1, 32768, 65536, 131072, 262144])
async def test_chunk_of_any_size_arrives_before_the_next_one(rig, size):
    """SSE-10."""
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(begun(CHUNKED))
    assert await client.head() == begun(CHUNKED)
    for _ in range(2):
        await link.send(chunk(b"x" * size))
        assert await client.exactly(len(chunk(b"x" * size))) == chunk(b"x" * size)
    await link.send(LAST_CHUNK)
    assert await client.exactly(5) == LAST_CHUNK


@pytest.mark.parametrize("size", [1024 * 1024 + 10, 10_000_000])
@pytest.mark.parametrize("framed", [True, False])
async def test_large_prompt_arrives_whole(rig, size, framed):
    """BODY-01."""
    body = bytes(range(256)) * (size // 256)
    raw = body if framed else chunk(body) + LAST_CHUNK
    client = await rig.client()
    await client.send(request("POST", "/up/", f"Content-Length: {len(body)}" if framed else CHUNKED) + raw)
    link = await rig.upstream.link()
    await link.head()
    assert await link.exactly(len(raw)) == raw


async def test_cookies_of_one_client_are_not_sent_for_another(rig):
    """HDR-03."""
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(answer(b"", "Set-Cookie: session=secret"))
    assert b"Set-Cookie: session=secret\r\n" in await client.head()
    other = await rig.client()
    await other.send(get("/up/"))
    assert b"ookie" not in await link.head()


async def test_redirects_are_the_clients_to_follow(rig):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    whole = answer(b"", "Location: http://other.test/", status="307 Temporary Redirect")
    await link.send(whole)
    assert await client.exactly(len(whole)) == whole
    assert rig.upstream.was_left_alone()
