# One client's connection: requests come in, one at a time; answers go out as bytes.
#
# Rule 1: while a request is served, reading goes on, so that a client that leaves is noticed at once. Only what is
#         behind the request (pipelining) and bodies that nobody takes yet are bounded, by pausing.
# Rule 2: FIN counts as leaving, like RST, unless the whole request is here and the client is known to wait for its
#         answer (wire.half_close): then it is answered, and its connection ends with that.
# Rule 3: the end of an answer is written by whoever knows that it is whole. A connection whose answer is not whole is
#         cut, by RST where the framing could not show it.
# Rule 4: the connection is used again only if both the answer and the request were whole, and when the client has taken
#         the answer: what it is sent is bounded over all its requests.

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import Any, cast

from proxy.errors import BadMessage, OwnAnswer
from proxy.wire.answer import own_answer
from proxy.wire.body import Body
from proxy.wire.drain import Drain
from proxy.wire.half_close import HalfClosed, may_read
from proxy.wire.head import RequestHead, parse_request, request_length
from proxy.wire.head_reader import HeadReader, whole_head
from proxy.wire.idle import IdleTimer
from proxy.wire.keepalive import keep_alive
from proxy.wire.listener import Listener
from proxy.wire.pauses import Pauses
from proxy.wire.request import Request, Tunnel

PIPELINED_MAX = 64 * 1024  # bytes kept of what comes behind the request that is served
LAST_WORDS_S = 10.0  # how long a tunnel's upstream may take nothing of what a client said before it left
LINGER_S = 300.0  # a client that takes nothing of its last answer for so long does not want it; as slot_timeout
IDLE_S = 120.0  # a kept-alive connection without a request; above what agents' own pools keep (4–90 s)
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: close() sends RST


def _to_nobody(data: bytes) -> None:
    """The client is gone, or is sent nothing more."""


class ClientConnection(asyncio.Protocol):
    """The protocol of one accepted socket."""

    def __init__(self, listener: Listener, loop: asyncio.AbstractEventLoop) -> None:
        self.listener = listener
        self.idle_since = loop.time()
        self.request: Request | None = None
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._heads = HeadReader()
        self._buffer = self._heads.buffer  # what nobody has taken yet
        self.writable = True  # False while the client takes less than it is sent
        self._pauses: Pauses | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        self._drain: Drain | None = None  # since a refusal
        self._tunnel: Tunnel | None = None
        self._unwelcome: OwnAnswer | None = None
        self._half_closed: HalfClosed | None = None
        self._eof = False  # all that the client said before its FIN was read
        self._ended = False
        self.write: Callable[[bytes], None] = _to_nobody  # sends bytes: the transport's own, until the end
        self._lingering: IdleTimer | None = None
        self.workspace: asyncio.Future[str | None] | None = None  # of its process, once somebody has asked

    def __repr__(self) -> str:
        return f"<ClientConnection {'idle' if self.request is None else self.request}>"

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are none by inheritance
        self.write = self._transport.write
        self._pauses = Pauses(self._transport, self.listener.hangups, self._hung_up, self._loop)
        keep_alive(transport.get_extra_info("socket"))
        self.listener.connections.add(self)
        self._unwelcome = self.listener.crowded()

    def data_received(self, data: bytes) -> None:
        request = self.request
        if self._tunnel is not None:
            self._tunnel.data(data)
        elif self._drain is not None:
            self._drain.data(data)
        elif request is None and self.writable:
            whole = None if self._buffer else whole_head(data)
            if whole is None:
                self._buffer += data
                self._read_head()
            else:
                self._take_head(*whole)
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
        request = self.request
        if request is None or not request.complete or request.gone or not self._stays():
            self._leave()
            self._close_transport()
            return False
        if not self._eof:
            self._eof = True
            if self._tunnel is not None:
                self._tunnel.end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self._pauses is not None:
            self._pauses.stop_watching()
            self._pauses = None
        self._leave(broken=exc is not None or (self.request is not None and self.request.was_cut))
        for watch in (self._half_closed, self._lingering, self._drain):
            if watch is not None:
                watch.stop()
        self._half_closed = self._lingering = self._drain = None
        self._transport = None
        self.listener.connections.discard(self)

    def pause_writing(self) -> None:
        self._set_writable(False)

    def resume_writing(self) -> None:
        self._set_writable(True)

    # --- what others do with it ---

    @property
    def is_last(self) -> bool:
        """Whether no further request comes on this connection, as far as is known."""
        return self.listener.draining or (self._eof and not self._buffer)

    def write_end(self) -> None:
        """Half-close: nothing more will be written."""
        if self._transport is not None and not self._ended and self._transport.can_write_eof():
            with contextlib.suppress(OSError):  # the peer may have reset it a moment ago
                self._transport.write_eof()

    def socket(self) -> Any:
        """Its socket; None once the connection has ended."""
        return None if self._transport is None else self._transport.get_extra_info("socket")

    def unsent(self) -> int:
        """Bytes written that the client has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def pause(self) -> None:
        """Stop reading; counted, each needs its `resume`."""
        if self._pauses is not None:
            self._pauses.add()

    def resume(self) -> None:
        """Undo one `pause`; without one it does nothing."""
        if self._pauses is not None:
            self._pauses.undo()

    def cut(self, *, at_once: bool = False, reset: bool = False) -> None:
        """End the connection in the middle of an answer, after what was written, or `at_once`: by RST where the
        framing would show a clean end, or `reset` says so."""
        if self._transport is None:
            return
        if self.request is not None:
            self.request.was_cut = True
        if reset or (self.request is not None and self.request.ends_by_closing):
            self._end_by_reset()
        self._end_writing()
        if at_once:
            self._transport.abort()
        else:
            self._close_transport()

    def open_tunnel(self, tunnel: Tunnel) -> None:
        """From here on every byte of the client goes to `tunnel`, those behind the request first."""
        self._tunnel = tunnel
        self._unpause()
        if self._buffer:
            tunnel.data(self._heads.rest())
        if self._eof:
            tunnel.end()

    def is_there(self) -> bool:
        """Whether the client still waits for its answer; asked before something is done for it, since one that has
        half-closed leaves without a word."""
        transport = self._transport
        if self._half_closed is not None and transport is not None and not may_read(transport.get_extra_info("socket")):
            self._left()
        return not self._ended

    def is_idle(self) -> bool:
        """Whether nothing of a request is here: no head, however little of it, and no answer on its way."""
        return self.request is None and self._drain is None and not self._buffer

    def close_if_idle(self) -> None:
        """Close now unless a request is being served; a head that is half here counts as idle."""
        if self.request is None and self._drain is None:
            self._close()

    # --- inside ---

    def _set_writable(self, ready: bool) -> None:
        self.writable = ready
        if self.request is None:
            if ready and self._drain is None:
                self._go_on()
        elif self.request.on_writable is not None:
            self.request.on_writable(ready)

    def _stays(self) -> bool:
        """Whether the client, whose FIN has come, is there to hear its answer; if so, it is watched from now on."""
        if self._half_closed is None and self._transport is not None:
            sock = self._transport.get_extra_info("socket")
            if may_read(sock):
                self._half_closed = HalfClosed(sock, self._loop, self._left)
        return self._half_closed is not None

    def _hung_up(self, broken: bool) -> None:
        """The client's end has come while it was not read: perhaps there is more in front of a FIN."""
        if broken:
            self._gone(broken=True)
        elif not self._stays():
            self._left()

    def _left(self) -> None:
        """Nobody holds the client's socket any more. What it said in a tunnel is the other side's, while that takes
        it."""
        if self._half_closed is not None:
            self._half_closed.stop()
            self._half_closed = None
        tunnel = self._tunnel
        if tunnel is None or self._eof:
            self._gone()
        elif self._lingering is None:
            self._lingering = IdleTimer(LAST_WORDS_S, lambda: tunnel.moved, lambda: self._gone(broken=True))

    def _gone(self, *, broken: bool = False) -> None:
        """The client left: nothing of what it sent last is for anybody any more."""
        self._leave(broken=broken)
        if self._transport is not None:
            self._transport.abort()

    def _end_writing(self) -> None:
        self._ended = True
        self.write = _to_nobody

    def _leave(self, *, broken: bool = False) -> None:
        self._end_writing()
        self._stop_head_timer()
        request = self.request
        if request is not None and not request.gone:
            request.client_left(broken=broken)

    def _close(self) -> None:
        self._end_writing()
        self._stop_head_timer()
        self._close_transport()

    def _end(self) -> None:
        """Close behind a whole answer; in stages where bytes of the client are unread, or may come before it has taken
        the answer: the kernel would reset that out of its hands (RFC 9112 9.6)."""
        unread = self._buffer or self.unsent() or (self._pauses is not None and self._pauses.count)
        if unread and not self._eof:
            self._start_drain(None)
        else:
            self._close()

    def _close_transport(self) -> None:
        """Close behind what is written, for as long as the client takes it."""
        if self._transport is None:
            return
        self._transport.close()
        if self.unsent() and self._lingering is None:
            self._lingering = IdleTimer(LINGER_S, self.unsent, self._give_up)

    def _give_up(self) -> None:
        """What is not sent by now will not be; a FIN could make that look whole."""
        self._end_by_reset()
        if self._transport is not None:
            self._transport.abort()

    def _end_by_reset(self) -> None:
        if self._transport is not None:
            sock = self._transport.get_extra_info("socket")
            with contextlib.suppress(OSError):  # the peer may have closed it a moment ago
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def _keep_for_later(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > PIPELINED_MAX and self._pauses is not None and not self._pauses.count:
            self.pause()

    def _read_head(self) -> None:
        """Begin the next request if its head is whole."""
        self._heads.skip_empty_lines()
        if not self._buffer:
            self._stop_head_timer()
        if self._buffer.startswith(b"\x16\x03"):  # a ClientHello
            self._refuse_head(OwnAnswer("bad_request", "this is TLS; the proxy is reached by http://"))
            return
        try:
            raw = self._heads.take()
        except BadMessage as error:
            self._refuse_head(OwnAnswer("bad_request", str(error)))
            return
        if raw is not None:
            self._take_head(raw, self._heads.rest())
        elif self._eof:
            self._close()
        elif self._buffer and self._head_timer is None:
            self._head_timer = self._loop.call_later(self.listener.header_timeout_s(), self._head_too_slow)

    def _take_head(self, raw: bytes, rest: bytes) -> None:
        """Begin the request with this head; `rest` lies behind it."""
        self._stop_head_timer()
        try:
            head = parse_request(raw)
            length = request_length(head)
        except BadMessage as error:
            self._refuse_head(OwnAnswer("bad_request", str(error)))
            return
        if self._unwelcome is not None:
            self._refuse_head(self._unwelcome, head)
            return
        self._begin(Request(self, head, length), rest)

    def _begin(self, request: Request, rest: bytes) -> None:
        self.request = request
        if rest and not request.complete:
            used = request.deliver(rest)
            if request.failure is not None:
                self.request = None
                self._refuse_head(request.failure, request.head)
                return
            rest = rest[used:]
        if self._eof and not request.complete:  # as half-closing inside a body is leaving
            self.request = None
            self._close()
            return
        if rest:
            self._keep_for_later(rest)
        # As the loop's create_task, which takes half as long again to make another name first.
        request.task = asyncio.Task(self.listener.service.serve(request), loop=self._loop, name="request")
        request.task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        request, self.request = self.request, None
        self._tunnel = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.call_exception_handler({"message": "a request's task failed", "exception": error, "task": task})
        if request is not None:
            self._after(request)
            request.let_go()

    def _after(self, request: Request) -> None:
        """What becomes of the connection."""
        if self._transport is None or self._ended:
            self._close()
        elif not request.answered:
            if request.failure is None:
                self.cut()
            else:
                self._refuse_head(request.failure, request.head)
        elif request.failure is not None:
            self._start_drain(None)
        elif not request.complete:
            self._start_drain(request.body)
        elif not request.keep or self.is_last:
            self._end()
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
        if self._pauses is not None and self._pauses.count:
            self._pauses.undo_all()

    def _start_drain(self, body: Body | None) -> None:
        """After an answer that is the last: our end is said at once, the client's is waited for a while."""
        self._stop_head_timer()
        self._drain = Drain(body, self._loop, self._close)
        self._buffer.clear()
        self._unpause()
        self.write_end()

    def _refuse_head(self, error: OwnAnswer, head: RequestHead | None = None) -> None:
        self.listener.service.refused(error, head)
        self.write(own_answer(error, method=b"GET" if head is None else head.method, close=True))
        self._start_drain(None)

    def _head_too_slow(self) -> None:
        self._head_timer = None
        self._refuse_head(OwnAnswer("request_timeout", "the request's head took too long"))
        self._close()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
