# Clients that speak HTTP/1.0: no chunks, no interim answers, one request per connection.

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk

GET = b"GET /up/ HTTP/1.0\r\n\r\n"


async def test_upstream_is_spoken_to_in_http_1_1_with_a_host(rig):
    _, link = await rig.ask(b"GET /up/x HTTP/1.0\r\nX-A: b\r\n\r\n")
    assert await link.head() == b"GET /x HTTP/1.1\r\nHost: %s\r\nX-A: b\r\n\r\n" % rig.upstream.authority.encode()


async def test_chunked_answer_becomes_bare_bytes_and_a_close(rig):
    client, link = await rig.ask(GET)
    await link.head()
    await link.send(begun(CHUNKED, "Trailer: X-T", "X-A: b") + chunk(b"abc"))
    assert await client.until(b"abc") == begun("X-A: b", "Connection: close") + b"abc"
    await link.send(b"3;ext=1\r\nd\x00f\r\n" + b"0\r\nX-T: u\r\n\r\n")
    assert await client.end() == (b"d\x00f", "fin")


@pytest.mark.parametrize("step", [1, 2, 3])
async def test_chunked_answer_is_bare_whatever_its_pieces(rig, step):
    client, link = await rig.ask(GET)
    await link.head()
    whole = begun(CHUNKED) + chunk(b"0123456789") + chunk(b"abcdef") + LAST_CHUNK
    for at in range(0, len(whole), step):
        await link.send(whole[at : at + step])
    assert await client.end() == (begun("Connection: close") + b"0123456789abcdef", "fin")


async def test_chunked_answer_that_is_cut_ends_in_a_reset(rig):
    """A FIN would look like the end."""
    client, link = await rig.ask(GET)
    await link.head()
    await link.send(begun(CHUNKED) + chunk(b"abc"))
    await client.until(b"abc")
    link.close()
    assert await client.ended() == "rst"
    assert (await rig.record()).outcome == "cut"


async def test_answer_to_head_names_no_chunks(rig):
    """RFC 9112 6.1: no Transfer-Encoding to a client of HTTP/1.0."""
    client, link = await rig.ask(b"HEAD /up/ HTTP/1.0\r\n\r\n")
    await link.head()
    await link.send(begun(CHUNKED, "X-A: b"))
    assert await client.end() == (begun("X-A: b", "Connection: close"), "fin")


async def test_counted_answer_keeps_its_length_and_ends_the_connection(rig):
    client, link = await rig.ask(b"GET /up/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    await link.head()
    await link.send(answer(b"ok"))
    assert await client.end() == (begun("Content-Length: 2", "Connection: close") + b"ok", "fin")


async def test_interim_answers_are_not_passed_on(rig):
    client, link = await rig.ask(GET)
    await link.head()
    await link.send(begun("Link: </a>", status="103 Early Hints") + begun(status="102 Processing") + answer(b"ok"))
    assert await client.end() == (begun("Content-Length: 2", "Connection: close") + b"ok", "fin")


async def test_upgrade_is_not_understood(rig):
    """RFC 9110 7.8: a server must ignore Upgrade from HTTP/1.0."""
    client, link = await rig.ask(b"GET /up/ HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    assert b"pgrade" not in await link.head()
    await link.send(answer(b"ok"))
    assert (await client.end())[0].endswith(b"ok")
