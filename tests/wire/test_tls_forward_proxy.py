# A TLS upstream behind a forward proxy: asked for by CONNECT, then end to end. What is the proxy's stays with the
# proxy, and nothing of a request is said before the upstream has shown who it is.

import ssl

import pytest
from rawsides.message import answer, get, post
from rawsides.peer import Peer
from rawsides.rig import Rig
from rawsides.tls_authority import Authority
from rawsides.tls_fixtures import UP, authority, names
from rawsides.tls_hello import Hello
from rawsides.tls_peer import TlsPeer
from rawsides.upstream import Upstream

__all__ = ["authority", "names"]

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
CONNECT = f"CONNECT {UP}:443 HTTP/1.1\r\nHost: {UP}:443\r\nProxy-Authorization: Basic dXNlcjpzM2NyZXQ=\r\n\r\n".encode()
FORWARD = "forward.test"


class Tunnelled:
    """A rig behind a forward proxy, for which `rig.upstream` stands: its links ask for CONNECT first."""

    def __init__(self, rig: Rig, context: ssl.SSLContext, forward: ssl.SSLContext | None) -> None:
        self.rig = rig
        self._context = context
        self._forward = forward

    async def asked(self) -> Peer:
        """The next connection, its CONNECT heard."""
        link = await self.rig.upstream.link()
        if self._forward is not None:
            link = await TlsPeer(link, self._forward).handshake()
        assert await link.head() == CONNECT
        return link

    async def link(self) -> TlsPeer:
        """The upstream's end of a tunnel through the next connection."""
        link = await self.asked()
        await link.send(ESTABLISHED)
        return await TlsPeer(link, self._context).handshake()

    async def request(self, message: bytes) -> Peer:
        client = await self.rig.client()
        await client.send(message)
        return client


@pytest.fixture
async def tunnelled(authority: Authority, names, monkeypatch):
    """Makes them; the proxy is reached by `scheme`."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))  # where the system's authorities are found
    names.table[FORWARD] = ["127.0.0.1"]
    rigs: list[Rig] = []

    async def begin(scheme: str = "http", **entry: object) -> Tunnelled:
        upstream = Upstream()
        through = f"{scheme}://user:s3cret@{FORWARD}:{upstream.port}"
        trusted = {"ca_file": str(authority.file)}
        rigs.append(Rig(upstream, {"url": f"https://{UP}", "proxy": through, "tls": trusted, **entry}, {}))
        await rigs[-1].start()
        return Tunnelled(rigs[-1], authority.server(UP), authority.server(FORWARD) if scheme == "https" else None)

    yield begin
    for rig in rigs:
        await rig.close()


async def refused(client: Peer, status: bytes, code: bytes) -> bytes:
    """The body of an answer of our own."""
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 %s " % status)
    assert b"X-Slotgate-Error: %s\r\n" % code in head
    body = await client.until(b"}}")
    assert b"s3cret" not in body
    return body


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


async def test_upstream_that_is_somebody_else_hears_nothing(tunnelled, authority):
    """The proxy may lead anywhere."""
    tunnel = await tunnelled()
    tunnel._context = authority.server("elsewhere.test")
    client = await tunnel.request(post("/up/", b"{}"))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await tunnel.link()
    assert b"Hostname mismatch" in await refused(client, b"502", b"upstream_unreachable")


async def test_proxy_that_is_somebody_else_hears_nothing(tunnelled, authority):
    tunnel = await tunnelled("https")
    tunnel._forward = authority.server("elsewhere.test")
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
    tunnel = await tunnelled(connect_timeout="100ms")
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
    link = await TlsPeer(link, tunnel._context).handshake()
    assert (await link.head()).startswith(b"GET / ")


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_client_that_leaves_ends_the_asking(tunnelled, how):
    tunnel = await tunnelled()
    client = await tunnel.request(post("/up/", b"{}"))
    link = await tunnel.asked()
    getattr(client, how)()
    assert await link.ended() in ("fin", "rst")
