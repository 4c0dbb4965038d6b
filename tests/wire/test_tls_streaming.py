# An answer over TLS on its way: each piece at once, and nothing more once its client has left.

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, begun, chunk, get, post, request
from rawsides.tls_fixtures import authority, names, start_tls, tls_rig

__all__ = ["authority", "names", "start_tls", "tls_rig"]

EVENTS = [b"data: %d\n\n" % number for number in range(20)]


async def test_head_and_each_chunk_leave_before_the_next_one_comes(tls_rig):
    client, link = await tls_rig.ask(post("/up/", b'{"stream": true}'))
    await link.until(b"true}")
    head = begun("Content-Type: text/event-stream", CHUNKED)
    await link.send(head)
    assert await client.exactly(len(head)) == head
    for event in EVENTS:
        await link.send(chunk(event))
        assert await client.exactly(len(chunk(event))) == chunk(event)
    await link.send(LAST_CHUNK)
    assert await client.exactly(len(LAST_CHUNK)) == LAST_CHUNK


async def test_interim_answers_leave_at_once(tls_rig):
    client, link = await tls_rig.ask(get("/up/"))
    await link.head()
    early = begun("Link: </style.css>; rel=preload", status="103 Early Hints")
    await link.send(early)
    assert await client.exactly(len(early)) == early
    await link.send(begun("Content-Length: 0"))
    assert await client.head() == begun("Content-Length: 0")


async def test_records_that_are_cut_into_bytes_make_the_same_answer(tls_rig):
    """A record is decrypted when it is whole, wherever the network has cut it."""
    client, link = await tls_rig.ask(get("/up/"))
    await link.head()
    whole = begun(CHUNKED) + b"".join(chunk(event) for event in EVENTS) + LAST_CHUNK
    link.tls.write(whole)
    encrypted = link._outgoing.read()
    for at in range(len(encrypted)):
        link.sock.send(encrypted[at : at + 1])
    assert await client.exactly(len(whole)) == whole


async def test_upload_and_answer_pass_each_other(tls_rig):
    client, link = await tls_rig.ask(request("PUT", "/up/", CHUNKED))
    await link.head()
    await link.send(begun(CHUNKED))
    assert (await client.head()).endswith(b"chunked\r\nConnection: close\r\n\r\n")
    for event in EVENTS:
        await client.send(chunk(event))
        assert await link.exactly(len(chunk(event))) == chunk(event)
        await link.send(chunk(event))
        assert await client.exactly(len(chunk(event))) == chunk(event)
    await client.send(LAST_CHUNK)
    await link.until(LAST_CHUNK)
    await link.send(LAST_CHUNK)
    assert await client.end() == (LAST_CHUNK, "fin")


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_upstream_hears_at_once_that_the_client_has_left(start_tls, how):
    rig = await start_tls({"limit": 1})
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + chunk(EVENTS[0]))
    await client.until(chunk(EVENTS[0]))
    getattr(client, how)()
    assert await link.ended() in ("fin", "rst", "close_notify")
    await rig.at_rest()
    assert (await rig.record()).outcome == "abandoned"


async def test_slot_is_held_until_the_last_chunk_and_not_until_the_end_of_the_connection(start_tls):
    rig = await start_tls({"limit": 1})
    client, link = await rig.ask(post("/up/1", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + chunk(EVENTS[0]))
    await client.until(chunk(EVENTS[0]))
    other = await rig.client()
    await other.send(post("/up/2", b"{}"))
    assert rig.scheduler.held == 1
    await link.send(LAST_CHUNK)
    assert (await link.until(b"{}")).startswith(b"POST /2 ")
