# A provider made of sockets: it sees every byte, does what the test says, and enforces its limit like a real one.
#
# Rule 1: a counted call is open from its head until the last byte of its answer has left, or until either side closed
#         the connection; more open than `limit` is a violation, answered 429, and never forgotten.
# Rule 2: counting happens in the protocol's own callbacks, in the order in which the kernel tells of things.
# Rule 3: a call without a script is held until the test does something with it.

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

from blackbox.message import Dechunker, Head, parse_head
from blackbox.waiting import PATIENCE, until

Behaviour = Callable[["Call"], Awaitable[None]]


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
        """Closes the connection now, by "fin" or "rst"."""
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
        if (call := self._call) is not None:
            call.gone.set()
            self.over(call)

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


class FakeUpstream:
    """A listening provider. Every POST is counted; `limit` is what it enforces, `lag` how long its own books keep a
    call that has ended."""

    def __init__(self, *, limit: int | None = None, lag: float = 0.0) -> None:
        self.limit, self.lag = limit, lag
        self.behaviour: Behaviour = hold
        self.usage: Usage | None = None
        self.port = 0
        self.connections: list[Connection] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: list[asyncio.TimerHandle] = []
        self.clear()

    def clear(self) -> None:
        """Forgets what it saw. Open calls stay counted."""
        self.calls: list[Call] = []
        self.violations: list[Call] = []
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self.open = sum(1 for c in self.connections for call in c.calls if call.counted and not call.done.is_set())
        self.peak = self.open
        self._taken = 0

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self), "127.0.0.1", self.port, backlog=4096, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        self.drop()
        for timer in self._timers:
            timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await until(lambda: all(c.closed for c in self.connections))

    def drop(self) -> None:
        """Resets every connection."""
        for connection in self.connections:
            connection.transport.abort()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def names(self) -> list[str | None]:
        """The counted calls in the order of their arrival, by name."""
        return [call.name for call in self.calls if call.counted]

    async def call(self, *, timeout: float = PATIENCE) -> Call:
        """The next call that nobody has taken yet, in the order of arrival."""
        await until(lambda: len(self.calls) > self._taken, timeout=timeout, every=0.002, what="a call to the upstream")
        self._taken += 1
        return self.calls[self._taken - 1]

    async def take(self, count: int) -> list[Call]:
        return [await self.call() for _ in range(count)]

    # --- what connections tell -------------------------------------------------------------------------------------

    def opened(self, connection: Connection, head: Head) -> Call:
        call = Call(connection, head, counted=head.method == "POST")
        if call.counted:
            self.open += 1
        return call

    def closed(self, call: Call) -> None:
        if not call.counted:
            return
        if self.lag and not call.refused:
            self._timers.append(asyncio.get_running_loop().call_later(self.lag, self._forget))
        else:
            self._forget()

    def _forget(self) -> None:
        self.open -= 1

    def ready(self, call: Call) -> None:
        if self.usage is not None and call.head.method == "GET" and call.head.target.startswith(self.usage.path):
            self._spawn(self.usage.serve(call))
        else:
            self._spawn(self._serve(call))

    async def _serve(self, call: Call) -> None:
        # A close and the next request can be told of in one turn of the loop, the close's callback one turn later.
        for _ in range(3):
            await asyncio.sleep(0)
        self.calls.append(call)
        if call.done.is_set():
            return
        self.peak = max(self.peak, self.open)
        if call.counted and self.limit is not None and self.open > self.limit:
            call.refused = True
            self.violations.append(call)
            await call.answer(429, b'{"error":{"message":"too many concurrent requests"}}')
        else:
            await self.behaviour(call)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Usage:
    """The usage endpoint: says `number`, or what `answer` does instead."""

    def __init__(self, number: int = 0, *, path: str = "/v1/usage") -> None:
        self.number = number
        self.path = path
        self.answer: Behaviour | None = None
        self.polls: list[Call] = []
        self.open = self.peak = 0

    async def serve(self, call: Call) -> None:
        self.polls.append(call)
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            if self.answer is None:
                await call.answer(200, b'{"usage":{"concurrent_sessions":%d}}' % self.number)
            else:
                await self.answer(call)
            await call.done.wait()
        finally:
            self.open -= 1


async def hold(call: Call) -> None:
    """Leaves the call to the test."""


def now() -> float:
    return asyncio.get_running_loop().time()


def _head_bytes(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
