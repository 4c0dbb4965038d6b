# One socket of the Responses protocol, from its handshake to its end: what is under way in it, and how each side goes.
#
# Rule 1: the socket itself takes no slot; its desk has those of its answers.
# Rule 2: an answer that is open ends in its one record, whatever becomes of the socket; the upstream is closed first.
# Rule 3: a socket of a configuration that says otherwise now of its upstream asks for nothing more: it is told to come
#         again, when what is under way has ended.
# Rule 4: a side that breaks the protocol is told so; the other side sees what it would without us: an end.

import asyncio
import os

from proxy.config import Upstream
from proxy.errors import BadFrame, OwnAnswer, UpstreamCut
from proxy.service.gate import credentials
from proxy.service.record import RequestRecord
from proxy.service.runtime import Runtime
from proxy.web.budget import BodyBudget
from proxy.web.judge import Judge
from proxy.web.outcome import carry
from proxy.web.passage import Flow, Passage
from proxy.web.routing import Route
from proxy.web.socket.answer import Answer
from proxy.web.socket.desk import Desk
from proxy.web.socket.downward import Downward
from proxy.web.socket.entrance import Entrance
from proxy.web.socket.protocol import refusal
from proxy.web.socket.upward import Message, Upward
from proxy.web.view import View
from proxy.wire.exchange import Exchange
from proxy.wire.idle import IdleTimer
from proxy.wire.request import Request, Tunnel
from proxy.wire.websocket import GOING_AWAY, close_bytes

CLOSING_S = 1.0  # how long a side may take to answer a close frame while something is under way, or we go
REST_S = 0.05  # after a no; who asks again sooner than a person could does not listen
UNTAKEN_MAX = 64 * 1024  # bytes that a client has not taken: it is told no other no
CLOSED_S = 10.0  # and else; as passage.FLUSH_S


class Socket:
    """Made for an upgrade; `run` takes it to its end."""

    def __init__(
        self,
        runtime: Runtime,
        view: View,
        request: Request,
        route: Route,
        head: bytes,
        record: RequestRecord,
        budget: BodyBudget,
    ) -> None:
        upstream = route.place.upstream
        self._runtime = runtime
        self._settings = view.settings  # that were looked at last
        self._upstream = upstream
        self._request = request
        self._record = record
        self._entrance = Entrance(runtime, view, request, route, record)
        self._desk = Desk(
            self,
            self._entrance,
            runtime.admission(upstream.provider_id),
            runtime.tasks,
            runtime.clock,
            preset=upstream.preset,
            credentials=lambda: credentials(request.head.values),
        )
        self._up = Upward(self, lambda: budget.share(upstream.provider_id, view.settings.queue))
        self._passage = Passage(
            request, head, view.pool(upstream), Flow(), runtime.clock, tunnel_idle_s=None, switched=self
        )
        self._judge = self._judging(runtime, upstream)
        self._down = Downward(self._passage.relay, self, self._judge)
        self._exchange: Exchange | None = None
        self._leaving = False  # the proxy shuts down, or the configuration has changed
        self._goodbye = "slotgate is shutting down"
        self._closing = False  # a close frame has passed, or a fault: nothing more is asked
        self._at_fault = False  # the client has said what no client may say
        self._reclaimed: Answer | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._idle_s = upstream.tunnel_idle_s
        self._idle: IdleTimer | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._beats = 0

    def __repr__(self) -> str:
        return f"<Socket {self._desk!r}{' closing' if self._closing else ''}>"

    async def run(self) -> None:
        """Shake hands, and carry what is said until one side ends. OwnAnswer if the upstream could not be reached."""
        try:
            await self._entrance.know_peer()
            sending = self._passage.send(self._down, upgrade=True, started=self._started)
            await carry(sending, self._passage, self._record, judge=self._judge)
            if self._at_fault:
                self._record.outcome = "cut"
        finally:
            self._judge.close()
            self._record.refused = self._judge.refused
            self._over()

    def leave(self) -> None:
        """The proxy shuts down: what is under way goes on, and then both sides are told."""
        self._leaving = True
        self.settled()

    # --- Switched ---

    def open(self, exchange: Exchange) -> Tunnel:
        self._exchange = exchange
        exchange.on_half_closed = self._upstream_ends
        if self._idle_s is not None:
            self._idle = IdleTimer(self._idle_s, self._activity, self._close_upstream)
        if self._leaving:
            asyncio.get_running_loop().call_soon(self.settled)
        return self._up

    def client_left(self) -> None:
        busy = self._desk.busy
        self._closing = True
        self._up.close()
        if self._request.was_cut:
            self._desk.stop()
        else:
            self._desk.abandon()
        if busy or self._exchange is None or self._request.broken:
            self._close_upstream()
        else:
            self._exchange.connection.finish()  # its close frame may be on its way yet
            self._close_later(CLOSED_S)

    # --- what the client says ---

    def control(self, raw: bytes) -> None:
        self.send(raw)

    def client_closes(self, raw: bytes) -> None:
        busy = self._desk.busy
        self._closing = True
        self._desk.abandon()
        self.send(raw)
        self._close_later(CLOSING_S if busy else CLOSED_S)

    def client_ends(self) -> None:
        self.client_left()

    def client_fault(self, fault: BadFrame) -> None:
        self._record.why = f"the client: {fault}"
        self._at_fault = self._closing = True
        self._desk.abandon()
        self._down.say_last(close_bytes(fault.code, str(fault)))
        self._close_upstream()

    def too_large(self, error: OwnAnswer) -> None:
        self.say(refusal(error))
        self._entrance.refused(error)
        self.rest()

    def message(self, message: Message) -> None:
        if self._is_outdated():
            self._goodbye = "the configuration has changed"
            self.leave()
        if self._closing:
            message.share.close()
        else:
            self._desk.message(message)

    # --- what the upstream says ---

    @property
    def holds(self) -> bool:
        return self._desk.holds

    def upstream_moved(self, size: int) -> None:
        self._desk.moved(size)

    def heard(self, payload: bytes, frames: bytes, end: bytes | None) -> bool:
        return self._desk.heard(payload, frames, end)

    def caught_up(self) -> None:
        self._desk.pump()
        self.settled()

    def upstream_closes(self) -> None:
        self._closing = True
        self._desk.stop()
        self._close_later(CLOSED_S)

    def _upstream_ends(self) -> None:
        """It has half-closed, which WebSockets do not know: it is gone, but for the client's part of a goodbye."""
        if self._closing and not self._desk.busy:
            self._request.connection.write_end()
        elif self._exchange is not None:
            self._closing = True
            self._down.end()
            self._exchange.close()

    def upstream_fault(self, fault: BadFrame) -> None:
        self._closing = True
        self.send(close_bytes(fault.code, str(fault), os.urandom(4)))
        if self._exchange is not None:
            self._exchange.connection.finish()  # with the reason; the client sees a cut
            self._exchange.close(UpstreamCut(f"the upstream: {fault}"))

    # --- Line, for the desk ---

    def send(self, raw: bytes) -> None:
        if self._exchange is not None:
            self._exchange.send(raw)

    def say(self, frame: bytes) -> None:
        self._down.say(frame)

    def is_open(self) -> bool:
        exchange = self._exchange
        return exchange is not None and not exchange.ended.done() and self._request.connection.is_there()

    def drains(self) -> bool:
        return self._leaving

    def rest(self) -> None:
        if self._rest is None:
            self._up.hold()
            self._request.connection.pause()
            self._rest = asyncio.get_running_loop().call_later(REST_S, self._rested)

    def settled(self) -> None:
        if not self._leaving or self._closing or self._exchange is None or self._desk.busy:
            return
        self._closing = True
        self._up.close()
        self._down.say_last(close_bytes(GOING_AWAY, self._goodbye))
        self.send(close_bytes(GOING_AWAY, "", os.urandom(4)))
        self._close_later(CLOSING_S)

    def unsent(self) -> int:
        upstream = 0 if self._exchange is None else self._exchange.connection.unsent()
        return self._request.connection.unsent() + upstream

    def reclaimed(self, answer: Answer, why: str) -> None:
        self._reclaimed = answer
        self._passage.abort(why)

    # --- inside ---

    def _is_outdated(self) -> bool:
        """Whether a reload has made something else of the upstream than what this socket leads to."""
        if self._settings is self._runtime.settings:
            return False
        self._settings = self._runtime.settings
        old, new = self._upstream, self._settings.upstreams.get(self._upstream.name)
        return new is None or (new.provider_id, new.url, new.websocket) != (old.provider_id, old.url, old.websocket)

    def _judging(self, runtime: Runtime, upstream: Upstream) -> Judge:
        """Who reads the answer to a handshake that is refused; it says to the queue what any other would."""
        admission, clock = runtime.admission(upstream.provider_id), runtime.clock
        slot = admission.beside(self._entrance.handshake())
        return Judge(self._passage.relay, admission, slot, preset=upstream.preset, absorb=False, clock=clock)

    def _started(self, exchange: Exchange) -> None:
        self._down.attach(exchange)
        self._judge.attach(exchange)

    def _rested(self) -> None:
        connection = self._request.connection
        self._rest = None
        if connection.unsent() <= UNTAKEN_MAX:
            self._desk.rested()
            if self._rest is None:
                self._up.go_on()
        else:
            self.rest()
        connection.resume()
        self.settled()

    def _over(self) -> None:
        """The upstream's connection is closed, or has never been."""
        self._closing = True
        self._up.close()
        self._desk.close(self._reclaimed)
        for timer in self._timers:
            timer.cancel()
        if self._idle is not None:
            self._idle.stop()
        if self._rest is not None:
            self._rest.cancel()
            self._request.connection.resume()

    def _activity(self) -> int:
        """Changes while anything moves or is under way."""
        self._beats += self._desk.busy
        return self._up.moved + self._passage.meter.bytes + self._beats

    def _close_later(self, delay_s: float) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(delay_s, self._close_upstream))

    def _close_upstream(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
