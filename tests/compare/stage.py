# Exchanges played through the proxy on raw sockets, and compared with what is due to either side.
#
# Rule 1: nothing is compared in part. After an exchange another one follows on what is left open, so that a byte too
#         many on either side, or a connection that ended, shows.
# Rule 2: what is expected is the model's. A second opinion compares what was sent, which is what the other side would
#         have seen without the proxy, with what came, and knows only what may go missing.
# Rule 3: a difference is a sentence in a list, not an exception: a table is played to its end.

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from difference import SHOWN, difference, unexplained
from ear import Ear
from model import FIN, OPEN, RST, Seen, client_sees, upstream_kept, upstream_sees
from rawsides.peer import Peer
from rawsides.tls_peer import TlsPeer
from rawsides.upstream import Upstream


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the client sends; what the upstream then sends, and how it leaves, if it does. `pieces` is how many bytes
    are sent at a time; 0 for all at once."""

    request: bytes
    answer: bytes
    ends: str = OPEN
    pieces: int = 0


NEXT = Exchange(b"", b"HTTP/1.1 299 Next\r\nContent-Length: 2\r\n\r\nok")


class Stage:
    """A client, the proxy at `address`, and the upstream to which `prefix` leads; its URL has the path `base`."""

    def __init__(
        self,
        address: tuple[str, int],
        upstream: Upstream,
        *,
        prefix: bytes = b"/up",
        base: bytes = b"",
        reuses: bool = True,
    ) -> None:
        self._address = address
        self._upstream = upstream
        self._prefix = prefix
        self._base = base
        self._reuses = reuses
        self._next = replace(NEXT, request=b"GET %s/next HTTP/1.1\r\nHost: a\r\n\r\n" % prefix)
        self._client: Ear | None = None
        self._link: Ear | None = None

    async def shows_no_difference(self, table: Mapping[str, Exchange]) -> None:
        """Play each of them by itself."""
        found = []
        for name, exchange in table.items():
            found += [f"{name}: {line}" for line in await self.differences(exchange)]
        assert not found, "\n" + "\n".join(found)

    async def differences(self, *exchanges: Exchange) -> list[str]:
        """Play them one after the other, and one more; what is not as it should be."""
        found = []
        for exchange in (*exchanges, self._next):
            found = await self._compare(exchange)
            if found:
                self.clear()
                break
        return found

    async def pipelined(self, *exchanges: Exchange) -> list[str]:
        """As `differences`, all requests being sent before the first is answered."""
        sent = b"".join(exchange.request for exchange in exchanges)
        found = await self._compare(exchanges[0], sent=sent)
        for exchange in (*exchanges[1:], self._next):
            found = found or await self._compare(exchange, sent=b"" if exchange is not self._next else None)
        if found:
            self.clear()
        return found

    def clear(self) -> None:
        """Leave everybody: what comes next begins anew."""
        for ear in (self._client, self._link):
            if ear is not None:
                ear.peer.reset()
        self._client = self._link = None

    # --- inside ---

    async def _compare(self, exchange: Exchange, *, sent: bytes | None = None) -> list[str]:
        authority = self._upstream.authority.encode()
        request = Seen(upstream_sees(exchange.request, authority, prefix=self._prefix, base=self._base))
        answer = client_sees(exchange.answer, exchange.ends, exchange.request)
        assert answer is not None, "the model does not know this answer"
        kept = self._reuses and upstream_kept(exchange.answer, exchange.ends, exchange.request)
        if self._client is None:
            self._client = Ear(await Peer.connect(self._address))
        client, message = self._client, exchange.request if sent is None else sent
        sending = asyncio.create_task(say(client.peer, message, exchange.pieces))
        try:
            link = self._link = await self._next_link()
            if link is None:
                return [f"upstream: no request came; the client was told {(await client.hear(1)).data[:SHOWN]!r}"]
            heard = await link.hear(len(request.data))
            if found := difference("upstream", request, heard):
                return [*found, *unexplained(exchange.request, heard.data)]
            await sending
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        answering = asyncio.create_task(say(link.peer, exchange.answer, exchange.pieces, exchange.ends))
        try:
            told = await client.hear(len(answer.data), to_its_end=answer.ended != OPEN)
        finally:
            await answering
        found = difference("client", answer, told)
        found += unexplained(exchange.request, heard.data) + unexplained(exchange.answer, told.data)
        if answer.ended != OPEN:
            client.peer.close()
            self._client = None
        if not kept:
            if exchange.ends == OPEN and (await link.hear(0, to_its_end=True)).ended == OPEN:
                found.append("upstream: its connection was not closed")
            link.peer.close()
            self._link = None
        return found

    async def _next_link(self) -> Ear | None:
        """The connection on which the next request arrives: the present one, or a new one; None if there is none."""
        accepting = asyncio.create_task(self._upstream.link())
        present = self._link
        if present is not None and await present.speaks_before(accepting):
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
            return present
        if present is not None:
            present.peer.close()
        try:
            return Ear(await accepting)
        except TimeoutError:
            return None


async def say(peer: Peer, message: bytes, pieces: int, ends: str = OPEN) -> None:
    """Send, in pieces if wanted, and leave. A peer that has gone is told nothing more."""
    with contextlib.suppress(OSError):
        for at in range(0, len(message), pieces or len(message) or 1):
            await peer.send(message[at : at + (pieces or len(message))])
            await asyncio.sleep(0)
        if ends == FIN and isinstance(peer, TlsPeer):
            await peer.close_notify()
        if ends == FIN:
            peer.fin()
        elif ends == RST:
            peer.reset()
