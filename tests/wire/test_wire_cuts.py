# An upstream that dies in the middle is shown to the client as a cut, in every framing, and never as a clean end.

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, begun, chunk, get, post

LENGTH = begun("Content-Length: 10") + b"half"
IN_SIZE = begun(CHUNKED) + chunk(b"abc") + b"1"
IN_EXTENSION = begun(CHUNKED) + chunk(b"abc") + b"5;a=b"
IN_DATA = begun(CHUNKED) + b"5\r\nab"
BEFORE_CRLF = begun(CHUNKED) + b"3\r\nabc"
BEFORE_LAST = begun(CHUNKED) + chunk(b"abc")
IN_LAST = begun(CHUNKED) + chunk(b"abc") + b"0\r\n"
IN_TRAILER = begun(CHUNKED) + chunk(b"abc") + b"0\r\nX-T: u\r\n"
PLACES = [LENGTH, IN_SIZE, IN_EXTENSION, IN_DATA, BEFORE_CRLF, BEFORE_LAST, IN_LAST, IN_TRAILER]


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("sent", PLACES, ids=lambda sent: repr(sent[-12:]))
async def test_answer_with_a_framing_is_cut_where_it_was(rig, sent, how):
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(sent)
    assert await client.exactly(len(sent)) == sent
    link.close() if how == "fin" else link.reset()
    # Readers that do not wait for the end behind the last chunk would take a FIN there for a whole answer.
    assert await client.end() == (b"", "rst" if sent in (IN_LAST, IN_TRAILER) else "fin")
    assert (await rig.record()).outcome == "cut"


async def test_close_framed_answer_ends_in_peace_with_a_fin(rig):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(begun("X-A: b") + b"all of it")
    link.close()
    assert await client.end() == (begun("X-A: b", "Connection: close") + b"all of it", "fin")
    assert (await rig.record()).outcome == "completed"


async def test_close_framed_answer_that_is_reset_ends_in_a_reset(rig):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(begun() + b"a part")
    assert await client.until(b"a part") == begun("Connection: close") + b"a part"
    link.reset()
    assert await client.ended() == "rst"
    assert (await rig.record()).outcome == "cut"


@pytest.mark.parametrize("broken", [b"xyz\r\n", b"3\nabc\r\n", b"3\r\nabcd\r\n", b"-1\r\n", b"0\r\nno colon\r\n\r\n"])
async def test_broken_chunk_is_not_passed_on(rig, broken):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(begun(CHUNKED) + chunk(b"fine"))
    await client.until(chunk(b"fine"))
    await link.send(broken)
    assert await link.ended() in ("fin", "rst")
    rest, how = await client.end()
    assert how == ("rst" if broken.startswith(b"0\r\n") else "fin")
    assert not rest.endswith(LAST_CHUNK)
    assert broken.startswith(rest), rest
    assert not rest.startswith(b"0")
    assert (await rig.record()).outcome == "cut"


async def test_chunks_in_front_of_a_broken_one_are_passed_on(rig):
    """However TCP has cut them."""
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(begun(CHUNKED) + chunk(b"one"))
    await client.until(chunk(b"one"))
    await link.send(chunk(b"two") + chunk(b"three") + b"zz\r\n")
    assert await client.end() == (chunk(b"two") + chunk(b"three"), "fin")


@pytest.mark.parametrize("broken", [b"xyz\r\n", b"3\nabc\r\n", b"3\r\nabcd\r\n", b"-1\r\n"])
async def test_body_that_is_broken_where_it_begins_is_a_502(rig, broken):
    """In the head's segment: nothing has been passed on yet."""
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(begun(CHUNKED) + broken)
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    await client.until(b"}}")
    await client.send(get("/up/next"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /next ")


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\nX-A: b\r\n"])
async def test_answer_that_never_began_is_a_502(rig, sent, how):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(sent)
    link.close() if how == "fin" else link.reset()
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"X-Slotgate-Error: upstream_bad_response\r\n" in head
    assert rig.upstream.was_left_alone(), "a request is never sent twice"


@pytest.mark.parametrize(
    "head",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: b\nX-B: c\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        b"HTTP/1.1 200 OK\r\nX A: b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A : b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: b\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: b\x00\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: " + b"b" * 32 * 1024 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 201 + b"\r\n",
        b"HTTP/1.1 200 " + b"O" * 16 * 1024,
    ],
    ids=lambda head: repr(head[:48]),
)
async def test_broken_head_is_a_502_at_once_and_its_connection_is_closed(rig, head):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(head)
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    assert await link.ended() in ("fin", "rst")


async def test_cut_while_the_client_is_slow_still_delivers_what_came(rig):
    client, link = await rig.ask(get("/up/"), receive_buffer=4096)
    await link.head()
    body = b"x" * 400_000
    await link.send(begun("Content-Length: 1000000"))
    await client.head()
    await link.send(body)
    link.fin()
    rest, how = await client.end()
    assert (len(rest), how) == (len(body), "fin")
