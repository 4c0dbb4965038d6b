# Bodies of requests behind any hop: every byte, in the framing they came in; and the same for what answers them.

import asyncio
import gzip

import pytest
from rawsides.hop import carried, heard, trailers
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

BODIES = [b"", b"hello", b"0\r\n\r\n", bytes(range(256)) * 40, gzip.compress(b"text", mtime=0), b"not gzip"]
LARGE = bytes(range(256)) * 12_000


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:12]))
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "GET"])
async def test_counted_body_arrives_as_it_was_sent(hop, method, body):
    client, link = await hop.ask(request(method, "/x", "Content-Encoding: gzip", body=body))
    head = await heard(link)
    assert head.fields[1:] == [(b"content-encoding", b"gzip"), (b"content-length", b"%d" % len(body))]
    assert await link.exactly(len(body)) == body
    await link.send(answer(body, "Content-Encoding: gzip"))
    assert (await heard(client)).fields == head.fields[1:]
    assert await client.exactly(len(body)) == body


@pytest.mark.parametrize("body", BODIES[1:], ids=lambda body: repr(body[:12]))
@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_chunked_body_arrives_as_it_was_sent(hop, method, body):
    raw = chunk(body) + b"00A;ext=1\r\n0123456789\r\n" + b"0\r\n\r\n"
    client, link = await hop.ask(request(method, "/x", CHUNKED) + raw)
    assert (await heard(link)).fields[1:] == [(b"transfer-encoding", b"chunked")]
    assert await carried(link, len(body) + 10) == body + b"0123456789"
    assert await trailers(link) == []
    await link.send(begun(CHUNKED) + raw)
    assert (await heard(client)).fields == [(b"transfer-encoding", b"chunked")]
    assert await carried(client, len(body) + 10) == body + b"0123456789"
    assert await trailers(client) == []


@pytest.mark.parametrize("step", [1, 3, 7])
async def test_head_and_body_in_any_pieces(hop, step):
    message = request("POST", "/split", CHUNKED, "X-A: b") + chunk(b"0123456789") + chunk(b"abc") + LAST_CHUNK
    client = await hop.client()
    for at in range(0, len(message), step):
        await client.send(message[at : at + step])
    link = await hop.upstream.link()
    assert (await heard(link)).values(b"x-a") == [b"b"]
    assert await carried(link, 13) == b"0123456789abc"
    assert await trailers(link) == []


async def test_upload_is_passed_on_as_it_comes(hop):
    client, link = await hop.ask(request("PUT", "/x", CHUNKED))
    await link.head()
    for piece in (b"one", b"x" * 65536, b"two"):
        await client.send(chunk(piece))
        assert await carried(link, len(piece)) == piece
    await client.send(LAST_CHUNK)
    assert await trailers(link) == []


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_large_body_arrives_whole(hop, method):
    client = await hop.client()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.send(request(method, "/x", body=LARGE)))
        link = await hop.upstream.link()
        assert (await heard(link)).values(b"content-length") == [b"%d" % len(LARGE)]
        assert await link.exactly(len(LARGE)) == LARGE


async def test_large_answer_arrives_whole(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(link.send(answer(LARGE)))
        assert (await heard(client)).values(b"content-length") == [b"%d" % len(LARGE)]
        assert await client.exactly(len(LARGE)) == LARGE


async def test_early_refusal_of_an_upload_is_read_by_the_client(hop):
    client, link = await hop.ask(request("PUT", "/x", "Content-Length: 1000000") + b"x" * 1000)
    await link.head()
    await link.send(answer(b"too large", "X-A: b", status="413 Content Too Large"))
    head = await heard(client)
    assert (head.first, head.values(b"x-a")) == (b"HTTP/1.1 413 Content Too Large", [b"b"])
    assert await client.exactly(9) == b"too large"


async def test_expect_is_answered_by_us_and_passed_on_by_haproxy(hop, front):
    """Spec §10 has the proxy answer it: who waits in a queue must not be kept from sending its body by that."""
    client = await hop.client()
    await client.send(request("PUT", "/x", "Expect: 100-continue", "Content-Length: 4"))
    link = await hop.upstream.link()
    assert (b"expect" in (await heard(link)).names()) is (front == "haproxy")
    if front == "haproxy":
        await link.send(begun(status="100 Continue"))
    assert await client.head() == begun(status="100 Continue")
    await client.send(b"body")
    assert await link.exactly(4) == b"body"
    await link.send(answer(b"ok"))
    assert (await heard(client)).status == 200


async def test_empty_post_keeps_its_length(hop):
    _, link = await hop.ask(post("/x", b""))
    assert (await heard(link)).values(b"content-length") == [b"0"]
