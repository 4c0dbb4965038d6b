# The server's end of a TLS connection, in the test's hands down to the last record: TLS here is a machine in memory,
# so that a test decides when its bytes leave, and how the connection ends.
#
# Rule 1: `close_notify` is the end that TLS knows. `fin`, `close` and `reset` come without one, as from a server that
#         died or a network that cut the answer short.
# Rule 2: what the other side's end was is told as for a Peer; NOTIFIED means that a close_notify came first.

import contextlib
import ssl
from typing import Self

from rawsides.peer import Peer

NOTIFIED = "close_notify"


class TlsPeer(Peer):
    """TLS on a connection, which may be one of TLS itself, as its server; `handshake` comes first."""

    def __init__(self, carrier: Peer, context: ssl.SSLContext) -> None:
        super().__init__(carrier.sock)
        self._carrier = carrier
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._encrypted = b""  # what `send_what_fits` could not send yet

    async def handshake(self) -> Self:
        """ssl.SSLError or ConnectionError where the other side does not want to."""
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush()
                if not await self._receive():
                    raise ConnectionAbortedError(f"{self._ended} in the middle of the handshake") from None
            except ssl.SSLError:
                await self._flush()
                raise
            else:
                await self._flush()
                return self

    async def send(self, data: bytes) -> None:
        self.tls.write(data)
        await self._flush()

    def send_what_fits(self, data: bytes) -> int:
        """All of `data`, once the socket has taken what was given before."""
        if not self._encrypted:
            self.tls.write(data)
            self._encrypted, taken = self._outgoing.read(), len(data)
        else:
            taken = 0
        sent = self._carrier.send_what_fits(self._encrypted)
        self._encrypted = self._encrypted[sent:]
        return taken

    async def close_notify(self) -> None:
        """Say in TLS that nothing more will be said; the connection itself stays."""
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLSyscallError):  # the other side's is not waited for
            self.tls.unwrap()
        await self._flush()

    async def _more(self) -> bool:
        while self._ended is None:
            try:
                data = self.tls.read(262144)
            except ssl.SSLWantReadError:
                await self._receive()
                continue
            except ssl.SSLZeroReturnError:  # how it is told to one who has said its own end
                data = b""
            if data:
                self._buffer += data
                return True
            self._ended = NOTIFIED
        return False

    async def _receive(self) -> bool:
        """Some more records, in their encryption; False at the end of what carries them."""
        if not await self._carrier._more():
            self._ended = self._carrier._ended
            return False
        self._incoming.write(self._carrier._take(len(self._carrier._buffer)))
        return True

    async def _flush(self) -> None:
        encrypted, self._encrypted = self._encrypted + self._outgoing.read(), b""
        if encrypted:
            await self._carrier.send(encrypted)
