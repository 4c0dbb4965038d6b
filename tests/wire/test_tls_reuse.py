# Kept connections over TLS: used again, replaced once when they turn out closed, and deaf to what nobody asked for.

import ssl

import pytest
from rawsides.message import answer, get, post
from rawsides.rig import becomes
from rawsides.tls_fixtures import UP, authority, names, start_tls, tls_rig

from proxy.wire import pool

__all__ = ["authority", "names", "start_tls", "tls_rig"]

BODY = b'{"prompt": "\x00\xff"}'


async def a_kept_connection(rig):
    """A client, and the upstream's side of a connection that has served it once."""
    client, link = await rig.ask(get("/up/first"))
    await link.head()
    await link.send(answer(b"first"))
    await client.exactly(len(answer(b"first")))
    return client, link


async def end(link, how: str) -> None:
    if how == "close_notify":
        await link.close_notify()
    if how == "rst":
        link.reset()
    else:
        link.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_one_handshake_serves_many_requests(start_tls, authority, version):
    """Session tickets, which a 1.3 server sends behind the handshake, are not taken for unsolicited bytes."""
    rig = await start_tls(served=authority.server(UP, of=version))
    client, link = await a_kept_connection(rig)
    for number in range(20):
        await client.send(post(f"/up/{number}", BODY))
        assert (await link.until(BODY)).startswith(b"POST /%d HTTP/1.1\r\n" % number)
        await link.send(answer(b"ok"))
        assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    assert rig.upstream.was_left_alone()


@pytest.mark.parametrize("how", ["close_notify", "fin", "rst"])
async def test_request_on_a_stale_connection_is_sent_again_once(tls_rig, how):
    """KA-01 over TLS."""
    client, link = await a_kept_connection(tls_rig)
    await client.send(post("/up/again", BODY))
    sent = await link.until(BODY)
    await end(link, how)
    fresh = await tls_rig.upstream.link()
    assert await fresh.until(BODY) == sent
    await end(fresh, how)
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    await tls_rig.record(2)
    assert tls_rig.upstream.was_left_alone(), "never a third time"


@pytest.mark.parametrize("how", ["close_notify", "fin", "rst"])
async def test_connection_that_ended_while_idle_is_not_used(tls_rig, how):
    client, link = await a_kept_connection(tls_rig)
    (kept,) = tls_rig.forwarder._view._pools["up"][1]._idle
    await end(link, how)
    await becomes(lambda: kept.closed, "the end was noticed")
    await client.send(get("/up/next"))
    fresh = await tls_rig.upstream.link()
    assert (await fresh.head()).startswith(b"GET /next ")


async def test_unsolicited_bytes_on_an_idle_connection_reach_nobody_and_end_it(tls_rig, monkeypatch):
    monkeypatch.setattr(pool, "IDLE_S", 3600.0)  # else the sweep would end it too
    client, link = await a_kept_connection(tls_rig)
    await link.send(answer(b"nobody asked", status="408 Request Timeout"))
    assert await link.ended() in ("fin", "rst")
    await client.send(get("/up/2"))
    second = await tls_rig.upstream.link()
    await second.head()
    await second.send(answer(b"asked"))
    assert await client.exactly(len(answer(b"asked"))) == answer(b"asked")


async def test_surplus_bytes_behind_an_answer_reach_nobody_and_end_its_connection(tls_rig, monkeypatch):
    monkeypatch.setattr(pool, "IDLE_S", 3600.0)
    client, link = await tls_rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"ok") + answer(b"nobody asked"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    assert await link.ended() in ("fin", "rst")
    await client.send(get("/up/2"))
    second = await tls_rig.upstream.link()
    await second.head()
    await second.send(answer(b"asked"))
    assert await client.exactly(len(answer(b"asked"))) == answer(b"asked")


async def test_reuse_false_makes_each_request_its_own_handshake(start_tls):
    rig = await start_tls({"reuse": False})
    client, link = await a_kept_connection(rig)
    await client.send(get("/up/2"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /2 ")
    assert await link.ended() in ("fin", "rst")
