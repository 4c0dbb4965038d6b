# The time before a TLS connection stands: it is bounded, and nobody is left behind in it.

import pytest
from rawsides.message import get, post
from rawsides.tls_fixtures import authority, names, start_tls, tls_rig
from rawsides.tls_hello import Hello

__all__ = ["authority", "names", "start_tls", "tls_rig"]

SOON = {"connect_timeout": "250ms"}


async def test_handshake_that_hangs_is_a_504(start_tls):
    rig = await start_tls({**SOON, "limit": 1})
    client = await rig.client()
    await client.send(post("/up/", b"{}"))
    link = await rig.upstream.bare_link()
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 504 Gateway Timeout\r\n")
    assert b"X-Slotgate-Error: upstream_timeout\r\n" in head
    assert b"no connection within 0.25 s" in await client.until(b"}}")
    await Hello.heard_by(link)
    assert await link.ended() in ("fin", "rst")
    await rig.at_rest()
    assert rig.upstream.was_left_alone()


async def test_next_request_is_connected_after_one_that_was_not(start_tls):
    rig = await start_tls({"connect_timeout": "1s"})
    client = await rig.client()
    await client.send(post("/up/1", b"{}"))
    (await rig.upstream.bare_link()).close()
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    await client.until(b"}}")
    await client.send(get("/up/2"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /2 ")


@pytest.mark.parametrize("message", [get("/up/"), post("/up/", b"{}")], ids=["uncounted", "counted"])
@pytest.mark.parametrize("how", ["close", "reset"])
async def test_client_that_leaves_ends_the_handshake(start_tls, message, how):
    rig = await start_tls({"limit": 1})
    client = await rig.client()
    await client.send(message)
    link = await rig.upstream.bare_link()
    await Hello.heard_by(link)
    getattr(client, how)()
    assert await link.ended() in ("fin", "rst")
    await rig.at_rest()
    assert (await rig.record()).outcome == "abandoned"


async def test_slot_is_free_at_once_after_a_handshake_that_failed(start_tls):
    """Spec §6.3: a request that never reached the upstream skips the rest."""
    rig = await start_tls({"limit": 1, "cooldown": "10m"})
    for _ in range(2):
        client = await rig.client()
        await client.send(post("/up/", b"{}"))
        (await rig.upstream.bare_link()).reset()
        assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    await rig.at_rest()


@pytest.mark.parametrize(
    "garbage", [b"\x15\x03\x03\x00\x02\x02\x28", b"\x00" * 64, b"HTTP/1.1 400 Bad Request\r\n\r\n"]
)
async def test_garbage_in_a_handshake_is_a_502(tls_rig, garbage):
    """An alert, nothing that means anything, and plain HTTP."""
    client = await tls_rig.client()
    await client.send(get("/up/"))
    link = await tls_rig.upstream.bare_link()
    await link.send(garbage)
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"X-Slotgate-Error: upstream_unreachable\r\n" in head
    assert (await link.end())[1] in ("fin", "rst")
