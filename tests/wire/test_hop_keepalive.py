# Connections behind any hop: one request after the other, and nothing that leaks from one into the next.

import pytest
from rawsides.hop import carried, folded, heard, trailers
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

GONE = ("fin", "rst")


async def ok(link, client, body: bytes = b"ok") -> None:
    """Answer what `link` was asked, and see `client` get it, and nothing before it."""
    await link.send(answer(body))
    assert await heard(client) == folded(begun(f"Content-Length: {len(body)}"))
    assert await client.exactly(len(body)) == body


async def test_next_request_uses_both_connections_again(hop):
    client, link = await hop.ask(get("/1"))
    for number in (1, 2, 3):
        assert (await heard(link)).first == b"GET /%d HTTP/1.1" % number
        await ok(link, client, b"to %d" % number)
        await client.send(get(f"/{number + 1}"))
    assert (await heard(link)).first == b"GET /4 HTTP/1.1"
    assert hop.upstream.was_left_alone()


async def test_every_framing_leaves_the_connections_usable(hop):
    client, link = await hop.ask(request("POST", "/1", CHUNKED) + chunk(b"abc") + b"0\r\nX-T: u\r\n\r\n")
    await link.head()
    assert await carried(link, 3) == b"abc"
    assert await trailers(link) == [(b"x-t", b"u")]
    await link.send(begun(CHUNKED) + chunk(b"def") + LAST_CHUNK)
    await client.head()
    assert await carried(client, 3) == b"def"
    assert await trailers(client) == []
    await client.send(post("/2", b"0123456789"))
    assert (await heard(link)).first == b"POST /2 HTTP/1.1"
    assert await link.exactly(10) == b"0123456789"
    await ok(link, client)
    await client.send(request("HEAD", "/3"))
    assert (await heard(link)).first == b"HEAD /3 HTTP/1.1"
    await link.send(begun("Content-Length: 10"))
    assert (await heard(client)).values(b"content-length") == [b"10"]
    await client.send(get("/4"))
    assert (await heard(link)).first == b"GET /4 HTTP/1.1"
    assert hop.upstream.was_left_alone()


async def test_pipelined_requests_are_answered_in_their_order(hop):
    chunked = request("POST", "/3", CHUNKED) + chunk(b"abc") + LAST_CHUNK
    client, link = await hop.ask(get("/1") + post("/2", b"body") + chunked + get("/4"))
    for line in (b"GET /1", b"POST /2", b"POST /3", b"GET /4"):
        assert (await heard(link)).first == line + b" HTTP/1.1"
        if line == b"POST /2":
            assert await link.exactly(4) == b"body"
        elif line == b"POST /3":
            assert await carried(link, 3) == b"abc"
            assert await trailers(link) == []
        assert link.unheard() == 0, "the next one waits for its turn"
        await ok(link, client, line)
    assert hop.upstream.was_left_alone()


async def test_empty_lines_before_a_request_are_ignored(hop):
    """RFC 9112 2.2."""
    _, link = await hop.ask(b"\r\n\r\n" + get("/x"))
    assert (await heard(link)).first == b"GET /x HTTP/1.1"


async def test_connection_close_of_the_client_is_for_its_hop_alone(hop):
    client, link = await hop.ask(get("/1", "Connection: close"))
    await link.head()
    await link.send(answer(b"last"))
    assert await heard(client) == folded(begun("Content-Length: 4", "Connection: close"))
    assert await client.end() == (b"last", "fin")
    other = await hop.client()
    await other.send(get("/2"))
    assert (await heard(link)).first == b"GET /2 HTTP/1.1"


async def test_nothing_behind_a_request_that_closes_is_served(hop):
    client, link = await hop.ask(get("/1", "Connection: close") + get("/2"))
    await link.head()
    await link.send(answer(b"last"))
    await client.head()
    assert await client.end() == (b"last", "fin")
    assert link.unheard() == 0
    assert hop.upstream.was_left_alone()


async def test_connection_close_of_the_upstream_is_for_its_hop_alone(hop):
    client, link = await hop.ask(get("/1"))
    await link.head()
    await link.send(answer(b"last", "Connection: close"))
    assert await heard(client) == folded(begun("Content-Length: 4"))
    assert await client.exactly(4) == b"last"
    await client.send(get("/2"))
    assert (await heard(await hop.upstream.link())).first == b"GET /2 HTTP/1.1"
    assert await link.ended() in GONE


async def test_connection_that_was_closed_while_idle_is_not_used(hop):
    client, link = await hop.ask(get("/1"))
    await link.head()
    await ok(link, client)
    link.close()
    await client.send(get("/2"))
    fresh = await hop.upstream.link()
    assert (await heard(fresh)).first == b"GET /2 HTTP/1.1"
    await ok(fresh, client)


@pytest.mark.parametrize(
    ("asked", "said", "surplus"),
    [
        (get("/1"), answer(b""), b"EXTRA"),
        (get("/1"), answer(b""), answer(b"nobody asked")),
        (get("/1"), begun(CHUNKED) + LAST_CHUNK, b"EXTRA"),
        (request("HEAD", "/1"), begun("Content-Length: 10"), b"0123456789"),
        (get("/1"), begun(status="304 Not Modified"), b"a body"),
    ],
)
async def test_bytes_behind_an_answer_reach_nobody(hop, asked, said, surplus):
    client, link = await hop.ask(asked)
    await link.head()
    await link.send(said + surplus)
    await client.head()
    if CHUNKED.encode() in said:
        assert await trailers(client) == []
    await client.send(get("/2"))
    second = await hop.upstream.link()
    assert (await heard(second)).first == b"GET /2 HTTP/1.1"
    await ok(second, client, b"second")
    assert await link.ended() in GONE


async def test_unsolicited_bytes_on_an_idle_connection_reach_nobody(hop):
    client, link = await hop.ask(get("/1"))
    await link.head()
    await ok(link, client)
    await link.send(answer(b"nobody asked", status="408 Request Timeout"))
    assert await link.ended() in GONE
    await client.send(get("/2"))
    second = await hop.upstream.link()
    await second.head()
    await ok(second, client, b"second")


async def test_two_clients_never_share_a_connection_at_once(hop):
    one, link_one = await hop.ask(get("/1"))
    two, link_two = await hop.ask(get("/2"))
    for link in (link_one, link_two):
        await link.head()
    await ok(link_two, two, b"two")
    await ok(link_one, one, b"one")


async def test_cookies_of_one_client_are_not_sent_for_another(hop):
    client, link = await hop.ask(get("/1"))
    await link.head()
    await link.send(answer(b"", "Set-Cookie: session=secret"))
    assert (await heard(client)).values(b"set-cookie") == [b"session=secret"]
    other = await hop.client()
    await other.send(get("/2"))
    assert (await heard(link)).names() == {b"host"}
