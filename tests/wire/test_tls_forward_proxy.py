# Asking a forward proxy for the way to a TLS upstream, by CONNECT: whatever goes wrong is a clear answer, and nothing
# of a request is said before the upstream has shown who it is.

import ssl

import pytest
from rawsides.message import answer, get, post
from rawsides.peer import Peer
from rawsides.tls_fixtures import authority, names
from rawsides.tls_peer import TlsPeer
from rawsides.tls_tunnel import ESTABLISHED, tunnelled

__all__ = ["authority", "names", "tunnelled"]


async def refused(client: Peer, status: bytes, code: bytes) -> bytes:
    """The body of an answer of our own."""
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 %s " % status)
    assert b"X-Slotgate-Error: %s\r\n" % code in head
    body = await client.until(b"}}")
    assert b"s3cret" not in body
    return body


async def test_upstream_that_is_somebody_else_hears_nothing(tunnelled, authority):
    """The proxy may lead anywhere."""
    tunnel = await tunnelled()
    tunnel.context = authority.server("elsewhere.test")
    client = await tunnel.request(post("/up/", b"{}"))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await tunnel.link()
    assert b"Hostname mismatch" in await refused(client, b"502", b"upstream_unreachable")


async def test_proxy_that_is_somebody_else_hears_nothing(tunnelled, authority):
    tunnel = await tunnelled("https")
    tunnel.forward = authority.server("elsewhere.test")
    client = await tunnel.request(post("/up/", b"{}"))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await tunnel.asked()
    assert b"Hostname mismatch" in await refused(client, b"502", b"upstream_unreachable")


@pytest.mark.parametrize(
    "status", ["407 Proxy Authentication Required", "403 Forbidden", "502 Bad Gateway", "302 Found"]
)
async def test_refusal_of_the_proxy_is_a_502_that_names_it(tunnelled, status):
    tunnel = await tunnelled()
    client = await tunnel.request(post("/up/", b"{}"))
    link = await tunnel.asked()
    await link.send(answer(b"not this way", 'Proxy-Authenticate: Basic realm="x"', status=status))
    assert f"the proxy answered CONNECT with {status[:3]}".encode() in await refused(
        client, b"502", b"upstream_unreachable"
    )
    assert (await link.end())[1] in ("fin", "rst")
    assert tunnel.rig.upstream.was_left_alone()


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 Conn", ESTABLISHED], ids=["nothing", "a part", "yes"])
@pytest.mark.parametrize("how", ["close", "reset"])
async def test_proxy_that_hangs_up_is_a_502_at_once(tunnelled, said, how):
    tunnel = await tunnelled()
    client = await tunnel.request(post("/up/", b"{}"))
    link = await tunnel.asked()
    await link.send(said)
    getattr(link, how)()
    await refused(client, b"502", b"upstream_unreachable")


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 Conn", ESTABLISHED], ids=["nothing", "a part", "yes"])
async def test_proxy_that_hangs_is_a_504_after_connect_timeout(tunnelled, said):
    tunnel = await tunnelled(connect_timeout="250ms")
    client = await tunnel.request(post("/up/", b"{}"))
    link = await tunnel.asked()
    await link.send(said)
    await refused(client, b"504", b"upstream_timeout")
    assert (await link.end())[1] in ("fin", "rst")


@pytest.mark.parametrize("said", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\nX: y\n\n", b"\x00" * 70_000])
async def test_proxy_that_speaks_no_http_is_a_502(tunnelled, said):
    tunnel = await tunnelled()
    client = await tunnel.request(post("/up/", b"{}"))
    link = await tunnel.asked()
    link.send_what_fits(said)
    await refused(client, b"502", b"upstream_unreachable")


async def test_bytes_behind_the_proxys_yes_reach_nobody(tunnelled):
    """A server of TLS does not speak first."""
    tunnel = await tunnelled()
    client = await tunnel.request(post("/up/", b"{}"))
    link = await tunnel.asked()
    await link.send(ESTABLISHED + answer(b"smuggled"))
    assert b"smuggled" not in await refused(client, b"502", b"upstream_unreachable")


async def test_interim_answers_before_the_proxys_yes_are_no_refusal(tunnelled):
    """RFC 9110 15.2: any number of them may come."""
    tunnel = await tunnelled()
    await tunnel.request(get("/up/"))
    link = await tunnel.asked()
    await link.send(b"HTTP/1.1 102 Processing\r\n\r\n" + ESTABLISHED)
    link = await TlsPeer(link, tunnel.context).handshake()
    assert (await link.head()).startswith(b"GET / ")


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_client_that_leaves_ends_the_asking(tunnelled, how):
    tunnel = await tunnelled()
    client = await tunnel.request(post("/up/", b"{}"))
    link = await tunnel.asked()
    getattr(client, how)()
    assert await link.ended() in ("fin", "rst")
