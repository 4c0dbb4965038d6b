# Idle client connections are closed after a while, and never in the middle of something (KA-02).

import pytest
from rawsides.message import answer, get, post
from rawsides.rig import becomes

from proxy.wire.client import IDLE_S


async def an_idle_client(rig):
    """A client whose only request was answered so long ago that the next sweep takes its connection."""
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(answer(b"ok"))
    await client.exactly(len(answer(b"ok")))
    (connection,) = rig.listener.connections
    await becomes(lambda: connection.request is None)
    connection.idle_since -= IDLE_S + 1
    return client, link, connection


async def test_idle_connection_is_closed_by_the_sweep(rig):
    client, _, _ = await an_idle_client(rig)
    rig.listener._sweep()
    assert await client.ended() == "fin"


async def test_connection_that_has_just_served_is_not(rig):
    client, link, connection = await an_idle_client(rig)
    connection.idle_since += IDLE_S
    rig.listener._sweep()
    await client.send(get("/up/2"))
    assert (await link.head()).startswith(b"GET /2 ")


async def test_request_that_is_served_is_not_cut_by_the_sweep(rig):
    client, link, _ = await an_idle_client(rig)
    await client.send(get("/up/2"))
    await link.head()
    rig.listener._sweep()
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


@pytest.mark.parametrize("message", [post("/up/2", b"{}", "X-A: b"), b"\r\n" + get("/up/2")], ids=["head", "line"])
async def test_request_whose_head_is_half_here_is_not_cut_by_the_sweep(rig, message):
    """KA-02: an answer, or an end before any byte was taken. The head's own time-out is for those that stop here."""
    client, link, connection = await an_idle_client(rig)
    await client.send(message[:20])
    await becomes(lambda: connection._head_timer is not None, "the head's beginning has arrived")
    rig.listener._sweep()
    await client.send(message[20:])
    assert (await link.head()).split()[1] == b"/2"
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_request_that_arrives_in_the_moment_of_the_sweep_is_not_taken(rig):
    """Its client hears the end, and may send it again: nothing of it went on."""
    client, link, _ = await an_idle_client(rig)
    rig.listener._sweep()
    assert client.send_what_fits(post("/up/2", b"{}"))
    assert await client.ended() in ("fin", "rst")
    await rig.at_rest()
    assert (len(rig.records), link.unheard(), rig.upstream.was_left_alone()) == (1, 0, True)
