# One connection to an upstream: bytes of the one exchange that uses it, whatever they travel in.
#
# Rule 1: closing is over when `close` returns: the upstream hears the end before anybody is let in after it.
# Rule 2: who uses the connection hears of its end exactly once, and of all that came before.
# Rule 3: TLS lies between the socket and the user, one layer for the upstream and one for a proxy reached by https.

import asyncio
import contextlib
import os
import select
import socket
import ssl
from typing import Protocol, cast

from proxy.wire.half_close import HalfClosed, may_read
from proxy.wire.keepalive import keep_alive
from proxy.wire.tls_session import TlsSession


class User(Protocol):
    """The exchange that uses a connection."""

    def data(self, data: bytes) -> None: ...
    def half_closed(self) -> bool:
        """The upstream will say no more, but listens; whether there is still something for it."""

    def lost(self, error: Exception | None) -> None:
        """The connection ended; None for an end of the upstream's own."""

    def writable(self, ready: bool) -> None: ...


class UpstreamConnection(asyncio.Protocol):
    """The protocol of one connection to an upstream."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.user: User | None = None
        self.uses = 0  # exchanges before the present one
        self.idle_since = 0.0
        self.closed = False
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._layers: list[TlsSession] = []  # the outermost first, next to the socket
        self._securing: asyncio.Future[None] | None = None
        self._poll: select.poll | None = None
        self._paused = False  # nothing is read
        self._said_all = False  # our FIN is written
        self._half_closed: HalfClosed | None = None
        self._fault: Exception | None = None  # why it ended before anybody used it

    def __repr__(self) -> str:
        state = "closed" if self.closed else "idle" if self.user is None else "in use"
        return f"<UpstreamConnection {state}, used {self.uses} times before>"

    async def secure(self, context: ssl.SSLContext, host: str) -> None:
        """Speak TLS from here on, with `host`. OSError, ssl.SSLError among it, if that does not come about."""
        if self.closed:
            raise self._fault or ConnectionResetError("the connection was closed")
        layer = TlsSession(context, host)
        self._write(layer.start(), len(self._layers))
        self._layers.append(layer)
        self._securing = self._loop.create_future()
        try:
            await self._securing
        finally:
            self._securing = None

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are none by inheritance
        keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if self._layers:
            self._receive(data)
        elif self.user is not None:
            self.user.data(data)
        else:
            self.close()  # nobody has asked for anything

    def eof_received(self) -> bool:
        if self._stays():
            return True
        self._end(_unannounced(self._layers[-1]) if self._layers and not self._layers[-1].ended else None)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self._half_closed is not None:
            self._half_closed.stop()
            self._half_closed = None
        if exc is not None:
            self._read_rest()
        self._end(exc)
        self._transport = None

    def pause_writing(self) -> None:
        if self.user is not None:
            self.user.writable(False)

    def resume_writing(self) -> None:
        if self.user is not None:
            self.user.writable(True)

    # --- what users do with it ---

    def write(self, data: bytes) -> None:
        """Send bytes; nothing once the connection has ended."""
        if self.closed:
            return
        if self._layers:
            self._write(data, len(self._layers))
        elif self._transport is not None:
            self._transport.write(data)

    def write_end(self) -> None:
        """Half-close, where that can be said: TLS servers take it for the end of everything."""
        if self._half_closed is not None:
            self.finish()
        elif self._transport is not None and not self.closed and not self._layers and not self._said_all:
            self._said_all = True
            self._transport.write_eof()

    def unsent(self) -> int:
        """Bytes written that the upstream's socket has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def is_quiet(self) -> bool:
        """Whether nothing has come that nobody asked for, nor an end, also of what the loop has not read yet: the next
        exchange would take it for its answer."""
        if self._transport is None or self.closed:
            return False
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not self._poll.poll(0)

    def pause(self) -> None:
        if self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()

    def finish(self) -> None:
        """Close once what was written is sent; nothing is read any more."""
        if self._transport is not None:
            self._transport.close()

    def close(self) -> None:
        """Close before this returns; what was written and not sent is dropped."""
        if self._transport is not None:
            if not self.closed:
                _shut_down(self._transport)
            self._transport.abort()
        self.closed = True

    # --- inside ---

    def _write(self, data: bytes, layers: int) -> None:
        for layer in reversed(self._layers[:layers]):
            data = layer.send(data)
        if self._transport is not None and data:
            self._transport.write(data)

    def _receive(self, data: bytes) -> None:
        """Bytes of TLS have come."""
        last, over = self._layers[-1], None
        for depth, layer in enumerate(self._layers):
            data = layer.receive(data)
            if reply := layer.to_send():  # after a fault the alert that says why
                self._write(reply, depth)
            if over is None and (layer.ended or layer.fault is not None):
                over = layer
            if not data:
                break
        if self._securing is not None and last.ready and not self._securing.done():
            self._securing.set_result(None)
        if data and self.user is not None:
            self.user.data(data)
        elif data:
            self.close()
        if over is not None:
            self._end(None if last.ended else over.fault or _unannounced(last))
            self.finish()

    def _read_rest(self) -> None:
        """Read what came before the connection broke: a write that failed first must not lose an early answer."""
        assert self._transport is not None
        fd = self._transport.get_extra_info("socket").fileno()
        with contextlib.suppress(OSError):
            while (self.user is not None or self._securing is not None) and (data := os.read(fd, 65536)):
                self.data_received(data)

    def _stays(self) -> bool:
        """Whether the upstream, whose FIN has come, is there to hear what its user still has to say."""
        if self._transport is None or self.user is None or self._layers or self._said_all:
            return False
        sock = self._transport.get_extra_info("socket")
        if self._half_closed is None and may_read(sock) and self.user.half_closed():
            self._half_closed = HalfClosed(sock, self._loop, self._gone)
        return self._half_closed is not None

    def _gone(self) -> None:
        self._end(None)
        self.close()

    def _end(self, error: Exception | None) -> None:
        self.closed = True
        self._fault = self._fault or error
        if self._securing is not None and not self._securing.done():
            self._securing.set_exception(error or ConnectionResetError("the connection was closed"))
        if self._transport is not None and self.unsent():
            self._transport.abort()  # nobody is there to see that the upstream takes it, and it need not
        user, self.user = self.user, None
        if user is not None:
            user.lost(error)


def _unannounced(layer: TlsSession) -> ssl.SSLError:
    where = "without close_notify" if layer.ready else "during the handshake"
    return ssl.SSLEOFError(ssl.SSL_ERROR_EOF, f"TLS ended {where}")


def _shut_down(transport: asyncio.Transport) -> None:
    """Say the end now. A transport's `abort` does so in the next turn of the event loop; in this one the slot may go
    on, and the upstream must never see the next request before the end of this one. By a second descriptor of the
    socket, since uvloop lends its sockets without `shutdown`."""
    fd = transport.get_extra_info("socket").fileno()
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fd)) as twin:
        twin.shutdown(socket.SHUT_RDWR)
