# One client's connection: requests come in, one at a time; answers go out as bytes.
#
# Rule 1: while a request is served, reading goes on, so that a client that leaves is noticed at once. Only what is
#         behind the request (pipelining) and bodies that nobody takes yet are bounded, by pausing.
# Rule 2: FIN counts as leaving, like RST: clients that give up close, and TCP cannot tell that from a half-close.
# Rule 3: the end of an answer is written by whoever knows that it is whole. A connection whose answer is not whole is
#         cut, by RST where the framing could not show it.
# Rule 4: the connection is used again only if both the answer and the request were whole, and when the client has taken
#         the answer: what it is sent is bounded over all its requests.

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, cast

from proxy.errors import BadMessage, OwnAnswer
from proxy.wire.answer import own_answer
from proxy.wire.body import Body, body_of
from proxy.wire.hangup import Hangups
from proxy.wire.head import RequestHead, connection_options, find_end, parse_request, request_length

PIPELINED_MAX = 64 * 1024  # bytes kept of what comes behind the request that is served
UNTAKEN_MAX = 64 * 1024  # bytes kept of a streamed body that nobody takes yet
DRAINED_MAX = 8 * 1024 * 1024  # of a refused request's body, so that the refusal can be read (spec §10)
DRAIN_S = 30.0  # how long that may take
IDLE_S = 120.0  # a kept-alive connection without a request; above what agents' own pools keep (4–90 s)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: close() sends RST

Serve = Callable[["Request"], Coroutine[Any, Any, None]]


def keep_alive(sock: Any) -> None:
    """TCP keepalive (spec §9: idle 60 s, 4 probes of 15 s), so that a peer that vanished without FIN is noticed."""
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Listener(Protocol):
    """What the connections of one server share."""

    header_timeout_s: Callable[[], float]
    draining: bool
    serve: Serve
    connections: set["ClientConnection"]
    hangups: Hangups


class Request:
    """One request on its connection. `pieces` are the body's bytes as they came, framing included."""

    __slots__ = (
        "_expects",
        "_paused_by",
        "_waiter",
        "answered",
        "body",
        "buffered",
        "complete",
        "connection",
        "ends_by_closing",
        "failure",
        "gone",
        "head",
        "keep",
        "length",
        "on_gone",
        "on_writable",
        "pieces",
        "received",
        "sink",
        "task",
    )

    def __init__(self, connection: "ClientConnection", head: RequestHead, length: int) -> None:
        self.connection = connection
        self.head = head
        self.length = length
        self.body: Body = body_of(length)
        self.complete = self.body.done
        self.pieces: list[bytes] = []
        self.buffered = 0
        self.received = 0
        self.gone = False  # the client left
        self.failure: OwnAnswer | None = None  # the body was not a body
        self.answered = False  # the first byte of a final answer was written
        self.ends_by_closing = False  # the end of the connection is the end of the answer
        # RFC 9112 9.3; for HTTP/1.0 a connection is one request: its keep-alive was never reliable through proxies.
        self.keep = head.minor == 1 and (
            b"connection" not in head.names or b"close" not in connection_options(head.names, head.fields)
        )
        self.sink: Callable[[bytes], None] | None = None  # takes the body as it arrives, after `stream_to`
        self.on_gone: Callable[[], None] | None = None  # else the task is cancelled
        self.on_writable: Callable[[bool], None] | None = None
        self.task: asyncio.Task[None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._paused_by = False
        expect = head.get(b"expect")
        self._expects = head.minor == 1 and expect is not None and expect.lower() == b"100-continue"

    def __repr__(self) -> str:
        # Never the target: a query may hold a key.
        return f"<Request {self.head.method.decode('latin-1')} {self.received} bytes{' gone' if self.gone else ''}>"

    # --- the body ---

    async def read_body(self, account: Callable[[int], None]) -> None:
        """Wait until the whole body is in `pieces`. `account` hears of each piece's size, first of those that are here
        already, and may raise an OwnAnswer. Raises OwnAnswer `bad_request` for a body that is none."""
        if self.buffered:
            account(self.buffered)
        self._invite()
        while not self.complete:
            seen = self.buffered
            self._resume()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
            if self.failure is not None:
                raise self.failure
            account(self.buffered - seen)

    def stream_to(self, sink: Callable[[bytes], None]) -> None:
        """Hand over the body's bytes, those that are here and each that comes. Backpressure by `hold` and `go_on`."""
        self.sink = sink
        pieces, self.pieces, self.buffered = self.pieces, [], 0
        self._resume()  # before the sink is given anything: it may call `hold` at once
        for piece in pieces:
            sink(piece)
        self._invite()

    def hold(self) -> None:
        """Stop reading the client until `go_on`."""
        if not self.complete and not self._paused_by:
            self._paused_by = True
            self.connection.pause()

    def go_on(self) -> None:
        """Read the client again."""
        self._resume()

    def _resume(self) -> None:
        if self._paused_by:
            self._paused_by = False
            self.connection.resume()

    def _invite(self) -> None:
        if self._expects and not self.received and not self.complete:
            self.connection.write(CONTINUE)
        self._expects = False

    def deliver(self, data: bytes) -> int:
        """Bytes arrived; how many of them were this body's."""
        try:
            used = self.body.feed(data)
        except BadMessage as error:
            self.fail(OwnAnswer("bad_request", f"request body: {error}"))
            return len(data)
        piece = data if used == len(data) else data[:used]
        self.complete = self.body.done
        self.received += used
        if self.sink is not None:
            self.sink(piece)
        else:
            self.pieces.append(piece)
            self.buffered += used
            if self._waiter is None and self.buffered > UNTAKEN_MAX:
                self.hold()
        self._wake()
        return used

    def fail(self, failure: OwnAnswer) -> None:
        """The body is broken: nothing that follows on this connection can be understood."""
        self.failure = failure
        self.keep = False
        if self.answered:
            self.connection.cut()
        if self._waiter is None and self.task is not None:
            self.task.cancel()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- the answer ---

    def refuse(self, error: OwnAnswer) -> None:
        """Answer by ourselves; only while nothing of another answer was written."""
        close = self.closes()
        self.answered = True
        self.connection.write(own_answer(error, method=self.head.method, close=close))

    def closes(self) -> bool:
        """Whether the connection ends with the answer that begins now."""
        if self.ends_by_closing or not self.complete or self.connection.listener.draining:
            self.keep = False
        return not self.keep

    def client_left(self) -> None:
        """The connection is gone, or half of it."""
        self.gone = True
        if self.on_gone is not None:
            self.on_gone()
        elif self.task is not None:
            self.task.cancel()


class ClientConnection(asyncio.Protocol):
    """The protocol of one accepted socket."""

    def __init__(self, listener: Listener, loop: asyncio.AbstractEventLoop) -> None:
        self.listener = listener
        self.idle_since = loop.time()
        self.request: Request | None = None
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._searched = 0  # how much of the buffer was seen to hold no end of a head
        self.writable = True  # False while the client takes less than it is sent
        self._pauses = 0
        self._watched: int | None = None  # the descriptor whose hang-up is waited for while reading is paused
        self._head_timer: asyncio.TimerHandle | None = None
        self._drained: int | None = None  # bytes thrown away since the refusal; None: not refused
        self._refused_body: Body | None = None
        self._tunnel: Callable[[bytes], None] | None = None
        self._ended = False

    def __repr__(self) -> str:
        return f"<ClientConnection {'idle' if self.request is None else self.request}>"

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are none by inheritance
        keep_alive(transport.get_extra_info("socket"))
        self.listener.connections.add(self)

    def data_received(self, data: bytes) -> None:
        request = self.request
        if self._tunnel is not None:
            self._tunnel(data)
        elif self._drained is not None:
            self._drain(data)
        elif request is None and self.writable:
            self._buffer += data
            self._read_head()
        elif request is None:
            self._keep_for_later(data)
        elif request.failure is not None:
            return  # what follows a broken body means nothing
        elif not request.complete:
            used = request.deliver(data)
            if used < len(data):
                self._keep_for_later(data[used:])
        else:
            self._keep_for_later(data)

    def eof_received(self) -> bool:
        self._leave()
        return False  # close our side too

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._leave()
        self._transport = None
        self.listener.connections.discard(self)

    def pause_writing(self) -> None:
        self._set_writable(False)

    def resume_writing(self) -> None:
        self._set_writable(True)

    # --- what others do with it ---

    def write(self, data: bytes) -> None:
        """Send bytes; nothing if the client is gone."""
        transport = self._transport
        if transport is not None and not self._ended and not transport.is_closing():
            transport.write(data)

    def unsent(self) -> int:
        """Bytes written that the client has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def pause(self) -> None:
        """Stop reading; counted, each needs its `resume`."""
        self._pauses += 1
        if self._pauses == 1 and self._transport is not None:
            self._transport.pause_reading()
            sock = self._transport.get_extra_info("socket")
            if sock is not None:
                self._watched = sock.fileno()
                self.listener.hangups.watch(self._watched, self._hung_up)

    def resume(self) -> None:
        """Undo one `pause`; without one it does nothing."""
        self._pauses = max(0, self._pauses - 1)
        if self._pauses == 0 and self._transport is not None:
            self._unwatch()
            self._transport.resume_reading()

    def cut(self, *, at_once: bool = False) -> None:
        """End the connection in the middle of an answer, after what was written, or `at_once`: by RST where the
        framing would show a clean end."""
        if self._transport is None:
            return
        if self.request is not None and self.request.ends_by_closing:
            sock = self._transport.get_extra_info("socket")
            with contextlib.suppress(OSError):  # the peer may have closed it a moment ago
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._ended = True
        if at_once:
            self._transport.abort()
        else:
            self._transport.close()

    def open_tunnel(self, take: Callable[[bytes], None]) -> None:
        """From here on every byte of the client goes to `take`, those behind the request first."""
        self._tunnel = take
        self._unpause()
        if self._buffer:
            data = bytes(self._buffer)
            self._buffer.clear()
            take(data)

    def close_if_idle(self) -> None:
        """Close now unless a request is being served; a head that is half here counts as idle."""
        if self.request is None and self._drained is None:
            self._close()

    # --- inside ---

    def _set_writable(self, ready: bool) -> None:
        self.writable = ready
        if self.request is None:
            if ready and self._drained is None:
                self._go_on()
        elif self.request.on_writable is not None:
            self.request.on_writable(ready)

    def _hung_up(self) -> None:
        """The client left while it was not read: nothing of what it sent last is for anybody any more."""
        self._leave()
        if self._transport is not None:
            self._transport.abort()

    def _unwatch(self) -> None:
        if self._watched is not None:
            self.listener.hangups.unwatch(self._watched)
            self._watched = None

    def _leave(self) -> None:
        self._ended = True
        self._stop_head_timer()
        request = self.request
        if request is not None and not request.gone:
            request.client_left()

    def _close(self) -> None:
        self._ended = True
        self._stop_head_timer()
        if self._transport is not None:
            self._transport.close()

    def _keep_for_later(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > PIPELINED_MAX and self._pauses == 0:
            self.pause()

    def _read_head(self) -> None:
        """Begin the next request if its head is whole."""
        buffer = self._buffer
        while buffer.startswith(b"\r\n"):
            del buffer[:2]  # RFC 9112 2.2: an empty line in front of a request is ignored
        try:
            end = find_end(buffer, self._searched)
            if end < 0:
                self._searched = len(buffer)
                if buffer and self._head_timer is None:
                    self._head_timer = self._loop.call_later(self.listener.header_timeout_s(), self._head_too_slow)
                return
            head = parse_request(bytes(buffer[:end]))
            length = request_length(head)
        except BadMessage as error:
            self._refuse_head(OwnAnswer("bad_request", str(error)))
            return
        self._stop_head_timer()
        rest = bytes(buffer[end:])
        buffer.clear()
        self._searched = 0
        self._begin(Request(self, head, length), rest)

    def _begin(self, request: Request, rest: bytes) -> None:
        self.request = request
        if rest and not request.complete:
            rest = rest[request.deliver(rest) :]
            if request.failure is not None:
                self.request = None
                self._refuse_head(request.failure)
                return
        if rest:
            self._keep_for_later(rest)
        request.task = self._loop.create_task(self.listener.serve(request), name="request")
        request.task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        request, self.request = self.request, None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.call_exception_handler({"message": "a request's task failed", "exception": error, "task": task})
        if self._transport is None or self._ended or request is None:
            self._close()
        elif not request.answered:
            if request.failure is None:
                self.cut()
            else:
                self._refuse_head(request.failure)
        elif request.failure is not None:
            self._start_drain(None)
        elif not request.complete:
            self._start_drain(request.body)
        elif not request.keep or self.listener.draining:
            self._close()
        else:
            self.idle_since = self._loop.time()
            self._go_on()

    def _go_on(self) -> None:
        """Take the next request, once the client has taken the last answer."""
        if self.writable and not self._ended:
            self._unpause()
            if self._buffer:
                self._read_head()

    def _unpause(self) -> None:
        if self._pauses:
            self._pauses = 1
            self.resume()

    def _start_drain(self, body: Body | None) -> None:
        """Throw away what the client still sends, for a while: closing at once would reset the answer out of its hands
        before it has read it. Our end is said at once."""
        self._drained = 0
        self._refused_body = body
        self._buffer.clear()
        self._unpause()
        self._stop_head_timer()
        self._head_timer = self._loop.call_later(DRAIN_S, self._close)
        if self._transport is not None and self._transport.can_write_eof():
            with contextlib.suppress(OSError):  # the peer may have reset it a moment ago
                self._transport.write_eof()

    def _drain(self, data: bytes) -> None:
        assert self._drained is not None
        self._drained += len(data)
        try:
            if self._refused_body is not None:
                self._refused_body.feed(data)
        except BadMessage:
            self._close()
        if self._drained > DRAINED_MAX or (self._refused_body is not None and self._refused_body.done):
            self._close()

    def _refuse_head(self, error: OwnAnswer) -> None:
        self.write(own_answer(error, method=b"GET", close=True))
        self._start_drain(None)

    def _head_too_slow(self) -> None:
        self._head_timer = None
        self._refuse_head(OwnAnswer("request_timeout", "the request's head took too long"))
        self._close()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
