# A rig whose TLS upstream is behind a forward proxy, both of them in the test's hands. What a test is given:
# `tunnelled`, which makes them.

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from rawsides.names import Names
from rawsides.peer import Peer
from rawsides.rig import Rig
from rawsides.tls_authority import Authority
from rawsides.tls_fixtures import UP
from rawsides.tls_peer import TlsPeer
from rawsides.upstream import Upstream

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
CONNECT = f"CONNECT {UP}:443 HTTP/1.1\r\nHost: {UP}:443\r\nProxy-Authorization: Basic dXNlcjpzM2NyZXQ=\r\n\r\n".encode()
FORWARD = "forward.test"


class Tunnelled:
    """A rig behind a forward proxy, for which `rig.upstream` stands: its links ask for CONNECT first."""

    def __init__(self, rig: Rig, context: ssl.SSLContext, forward: ssl.SSLContext | None) -> None:
        self.rig = rig
        self.context = context  # the upstream's
        self.forward = forward  # the proxy's, if it is reached by https

    async def asked(self) -> Peer:
        """The next connection, its CONNECT heard."""
        link = await self.rig.upstream.link()
        if self.forward is not None:
            link = await TlsPeer(link, self.forward).handshake()
        assert await link.head() == CONNECT
        return link

    async def link(self) -> TlsPeer:
        """The upstream's end of a tunnel through the next connection."""
        link = await self.asked()
        await link.send(ESTABLISHED)
        return await TlsPeer(link, self.context).handshake()

    async def request(self, message: bytes) -> Peer:
        client = await self.rig.client()
        await client.send(message)
        return client


Begin = Callable[..., Awaitable[Tunnelled]]


@pytest.fixture
async def tunnelled(authority: Authority, names: Names, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Begin]:
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
