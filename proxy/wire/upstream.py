# Connections to one upstream: dialled, used by one exchange at a time, kept for the next.
#
# Rule 1: there is no hidden cap. How many exchanges run is the scheduler's business alone.
# Rule 2: an idle connection that says anything, or ends, is dropped: nothing unsolicited reaches the next exchange.
# Rule 3: idle time is kept below what servers keep (5 s in uvicorn and Node): the race with their closing is rare.

import asyncio
import contextlib
import os
import socket
from typing import Protocol, cast

from proxy.wire.dial import Way, dial
from proxy.wire.keepalive import keep_alive
from proxy.wire.resolve import Resolver

IDLE_S = 4.0


class User(Protocol):
    """The exchange that uses a connection."""

    def data(self, data: bytes) -> None: ...
    def lost(self, error: Exception | None) -> None:
        """The connection ended; None for a clean end of the upstream's sending."""

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

    def __repr__(self) -> str:
        state = "closed" if self.closed else "idle" if self.user is None else "in use"
        return f"<UpstreamConnection {state}, used {self.uses} times before>"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are none by inheritance
        keep_alive(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if self.user is None:
            self.close()
        else:
            self.user.data(data)

    def eof_received(self) -> bool:
        self._end(None)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)
        self._transport = None

    def pause_writing(self) -> None:
        if self.user is not None:
            self.user.writable(False)

    def resume_writing(self) -> None:
        if self.user is not None:
            self.user.writable(True)

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self.closed:
            self._transport.write(data)

    def write_end(self) -> None:
        """Half-close, where that can be said: TLS has no word for it."""
        if self._transport is not None and not self.closed and self._transport.can_write_eof():
            self._transport.write_eof()

    def unsent(self) -> int:
        """Bytes written that the upstream's socket has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def pause(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Close before this returns; what was written and not sent is dropped."""
        if self._transport is not None:
            if not self.closed:
                _shut_down(self._transport)
            self._transport.abort()
        self.closed = True

    def _end(self, error: Exception | None) -> None:
        self.closed = True
        user, self.user = self.user, None
        if user is not None:
            user.lost(error)


def _shut_down(transport: asyncio.Transport) -> None:
    """Say the end now. A transport's `abort` does so in the next turn of the event loop; in this one the slot may go
    on, and the upstream must never see the next request before the end of this one. By a second descriptor of the
    socket, since uvloop lends its sockets without `shutdown`."""
    sock = transport.get_extra_info("socket")
    if sock is None:  # TLS, whose socket has just broken
        return
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(sock.fileno())) as twin:
        twin.shutdown(socket.SHUT_RDWR)


class Pool:
    """The connections of one upstream. `reuse` False makes each exchange its own."""

    def __init__(self, way: Way, *, reuse: bool, loop: asyncio.AbstractEventLoop) -> None:
        self.way = way
        self._reuse = reuse
        self._loop = loop
        self._resolver = Resolver(loop)
        self._idle: list[UpstreamConnection] = []
        self._sweeper: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<Pool {self.way.url} {len(self._idle)} idle>"

    def take(self) -> UpstreamConnection | None:
        """An idle connection, the youngest first, or None."""
        oldest = self._loop.time() - IDLE_S
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed and connection.idle_since >= oldest:
                return connection
            connection.close()
        return None

    async def dial(self) -> UpstreamConnection:
        """A new connection. ConnectFailed or ConnectTimedOut, with the reason."""
        return await dial(self.way, lambda: UpstreamConnection(self._loop), self._resolver, self._loop)

    def give_back(self, connection: UpstreamConnection) -> None:
        """Keep a connection whose exchange ended whole, for the next one."""
        connection.user = None
        connection.uses += 1
        if not self._reuse or connection.closed:
            connection.close()
            return
        connection.idle_since = self._loop.time()
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(IDLE_S, self._sweep)

    def close(self) -> None:
        """Close what is idle, now and when it is given back."""
        self._reuse = False
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        while self._idle:
            self._idle.pop().close()

    def _sweep(self) -> None:
        oldest = self._loop.time() - IDLE_S
        keep = []
        for connection in self._idle:
            if connection.closed or connection.idle_since <= oldest:
                connection.close()
            else:
                keep.append(connection)
        self._idle = keep
        self._sweeper = self._loop.call_later(IDLE_S / 2, self._sweep) if keep else None
