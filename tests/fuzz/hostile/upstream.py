# A hostile upstream: what it answers to a request, and how, is drawn from the request's name, so that it does not
# depend on who came first. To requests in front of `/polite` it answers as it should.
#
# Rule: surplus behind an answer leaves together with the answer's end. What comes a moment later may meet the next
#       request on the connection, and nobody could tell it from its answer.

import asyncio
import re
import socket
import struct
from random import Random

from hostile import by_h11, grammar
from hostile.mutation import cut
from hostile.reading import answers

_START = re.compile(rb"([^ ]+) (\S*?)\?(?:[^ ?]*\?)*([0-9a-f]{16}) ")
POLITE = b"/polite"


class HostileUpstream:
    """Listens on a free port, `url`. `seed` is the present batch's."""

    def __init__(self) -> None:
        self.seed = 0
        self.url = ""
        self.links: list[Link] = []

    async def start(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(lambda: Link(self), "127.0.0.1", 0)
        self.url = "http://{}:{}".format(*self._server.sockets[0].getsockname())

    async def stop(self) -> None:
        self._server.close()
        self.drop()
        await self._server.wait_closed()

    @property
    def open(self) -> int:
        """How many connections it has."""
        return sum(not link.closed for link in self.links)

    def drop(self) -> "list[Link]":
        """Close every connection and forget it; all there were since the last time."""
        for link in self.links:
            link.leave(reset=True)
        links, self.links = self.links, []
        return links


class Link(asyncio.Protocol):
    """One connection from the proxy. `received` is all it was told; `repeated` the names of requests that may come once
    more, since perhaps no byte of an answer got through; `switched` how much it had been told when it agreed to another
    protocol, `spoilt` how much when it had sent more than an answer: nobody may ask it anything more."""

    def __init__(self, upstream: HostileUpstream) -> None:
        self.received = bytearray()
        self.repeated: set[bytes] = set()
        self.switched: int | None = None
        self.spoilt: int | None = None
        self.closed = False
        self._upstream = upstream
        self._at = 0  # of `received`: where the next request begins
        self._answering: asyncio.Task[None] | None = None
        self._hangs = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._upstream.links.append(self)

    def data_received(self, data: bytes) -> None:
        self.received += data
        self._look()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self._answering is not None:
            self._answering.cancel()

    def leave(self, *, reset: bool) -> None:
        if not self._transport.is_closing():
            if reset:
                sock = self._transport.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.close()

    def _look(self) -> None:
        """Answer the next request if it is time to."""
        if self._answering is not None or self._hangs or self.switched is not None or self._transport.is_closing():
            return
        raw = bytes(self.received[self._at :])
        start = _START.match(raw)
        if start is None or b"\r\n\r\n" not in raw:
            return
        method, path, name = start.groups()
        rng = Random(f"{self._upstream.seed} {name.decode()}")
        read = by_h11.request(raw)
        whole = read is not None and read.whole
        if not whole and (path == POLITE or rng.randrange(5)):
            return
        self._at = len(self.received) - (len(read.rest) if whole else 0)
        if path == POLITE:
            self._transport.write(polite(name, method))
            self._look()
        else:
            self._answering = asyncio.create_task(self._answer(rng, method, name, upgrade=b"\r\nUpgrade:" in raw))

    async def _answer(self, rng: Random, method: bytes, name: bytes, *, upgrade: bool) -> None:
        how = rng.randrange(30)
        if how < 8:
            self.repeated.add(name)
        if how == 0:
            self._hangs = True
            return
        if how < 3:
            self.leave(reset=how == 1)
            return
        agrees = upgrade and rng.randrange(2)
        raw = grammar.switch(rng, name) if agrees else grammar.answer(rng, name)
        reading = answers([raw], method)
        if any(message.head.status >= 400 for message in reading.messages):  # it may be absorbed
            self.repeated.add(name)
        if reading.switched and upgrade:
            self.switched = self._at
        surplus = 0 if reading.switched else len(reading.rest)
        end = len(raw) - surplus - 1 if surplus else len(raw)
        for piece in cut(rng, raw[:end]):
            self._transport.write(piece)
            await asyncio.sleep(0)
        if surplus:
            self.spoilt = len(self.received)
        self._transport.write(raw[end:])
        if how < 8:
            self.leave(reset=how == 3)
        self._answering = None
        self._look()


def polite(name: bytes, method: bytes) -> bytes:
    """The one right answer."""
    body = grammar.marked(name)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Id: %s\r\n\r\n" % (len(body), name)
    return head if method == b"HEAD" else head + body
