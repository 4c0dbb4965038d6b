# How an answer over TLS ends. TLS says its own end, close_notify: without it, whoever sits on the line could have cut
# the answer short (RFC 8446 6.1), and a server that died looks the same. Only with it is a close-framed answer whole.

import pytest
from rawsides.message import CHUNKED, begun, chunk, get, post
from rawsides.tls_fixtures import authority, names, start_tls, tls_rig

__all__ = ["authority", "names", "start_tls", "tls_rig"]

MIB = 1024 * 1024
COUNTED = begun("Content-Length: 10") + b"half"
IN_CHUNKS = begun(CHUNKED) + chunk(b"abc")


async def end(link, how: str) -> None:
    """`how`: by TLS, by a FIN without a word, or by RST."""
    if how == "close_notify":
        await link.close_notify()
    if how == "rst":
        link.reset()
    else:
        link.close()


async def test_close_framed_answer_is_whole_with_a_close_notify(tls_rig):
    client, link = await tls_rig.ask(get("/up/"))
    await link.head()
    await link.send(begun() + b"all of it")
    await end(link, "close_notify")
    assert await client.end() == (begun("Connection: close") + b"all of it", "fin")
    assert (await tls_rig.record()).outcome == "completed"


async def test_close_notify_alone_ends_the_answer(tls_rig):
    """The connection itself may stay open as long as its server likes."""
    client, link = await tls_rig.ask(get("/up/"))
    await link.head()
    await link.send(begun() + b"all of it")
    await link.close_notify()
    assert await client.end() == (begun("Connection: close") + b"all of it", "fin")
    assert await link.ended() in ("fin", "rst", "close_notify")


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("heard", [True, False])
async def test_close_framed_answer_without_a_close_notify_is_a_cut(tls_rig, how, heard):
    """`heard`: the client has the beginning before the end comes; else the end comes in the same moment."""
    client, link = await tls_rig.ask(get("/up/"))
    await link.head()
    await link.send(begun() + b"a part")
    if heard:
        await client.until(b"a part")
    await end(link, how)
    assert (await client.end())[1] == "rst"
    assert (await tls_rig.record()).outcome == "cut"


@pytest.mark.parametrize("how", ["close_notify", "fin", "rst"])
@pytest.mark.parametrize("sent", [COUNTED, IN_CHUNKS], ids=["length", "chunked"])
async def test_answer_with_a_framing_is_cut_however_its_connection_ends(tls_rig, sent, how):
    client, link = await tls_rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(sent)
    assert await client.exactly(len(sent)) == sent
    await end(link, how)
    assert await client.end() == (b"", "fin")
    assert (await tls_rig.record()).outcome == "cut"


@pytest.mark.parametrize("how", ["close_notify", "fin"])
async def test_answer_with_a_framing_is_whole_whatever_comes_behind_it(tls_rig, how):
    client, link = await tls_rig.ask(get("/up/"))
    await link.head()
    whole = IN_CHUNKS + b"0\r\n\r\n"
    await link.send(whole)
    await end(link, how)
    assert await client.exactly(len(whole)) == whole
    assert (await tls_rig.record()).outcome == "completed"


@pytest.mark.parametrize("how", ["close_notify", "fin", "rst"])
@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nX-A: b\r\n"])
async def test_answer_that_never_began_is_a_502_and_is_not_asked_for_again(tls_rig, sent, how):
    client, link = await tls_rig.ask(get("/up/"))
    await link.head()
    if sent:
        await link.send(sent)
    await end(link, how)
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"X-Slotgate-Error: upstream_bad_response\r\n" in head
    await tls_rig.record()
    assert tls_rig.upstream.was_left_alone()


@pytest.mark.parametrize("how", ["close_notify", "fin"])
async def test_slow_client_gets_all_that_came_before_the_end(tls_rig, how):
    """The end has arrived long before the client has read what is in front of it."""
    client, link = await tls_rig.ask(get("/up/"), receive_buffer=4096)
    await link.head()
    await link.send(begun())
    await client.head()
    body = bytes(range(256)) * 4096
    await link.send(body)
    await end(link, how)
    if how == "fin":
        heard = await client.end()
        assert heard[1] == "rst"
    else:
        assert await client.exactly(len(body)) == body
        assert await client.ended() == "fin"
