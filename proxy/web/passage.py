# One request under way to its upstream and its answer on the way back: what can happen to it, from every side.
#
# Rule 1: the upstream's connection is closed before the slot is given back.
# Rule 2: a request is sent once; once more only if a kept connection was closed before it answered with a single byte,
#         and then on a fresh one (spec §10).
# Rule 3: a client that leaves after the final event has got what it wanted: its upstream may end in peace for a moment.

import asyncio
from collections.abc import Callable
from typing import Protocol

from proxy.core.model import Phase, Slot
from proxy.errors import StaleConnection, UpstreamCut, WireError
from proxy.service.clock import Clock
from proxy.wire.exchange import Exchange, Sink
from proxy.wire.pool import Pool
from proxy.wire.relay import Meter, Relay
from proxy.wire.request import Request, Tunnel
from proxy.wire.tunnel import UpstreamTunnel
from proxy.wire.upstream import UpstreamConnection

JOINED_MAX = 64 * 1024  # bytes of a body that leave in one piece with the head
FLUSH_S = 10.0  # how long a tunnel's upstream may take what its client said before it left
LAST_WORDS_S = 1.0  # spec §6.3: how long the upstream's end is read after an early close


class Flow:
    """Counts the bytes of a request that takes no slot."""

    __slots__ = ("bytes", "last_byte_at", "phase")

    def __init__(self) -> None:
        self.phase = Phase.CONNECTING
        self.bytes = 0
        self.last_byte_at = 0.0


class Aborted(WireError):
    """The passage was ended from outside; `why` as the scheduler says it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Switched(Protocol):
    """Who takes over a connection that has switched, in place of a plain tunnel."""

    def open(self, exchange: Exchange) -> Tunnel:
        """The upstream has agreed; who takes what the client says from now on."""

    def client_left(self) -> None: ...


class Passage:
    """Made when the request may go. `meter` is its slot, or a Flow. It is the slot's Holder."""

    def __init__(
        self,
        request: Request,
        head: bytes,
        pool: Pool,
        meter: Meter,
        clock: Clock,
        *,
        tunnel_idle_s: float | None,
        switched: "Switched | None" = None,
    ) -> None:
        self.relay = Relay(request, meter, clock.now)
        self.exchange: Exchange | None = None
        self.aborted: Aborted | None = None
        self.sent_at: float | None = None
        self._request = request
        self._head = head
        self._pool = pool
        self.meter = meter
        self._clock = clock
        self._tunnel_idle_s = tunnel_idle_s
        self._switched = switched
        self._tunnel: UpstreamTunnel | None = None
        self._moved = 0
        self._stuck = False
        self._satisfied = False  # the client has left with the whole answer

    def __repr__(self) -> str:
        return f"<Passage {self._request} {self.relay}>"

    # --- sending ---

    async def send(
        self, sink: Sink, *, upgrade: bool = False, started: Callable[[Exchange], None] | None = None
    ) -> None:
        """Send the request, whose body is in its pieces, and take the answer to its end. `started` hears of each
        exchange. Raises what Exchange.ended raises, and ConnectFailed."""
        if not self._request.connection.is_there():
            raise asyncio.CancelledError
        connection = self._pool.take()
        while True:
            if connection is None:
                connection = await self._pool.dial()
            exchange = self._begin(connection, sink, upgrade=upgrade)
            if started is not None:
                started(exchange)
            self._send_whole(exchange)
            try:
                await exchange.ended
            except StaleConnection as error:
                error.__traceback__ = None  # its frames hold what holds it
                if self.aborted is not None:  # in this very moment: there is no slot to send it again with
                    raise self.aborted from None
                connection = self.exchange = None
            except UpstreamCut:
                if not self._satisfied:
                    raise
                return
            else:
                return
            finally:
                self._end(exchange)

    def _send_whole(self, exchange: Exchange) -> None:
        request = self._request
        if request.buffered <= JOINED_MAX:
            exchange.send(b"".join((self._head, *request.pieces)))
        else:  # piece by piece: a large prompt is not held twice
            exchange.send(self._head)
            for piece in request.pieces:
                exchange.send(piece)
        exchange.request_sent = True

    async def stream(self, sink: Sink) -> None:
        """Send the request while its body is still coming, on a fresh connection, since it could not be sent twice."""
        exchange = self._begin(await self._pool.dial(), sink)
        request = self._request

        def pass_on(data: bytes) -> None:
            exchange.send(data)
            exchange.request_sent = request.complete

        exchange.on_writable = lambda ready: request.go_on() if ready else request.hold()
        exchange.send(self._head)
        request.stream_to(pass_on)
        exchange.request_sent = request.complete
        try:
            await exchange.ended
        finally:
            self._end(exchange)

    def _begin(self, connection: UpstreamConnection, sink: Sink, *, upgrade: bool = False) -> Exchange:
        request = self._request
        exchange = self.exchange = Exchange(self._pool, connection, request.head.method, sink, upgrade=upgrade)
        exchange.on_switch = self._open_tunnel
        self.sent_at = self.meter.last_byte_at = self._clock.now()
        self.meter.phase = Phase.WAITING
        request.on_gone = self._client_left
        request.on_writable = lambda ready: connection.resume() if ready else connection.pause()
        return exchange

    def _end(self, exchange: Exchange) -> None:
        exchange.close()
        exchange.on_switch = exchange.on_half_closed = exchange.on_writable = None
        self._request.on_gone = self._request.on_writable = None

    def _open_tunnel(self) -> None:
        exchange = self.exchange
        assert exchange is not None
        client = self._request.connection
        exchange.on_writable = lambda ready: client.resume() if ready else client.pause()
        exchange.on_half_closed = client.write_end
        if self._switched is not None:
            client.open_tunnel(self._switched.open(exchange))
            return
        self._tunnel = UpstreamTunnel(exchange, self.meter, self._clock.now)
        client.open_tunnel(self._tunnel)

    # --- from outside ---

    def _client_left(self) -> None:
        exchange = self.exchange
        if exchange is None or not (self.relay.whole or exchange.finished() or exchange.switched):
            self._cancel()
        elif exchange.switched and self._switched is not None:
            self._switched.client_left()
        elif exchange.switched and self._request.broken:
            exchange.close()
        elif exchange.switched:
            exchange.connection.finish()  # what it said in the tunnel is on its way yet
            asyncio.get_running_loop().call_later(FLUSH_S, exchange.close)
        else:
            self._satisfied = True
            asyncio.get_running_loop().call_later(LAST_WORDS_S, exchange.close)

    def abort(self, why: str) -> None:
        """The slot was reclaimed."""
        self.aborted = Aborted(why)
        if self.exchange is not None:
            self.exchange.close(self.aborted)
        else:
            self._cancel()

    def _cancel(self) -> None:
        if self._request.task is not None:
            self._request.task.cancel()

    def measure(self, slot: Slot, now: float) -> None:
        """Progress is a byte that moved on: from the upstream, or out of what waits for either side. What the upstream
        sends to a client that does not read is none."""
        exchange = self.exchange
        if exchange is None:
            return
        waiting = self._request.connection.unsent() + exchange.connection.unsent()
        moved = slot.bytes + (0 if self._tunnel is None else self._tunnel.moved) - waiting
        if moved != self._moved and (waiting or self._stuck):
            slot.progress_at = now
        elif not waiting:
            slot.progress_at = max(slot.progress_at, slot.last_byte_at)
        self._moved, self._stuck = moved, waiting > 0
        if exchange.switched and not waiting:
            slot.progress_at = now  # an idle tunnel is not stuck; tunnel_idle says what is too idle
            if self._tunnel_idle_s is not None and now - slot.last_byte_at >= self._tunnel_idle_s:
                exchange.close()
