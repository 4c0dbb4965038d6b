# A provider that listens with TLS, under a name that only tests know.

import ssl

from rawsides.peer import Peer
from rawsides.tls_peer import TlsPeer
from rawsides.upstream import Upstream


class TlsUpstream(Upstream):
    """Like an Upstream, but that its links begin with a handshake."""

    def __init__(self, name: str, context: ssl.SSLContext, *, receive_buffer: int | None = None) -> None:
        super().__init__(receive_buffer=receive_buffer)
        self.name = name
        self.context = context

    @property
    def authority(self) -> str:
        return f"{self.name}:{self.port}"

    async def link(self) -> TlsPeer:
        """The next connection, its handshake done."""
        return await TlsPeer(await self.bare_link(), self.context).handshake()

    async def bare_link(self) -> Peer:
        """The next connection, on which nobody has said anything."""
        return await super().link()
