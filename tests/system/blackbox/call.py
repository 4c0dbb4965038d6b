# One request as the upstream sees it, and one connection that brings it.
#
# Rule 1: a connection tells its upstream of openings and closings from its own callbacks, in the order in which the
#         kernel told of them; nothing here counts.

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, Any

from blackbox.message import Dechunker, Head, parse_head
from blackbox.waiting import PATIENCE, until

if TYPE_CHECKING:
    from blackbox.upstream import FakeUpstream


class Call:
    """One request as the upstream sees it, and the test's hand on its answer."""

    def __init__(self, connection: "Connection", head: Head, counted: bool) -> None:
        self.connection = connection
        self.upstream = connection.upstream
        self.head = head
        self.body = b""
        self.counted = counted
        self.arrived_at = now()
        self.answered_at: float | None = None  # when the answer's head left
        self.ended_at: float | None = None
        self.gone = asyncio.Event()  # the proxy closed the connection before the answer's end
        self.done = asyncio.Event()  # over, whoever ended it
        self.refused = False  # over the upstream's limit
        self.open_then = 0  # counted calls that were open as it came, itself included
        self._chunked = False

    def __repr__(self) -> str:
        return f"<Call {self.head.start} {'gone' if self.gone.is_set() else 'done' if self.done.is_set() else 'open'}>"

    @property
    def name(self) -> str | None:
        """What the client called it (`x-name`)."""
        return self.head.get("x-name")

    # --- answering -------------------------------------------------------------------------------------------------

    async def answer(
        self, status: int = 200, body: bytes = b'{"ok":true}', headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """A whole answer, framed by Content-Length."""
        self.raw(_head_bytes(status, (*headers, ("Content-Length", str(len(body))))) + body)
        await self.end()

    def announce(self, length: int, headers: tuple[tuple[str, str], ...] = ()) -> None:
        """The head of an answer of `length` bytes, which follow by `raw`; then `end` it."""
        self.raw(_head_bytes(200, (*headers, ("Content-Length", str(length)))))

    def begin(self, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> None:
        """The head of a streamed (chunked) answer."""
        self._chunked = True
        event_stream = ("Content-Type", "text/event-stream")
        self.raw(_head_bytes(status, (event_stream, *headers, ("Transfer-Encoding", "chunked"))))

    def say(self, data: bytes) -> None:
        """One chunk."""
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, text: str) -> None:
        self.say(f"data: {text}\n\n".encode())

    async def finish(self) -> None:
        """The last chunk."""
        self.raw(b"0\r\n\r\n")
        await self.end()

    def raw(self, data: bytes) -> None:
        """Any bytes at all; nothing once the other side has gone."""
        if self.answered_at is None:
            self.answered_at = now()
        if not self.connection.transport.is_closing():
            self.connection.transport.write(data)

    async def drained(self) -> None:
        await until(lambda: self.done.is_set() or not self.connection.transport.get_write_buffer_size(), every=0.002)

    async def end(self) -> None:
        """Says that the answer is whole: it is over once its last byte has left."""
        if self.connection.transport.get_write_buffer_size():
            await self.drained()
        self.connection.over(self)

    def cut(self, how: str) -> None:
        """Closes the connection now, by "fin" or "rst"; nothing if the other side has."""
        if self.connection.transport.is_closing():
            return
        if how == "rst":
            sock = self.connection.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.transport.abort()
        else:
            self.connection.transport.close()
        self.connection.over(self)

    async def stopped(self, *, timeout: float = PATIENCE) -> None:
        """Waits until the proxy has closed this call's connection."""
        async with asyncio.timeout(timeout):
            await self.gone.wait()


class Connection(asyncio.Protocol):
    """One connection from the proxy; its requests come one after the other."""

    def __init__(self, upstream: "FakeUpstream") -> None:
        self.upstream = upstream
        self.calls: list[Call] = []
        self.bytes = 0
        self.closed = False
        self._buffer = bytearray()
        self._call: Call | None = None  # the one that is not over
        self._whole = False  # its body is here
        self._dechunker: Dechunker | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport: asyncio.Transport = transport
        self.upstream.connections.append(self)

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        self._buffer += data
        self._advance()

    def eof_received(self) -> bool:
        self._left()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._left()

    def _left(self) -> None:
        while (call := self._call) is not None:
            call.gone.set()
            self.over(call)  # begins the next one if that has come before we took this one for over
            if self._call is call:
                break  # its body will not come any more

    def over(self, call: Call) -> None:
        """The call's end, once."""
        if call.ended_at is None:
            call.ended_at = now()
            call.done.set()
            self.upstream.closed(call)
        if self._call is call and self._whole:
            self._call, self._whole = None, False
            self._advance()

    def _advance(self) -> None:
        if self._call is None:
            at = self._buffer.find(b"\r\n\r\n")
            if at < 0:
                return
            head = parse_head(bytes(self._buffer[: at + 4]))
            del self._buffer[: at + 4]
            self._call = self.upstream.opened(self, head)
            self.calls.append(self._call)
            self._dechunker = Dechunker() if head.chunked else None
        if not self._whole and self._body_is_whole(self._call):
            self._whole = True
            self.upstream.ready(self._call)
            if self._call.done.is_set():  # it was answered before its body was here
                self.over(self._call)

    def _body_is_whole(self, call: Call) -> bool:
        if self._dechunker is not None:
            self._dechunker.feed(bytes(self._buffer))
            self._buffer = bytearray(self._dechunker.rest)
            call.body = bytes(self._dechunker.data)
            return self._dechunker.ended
        length = call.head.length or 0
        if len(self._buffer) < length:
            return False
        call.body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return True


def now() -> float:
    return asyncio.get_running_loop().time()


def _head_bytes(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
