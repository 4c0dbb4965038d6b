# Connections to one upstream: dialled, used by one exchange at a time, kept for the next.
#
# Rule 1: there is no hidden cap. How many exchanges run is the scheduler's business alone.
# Rule 2: an idle connection that says anything, or ends, is dropped, also if that has not been read yet: nothing
#         unsolicited reaches the next exchange.
# Rule 3: idle time is kept below what servers keep (5 s in uvicorn and Node): the race with their closing is rare.

import asyncio

from proxy.wire.dial import Way, dial
from proxy.wire.resolve import Resolver
from proxy.wire.upstream import UpstreamConnection

IDLE_S = 4.0


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
            if connection.idle_since >= oldest and connection.is_quiet():
                return connection
            connection.close()
        return None

    async def dial(self) -> UpstreamConnection:
        """A new connection. ConnectFailed or ConnectTimedOut, with the reason."""
        return await dial(self.way, self._resolver, self._loop)

    def give_back(self, connection: UpstreamConnection) -> None:
        """Keep a connection that nobody uses, since its exchange ended whole, for the next one."""
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
