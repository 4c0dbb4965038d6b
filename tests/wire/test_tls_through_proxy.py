# A TLS upstream behind a forward proxy: TLS goes end to end. What is the proxy's stays with the proxy, and the upstream
# alone says when it has said all.

import pytest
from rawsides.message import answer, begun, get, post
from rawsides.tls_fixtures import UP, authority, names
from rawsides.tls_hello import Hello
from rawsides.tls_tunnel import ESTABLISHED, FORWARD, tunnelled

__all__ = ["authority", "names", "tunnelled"]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_upstream_hears_the_request_and_nothing_of_the_proxy(tunnelled, names, scheme):
    tunnel = await tunnelled(scheme)
    client = await tunnel.request(post("/up/x", b"{}", "Proxy-Authorization: Basic Y2xpZW50", "X-A: b"))
    link = await tunnel.link()
    assert (
        await link.until(b"{}") == f"POST /x HTTP/1.1\r\nHost: {UP}\r\nX-A: b\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    )
    body = bytes(range(256)) * 1024
    await link.send(answer(body))
    assert await client.exactly(len(answer(body))) == answer(body)
    await client.send(get("/up/2"))
    assert (await link.head()).startswith(b"GET /2 "), "the tunnel is kept"
    assert UP not in names.asked, "the proxy looks it up"


async def test_names_in_both_handshakes_are_their_own(tunnelled):
    tunnel = await tunnelled("https")
    await tunnel.request(get("/up/"))
    outer = await tunnel.rig.upstream.link()
    hello = await Hello.heard_by(outer)
    assert hello.names == (FORWARD,)


async def test_name_in_the_tunnel_is_the_upstreams(tunnelled):
    tunnel = await tunnelled()
    await tunnel.request(get("/up/"))
    link = await tunnel.asked()
    await link.send(ESTABLISHED)
    assert (await Hello.heard_by(link)).names == (UP,)


@pytest.mark.parametrize("how", ["close_notify", "close", "reset"])
async def test_proxy_that_ends_the_tunnel_is_no_end_of_the_answer(tunnelled, how):
    """Only the upstream's own close_notify, inside, is; the proxy's, outside, cuts what is under way."""
    tunnel = await tunnelled("https")
    client = await tunnel.request(get("/up/"))
    link = await tunnel.link()
    await link.head()
    await link.send(begun() + b"a part")
    await client.until(b"a part")
    if how == "close_notify":
        await link._carrier.close_notify()
    else:
        getattr(link, how)()
    assert await client.ended() == "rst"


async def test_upstreams_own_end_inside_the_tunnel_ends_the_answer(tunnelled):
    tunnel = await tunnelled("https")
    client = await tunnel.request(get("/up/"))
    link = await tunnel.link()
    await link.head()
    await link.send(begun() + b"all of it")
    await link.close_notify()
    assert await client.end() == (begun("Connection: close") + b"all of it", "fin")
