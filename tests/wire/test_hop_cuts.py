# Ends behind any hop: an answer that is cut is shown as a cut, one that is none is a 502, and who leaves is noticed.

import pytest
from rawsides.hop import carried, dechunked, folded, heard
from rawsides.message import CHUNKED, answer, begun, chunk, get, post, request

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

GONE = ("fin", "rst")
LAST_LINE = b"0\r\n"
ABC = chunk(b"abc")
CUTS = [  # what the chunks have carried when it is cut
    (ABC + b"1", b"abc"),
    (ABC + b"5;a=b", b"abc"),
    (ABC + b"5\r\nab", b"abcab"),
    (b"3\r\nabc", b"abc"),
    (ABC, b"abc"),
    (ABC + b"0", b"abc"),
    (ABC + b"0\r\n", b"abc"),
    (ABC + b"0\r\nX-T: u\r\n", b"abc"),
]
BROKEN = [b"xyz\r\n", b"\r\n", b"-1\r\n", b"3\r\nabcd\r\n", b"0\r\nno colon\r\n\r\n", b"1 1\r\na\r\n", b"0x1\r\na\r\n"]
by_fin_and_rst = pytest.mark.parametrize("how", ["close", "reset"])


@pytest.mark.parametrize(("sent", "payload"), CUTS, ids=lambda value: repr(value[-10:]))
async def test_chunked_answer_that_is_cut_has_no_end(hop, front, sent, payload):
    """Behind the last chunk a FIN passes for the end with many readers: we reset there."""
    client, link = await hop.ask(post("/x", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + sent)
    assert await heard(client) == folded(begun(CHUNKED))
    link.close()
    raw, how = await client.end()
    assert dechunked(raw) == (payload, False)
    assert how == ("rst" if front == "slotgate" and LAST_LINE in sent else "fin")


async def test_chunked_answer_that_is_reset_has_no_end(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(begun(CHUNKED) + ABC)
    assert await heard(client) == folded(begun(CHUNKED))
    assert await carried(client, 3) == b"abc"
    link.reset()
    assert await client.end() == (b"", "fin")


@by_fin_and_rst
async def test_counted_answer_that_is_cut_is_too_short(hop, how):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(begun("Content-Length: 10") + b"half")
    assert await heard(client) == folded(begun("Content-Length: 10"))
    assert await client.exactly(4) == b"half"
    getattr(link, how)()
    assert await client.end() == (b"", "fin")


async def test_close_framed_answer_that_is_reset_ends_in_a_reset_only_behind_us(hop, front):
    """Spec §10: a reset, where the framing could not show the cut. HAProxy makes a clean end of it."""
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(begun() + b"a part")
    assert (await client.until(b"a part")).startswith(b"HTTP/1.1 200 OK\r\n")
    link.reset()
    assert await client.ended() == ("rst" if front == "slotgate" else "fin")


@pytest.mark.parametrize("broken", BROKEN)
async def test_answer_that_breaks_is_cut_where_it_broke(hop, front, broken):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(begun(CHUNKED) + chunk(b"fine"))
    await client.until(chunk(b"fine"))
    await link.send(broken)
    assert await link.ended() in GONE
    raw, how = await client.end()
    assert how == ("rst" if front == "slotgate" and broken.startswith(LAST_LINE) else "fin")
    assert dechunked(raw)[1] is False


@by_fin_and_rst
@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\nX-A: b\r\n"])
async def test_answer_that_never_began_is_a_502_and_is_not_asked_for_again(hop, sent, how):
    client, link = await hop.ask(post("/x", b"{}"))
    await link.until(b"{}")
    await link.send(sent)
    getattr(link, how)()
    assert (await heard(client)).status == 502
    assert hop.upstream.was_left_alone()


async def test_upstream_that_is_not_there_is_an_error_of_the_hop(hop, front):
    hop.upstream.refuse()
    client = await hop.client()
    await client.send(get("/x"))
    assert (await heard(client)).status == {"slotgate": 502, "haproxy": 503}[front]


# --- clients that leave: the upstream's connection ends at once (spec §10) ---


@by_fin_and_rst
async def test_client_that_leaves_before_the_answer_ends_its_request(hop, how):
    client, link = await hop.ask(get("/x"))
    await link.head()
    getattr(client, how)()
    assert await link.ended() in GONE


@by_fin_and_rst
@pytest.mark.parametrize("framing", [CHUNKED, "Content-Length: 100", "X-Framed: by close"])
async def test_client_that_leaves_in_the_middle_of_an_answer_ends_it(hop, how, framing):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(begun(framing) + chunk(b"part"))
    await client.until(b"part")
    getattr(client, how)()
    assert await link.ended() in GONE


@by_fin_and_rst
async def test_upload_whose_client_leaves_has_no_end(hop, how):
    client, link = await hop.ask(request("PUT", "/x", CHUNKED) + chunk(b"part"))
    await link.until(b"part\r\n")
    getattr(client, how)()
    raw, _ = await link.end()
    assert raw == b""


@by_fin_and_rst
async def test_who_leaves_disturbs_nobody_else(hop, how):
    client, link = await hop.ask(get("/left"))
    other, other_link = await hop.ask(get("/stays"))
    await link.head()
    await other_link.head()
    getattr(client, how)()
    assert await link.ended() in GONE
    await other_link.send(answer(b"ok"))
    assert (await heard(other)).status == 200


async def test_half_close_is_leaving_only_to_haproxy(hop, front):
    """It cannot tell the two apart, and is told to look out for leaving (`abortonclose`); we answer who stays."""
    client, link = await hop.ask(get("/x"))
    await link.head()
    client.fin()
    if front == "haproxy":
        assert await link.ended() in GONE
    else:
        await link.send(answer(b"ok"))
        assert (await heard(client)).status == 200
        assert await client.end() == (b"ok", "fin")
