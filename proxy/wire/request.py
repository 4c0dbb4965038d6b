# One client's request on its connection: its head, its body as it arrives, and whether its answer has begun.
#
# Rule 1: a body that nobody takes yet is bounded, by pausing the connection; one that is read whole is accounted for.
# Rule 2: the client is invited to send its body (100) when somebody wants it, not before.
# Rule 3: a broken body ends the connection: nothing behind it can be understood.

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from proxy.errors import BadMessage, OwnAnswer
from proxy.wire.answer import own_answer
from proxy.wire.body import Body, body_of
from proxy.wire.head import RequestHead, connection_options, expects_continue
from proxy.wire.idle import IdleTimer

UNTAKEN_MAX = 64 * 1024  # bytes kept of a streamed body that nobody takes yet
BODY_IDLE_S = 60.0  # without a byte of a body that is waited for: as nginx's client_body_timeout
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def _too_slow() -> OwnAnswer:
    return OwnAnswer("request_timeout", f"no byte of the request's body has come for {BODY_IDLE_S:g} s")


class Tunnel(Protocol):
    """Who takes a client's bytes once they are no requests any more; `moved` counts them."""

    moved: int

    def data(self, data: bytes) -> None: ...
    def end(self) -> None:
        """The client has half-closed: there will be no more of them."""


class Connection(Protocol):
    """What a request asks of the connection it came on; wire.client has the real one."""

    workspace: asyncio.Future[str | None] | None

    @property
    def is_last(self) -> bool: ...
    @property
    def writable(self) -> bool: ...
    def write(self, data: bytes) -> None: ...
    def write_end(self) -> None: ...
    def unsent(self) -> int: ...
    def socket(self) -> Any: ...
    def is_there(self) -> bool: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def cut(self, *, at_once: bool = False, reset: bool = False) -> None: ...
    def open_tunnel(self, tunnel: Tunnel) -> None: ...


class Request:
    """One request on its connection. `pieces` are the body's bytes as they came, framing included."""

    __slots__ = (
        "_expects",
        "_paused_by",
        "_waiter",
        "answered",
        "body",
        "broken",
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
        "was_cut",
    )

    def __init__(self, connection: Connection, head: RequestHead, length: int) -> None:
        self.connection = connection
        self.head = head
        self.length = length
        self.body: Body = body_of(length)
        self.complete = self.body.done
        self.pieces: list[bytes] = []
        self.buffered = 0
        self.received = 0
        self.gone = False  # the client left, or was cut off
        self.broken = False  # by a RST, or by us
        self.was_cut = False  # by us
        self.failure: OwnAnswer | None = None  # the body was not a body
        self.answered = False  # the first byte of a final answer was written
        self.ends_by_closing = False  # the end of the connection is the end of the answer
        # RFC 9112 9.3; for HTTP/1.0 a connection is one request: its keep-alive was never reliable through proxies.
        self.keep = head.minor == 1 and (b"connection" not in head.names or b"close" not in connection_options(head))
        self.sink: Callable[[bytes], None] | None = None  # takes the body as it arrives, after `stream_to`
        self.on_gone: Callable[[], None] | None = None  # else the task is cancelled
        self.on_writable: Callable[[bool], None] | None = None
        self.task: asyncio.Task[None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._paused_by = False
        expects = b"expect" in head.names and any(map(expects_continue, head.all(b"expect")))
        self._expects = head.minor == 1 and expects

    def __repr__(self) -> str:
        # Never the target: a query may hold a key.
        return f"<Request {self.head.method.decode('latin-1')} {self.received} bytes{' gone' if self.gone else ''}>"

    # --- the body ---

    async def read_body(self, account: Callable[[int], None]) -> None:
        """Wait until the whole body is in `pieces`. `account` hears of each piece's size, first of those that are here
        already, and may raise an OwnAnswer. Raises OwnAnswer `bad_request` for a body that is none, `request_timeout`
        for one that has stopped coming."""
        if self.buffered:
            account(self.buffered)
        self._invite()
        if self.complete:
            return
        idle = IdleTimer(BODY_IDLE_S, lambda: self.received, lambda: self.fail(_too_slow()))
        try:
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
        finally:
            idle.stop()

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
        if self._waiter is not None:
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

    def let_go(self) -> None:
        """It has ended: drop what it holds at once. A task that was cancelled holds its frames, they the request, and
        the request the task; the collector looks for such rings by their number, not by the size of the bodies in
        them."""
        self.task = self.sink = self.failure = None
        self.pieces = []

    # --- the answer ---

    def refuse(self, error: OwnAnswer) -> None:
        """Answer by ourselves; only while nothing of another answer was written."""
        close = self.closes()
        self.answered = True
        self.connection.write(own_answer(error, method=self.head.method, close=close))

    def closes(self) -> bool:
        """Whether the connection ends with the answer that begins now."""
        if self.ends_by_closing or not self.complete or self.connection.is_last:
            self.keep = False
        return not self.keep

    def client_left(self, *, broken: bool) -> None:
        """The connection has ended; `broken` if by no FIN."""
        self.gone = True
        self.broken = broken
        if self.on_gone is not None:
            self.on_gone()
        elif self.task is not None:
            self.task.cancel()
