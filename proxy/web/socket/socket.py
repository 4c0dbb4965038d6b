# One socket of the Responses protocol: what the client asks for waits its turn, answer by answer.
#
# Rule 1: the socket itself takes no slot. A message that makes the provider generate goes up with one, which is given
#         back at the event that ends its answer, or after the upstream's connection was closed.
# Rule 2: messages keep their order: while one waits for its slot, those behind it wait too. Pings pass.
# Rule 3: one answer after the other is begun: the next message that asks for one takes its place in the queue when the
#         upstream has said something of the last, which until then may have to be said again.
# Rule 4: an answer that is open ends in its one record, whatever becomes of the socket.

import asyncio
import os
from collections import deque

from proxy.core.model import Kind, Slot, Ticket
from proxy.errors import BadFrame, OwnAnswer, UpstreamCut
from proxy.ratelimits import classify
from proxy.service.gate import CREDENTIALS
from proxy.service.record import RequestRecord
from proxy.service.runtime import Runtime
from proxy.web.budget import BodyBudget
from proxy.web.identity import DEFAULT_WORKSPACE
from proxy.web.judge import ABSORBED
from proxy.web.outcome import carry
from proxy.web.passage import Flow, Passage
from proxy.web.routing import Route
from proxy.web.socket.answer import Answer
from proxy.web.socket.asking import Asking
from proxy.web.socket.downward import Downward
from proxy.web.socket.protocol import Create, Event, may_matter, read_create, read_event, refusal
from proxy.web.socket.upward import Message, Upward
from proxy.web.view import View
from proxy.wire.exchange import Exchange
from proxy.wire.idle import IdleTimer
from proxy.wire.request import Request, Tunnel
from proxy.wire.websocket import GOING_AWAY, close_bytes

CLOSING_S = 1.0  # how long a side may take to answer a close frame while something is under way, or we go
CLOSED_S = 10.0  # and else; as passage.FLUSH_S


class _Asked:
    """A message that went up and asks for an answer; `answer` is None if it takes no slot."""

    __slots__ = ("answer", "response", "stream")

    def __init__(self, stream: str | None, answer: Answer | None) -> None:
        self.stream = stream
        self.answer = answer
        self.response: str | None = None  # its id, once the upstream has said it


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
        self._clock = runtime.clock
        self._request = request
        self._route = route
        self._record = record
        self._admission = runtime.admission(upstream.provider_id)
        self._asking = Asking(view.reader, request.head.values, route.workspace)
        self._asks_peer = view.settings.identity.workspace_from_peer
        self._up = Upward(self, lambda: budget.share(upstream.provider_id, view.settings.queue))
        self._passage = Passage(
            request, head, view.pool(upstream), Flow(), runtime.clock, tunnel_idle_s=None, switched=self
        )
        self._down = Downward(self._passage.relay, self)
        self._idle_s = upstream.tunnel_idle_s
        self._preset = upstream.preset
        self._exchange: Exchange | None = None
        self._pending: deque[tuple[Message, Create | None]] = deque()
        self._asked: list[_Asked] = []  # went up and have not ended, in order
        self._waiting: Answer | None = None  # for its slot
        self._withheld = b""  # the refusal after which it waits again
        self._wait: asyncio.Task[None] | None = None
        self._leaving = False  # the proxy shuts down
        self._closing = False  # a close frame has passed, or a fault: nothing more is asked
        self._reclaimed: Answer | None = None
        self._at_fault = False  # the client has said what no client may say
        self._outcome = "cut"  # of what is under way when the socket ends
        self._timers: list[asyncio.TimerHandle] = []
        self._idle: IdleTimer | None = None
        self._beats = 0

    def __repr__(self) -> str:
        waiting = "" if self._waiting is None else ", one waits"
        return f"<Socket {len(self._asked)} answers open, {len(self._pending)} messages held back{waiting}>"

    async def run(self) -> None:
        """Shake hands, and carry what is said until one side ends. OwnAnswer if the upstream could not be reached."""
        try:
            if self._asks_peer:
                await self._runtime.peers.workspace(self._request.connection)
            sending = self._passage.send(self._down, upgrade=True, started=self._down.attach)
            await carry(sending, self._passage, self._record)
            if self._at_fault:
                self._record.outcome = "cut"
        finally:
            self._over()

    def leave(self) -> None:
        """The proxy shuts down: what is under way goes on, and then both sides are told."""
        self._leaving = True
        self._leave_if_idle()

    # --- what the passage says ---

    def open(self, exchange: Exchange) -> Tunnel:
        """The upstream has agreed to switch."""
        self._exchange = exchange
        if self._idle_s is not None:
            self._idle = IdleTimer(self._idle_s, self._activity, self._close_upstream)
        if self._leaving:
            asyncio.get_running_loop().call_soon(self._leave_if_idle)
        return self._up

    def client_left(self) -> None:
        """The client's connection has ended."""
        busy = self._busy()
        self._closing = True
        self._up.close()
        self._client_goes()
        if busy or self._exchange is None or self._request.broken:
            self._close_upstream()
        else:
            self._exchange.connection.finish()  # its close frame may be on its way yet
            self._close_later(CLOSED_S)

    # --- what the client says ---

    def control(self, raw: bytes) -> None:
        self._send(raw)

    def client_closes(self, raw: bytes) -> None:
        busy = self._busy()
        self._closing = True
        self._client_goes()
        self._send(raw)
        self._close_later(CLOSING_S if busy else CLOSED_S)

    def client_ends(self) -> None:
        self.client_left()

    def too_large(self, error: OwnAnswer) -> None:
        record = self._new_record()
        record.code, record.status, record.why = error.code, error.status, error.message
        self._down.say(refusal(error))
        self._runtime.telemetry.request_ended(record)

    def client_fault(self, fault: BadFrame) -> None:
        self._record.why = f"the client: {fault}"
        self._at_fault = self._closing = True
        self._client_goes()
        self._down.say_last(close_bytes(fault.code, str(fault)))
        self._close_upstream()

    def message(self, message: Message) -> None:
        try:
            create = None if message.text is None else read_create(message.text)
        except BadFrame:
            message.share.close()
            raise
        if create is None or not create.generates:
            message.text = None
        self._pending.append((message, create))
        self._pump()

    # --- what the upstream says ---

    @property
    def holds(self) -> bool:
        """Whether a refusal that comes now could be absorbed, or belongs to one that was."""
        return bool(self._withheld) or any(
            asked.answer is not None and self._may_absorb(asked.answer) for asked in self._asked
        )

    def upstream_moved(self, size: int) -> None:
        now = self._clock.now()
        for asked in self._asked:
            if asked.answer is not None:
                asked.answer.moved(size, now)
                size = 0  # they are counted once

    def heard(self, payload: bytes, frames: bytes, *, whole: bool) -> bool:
        if not (self._unbegun() or may_matter(payload)):
            return False
        event = read_event(payload, whole=whole)
        if not self._asked:  # an error may be told twice, as `error` and as `response.failed`
            return bool(self._withheld and frames) and event is not None and event.fails
        asked = None if event is None else self._whose(event)
        if event is None or asked is None:
            return False
        answer = asked.answer
        if event.begins and event.response is not None:
            asked.response = event.response
            if answer is not None:
                self._asking.answered(event.response, answer.ticket.conversation)
        if event.fails and answer is not None and self._refuses(answer, event, payload, frames):
            self._asked.remove(asked)
            answer.refused()
            self._withheld = frames
            self._wait_for(answer, answer.slot)
            return True
        if event.ends:
            self._asked.remove(asked)
            if answer is not None:
                answer.end("completed", event.status or 200)
        elif answer is not None and event.kind.startswith("response."):
            answer.begin()
        return False

    def caught_up(self) -> None:
        self._pump()
        self._leave_if_idle()

    def upstream_closes(self) -> None:
        self._closing = True
        self._stop_waiting()
        self._close_later(CLOSED_S)

    def upstream_fault(self, fault: BadFrame) -> None:
        self._closing = True
        self._send(close_bytes(fault.code, str(fault), os.urandom(4)))
        if self._exchange is not None:
            self._exchange.connection.finish()  # with the reason; the client sees a cut
            self._exchange.close(UpstreamCut(f"the upstream: {fault}"))

    # --- what an answer says ---

    def unsent(self) -> int:
        upstream = 0 if self._exchange is None else self._exchange.connection.unsent()
        return self._request.connection.unsent() + upstream

    def reclaimed(self, answer: Answer, why: str) -> None:
        self._reclaimed = answer
        self._passage.abort(why)

    # --- asking, one after the other ---

    def _pump(self) -> None:
        """Pass on what need not wait any more."""
        while self._pending and self._waiting is None and not self._closing:
            message, create = self._pending[0]
            if create is None or not create.generates:
                self._pending.popleft()
                self._pass(message)
                if create is not None:
                    self._asked.append(_Asked(create.stream, None))
            elif self._unbegun():
                return
            else:
                self._pending.popleft()
                self._ask(message, create)

    def _pass(self, message: Message) -> None:
        for asked in self._asked:
            if asked.answer is not None:
                asked.answer.alone = False
        for raw in message.frames:
            self._send(raw)
        message.share.close()

    def _ask(self, message: Message, create: Create) -> None:
        answer = self._begin(message, create)
        try:
            if self._leaving:
                raise self._admission.refusal("draining")
            self._admission.check_room()
        except OwnAnswer as error:
            self._refuse(answer, error)
            return
        slot = self._admission.at_once(answer.ticket)
        if slot is None:
            self._wait_for(answer, None)
        else:
            self._go(answer, slot)

    def _begin(self, message: Message, create: Create) -> Answer:
        runtime, now_ms = self._runtime, self._clock.wall_ms()
        identity = self._asking.read(create, message.text or b"", now_ms, fingerprint=self._admission.scheduler.orders)
        message.text = None
        for fact in identity.bad:
            runtime.telemetry.unreadable(fact)
        workspace = identity.workspace
        if workspace == DEFAULT_WORKSPACE and self._asks_peer:
            workspace = runtime.peers.known(self._request.connection) or workspace
        provider_id = self._admission.provider_id
        opened = runtime.turns.begin(
            provider_id,
            identity.conversation,
            identity.turn,
            stated_ms=identity.prompt_started_at,
            now=self._clock.now(),
            now_ms=now_ms,
        )
        ticket = Ticket(
            id=runtime.next_ticket_id(),
            workspace=workspace,
            conversation=identity.conversation,
            prompt_started_at=opened.started_at,
            path=self._route.path,
        )
        record = self._new_record()
        record.ticket_id, record.workspace, record.conversation = ticket.id, ticket.workspace, ticket.conversation
        return Answer(
            self,
            message,
            create.stream,
            ticket,
            opened,
            record,
            admission=self._admission,
            clock=self._clock,
            ended=self._ended,
        )

    def _wait_for(self, answer: Answer, refused_slot: Slot | None) -> None:
        self._waiting = answer
        self._wait = self._runtime.tasks.start("an answer's wait", self._waits(answer, refused_slot))

    async def _waits(self, answer: Answer, refused_slot: Slot | None) -> None:
        try:
            slot = await answer.wait(self._credentials(), refused_slot)
        except (OwnAnswer, TimeoutError) as error:
            self._waiting = self._wait = None
            if self._withheld:
                self._hand_over(answer)
            elif isinstance(error, OwnAnswer):
                self._refuse(answer, error)
        else:
            self._waiting = self._wait = None
            self._withheld = b""
            self._go(answer, slot)
        self._pump()
        self._leave_if_idle()

    def _hand_over(self, answer: Answer) -> None:
        """There is no other try: the client sees the last refusal."""
        withheld, self._withheld = self._withheld, b""
        self._down.say(withheld)
        answer.end("completed", answer.record.status)

    def _go(self, answer: Answer, slot: Slot) -> None:
        """The message goes up."""
        exchange = self._exchange
        answer.sent(slot)
        if exchange is None or exchange.ended.done() or not self._request.connection.is_there():
            self._admission.release(slot, reached=False)
            answer.end(self._outcome)
            return
        for asked in self._asked:
            if asked.answer is not None:
                asked.answer.alone = False
        self._asked.append(_Asked(answer.stream, answer))
        for raw in answer.message.frames:
            exchange.send(raw)
        if not self._may_absorb(answer):
            answer.message.frames = []
        answer.message.share.close()

    def _may_absorb(self, answer: Answer) -> bool:
        return not answer.begun and answer.alone and answer.tries < self._admission.scheduler.policy.absorb

    def _refuse(self, answer: Answer, error: OwnAnswer) -> None:
        self._down.say(refusal(error))
        answer.refuse(error)

    def _refuses(self, answer: Answer, event: Event, payload: bytes, frames: bytes) -> bool:
        """Tell the queue what an error says; whether it is absorbed."""
        if answer.slot is None:
            return False
        verdict = classify(200, [], payload, preset=self._preset, now=self._clock.wall_ms() / 1000)
        status = event.status or 200
        if verdict.kind == Kind.NONE:
            self._admission.answered(answer.slot, success=False)
            return False
        answer.record.refused, answer.record.status = str(verdict.kind), status
        answer.stated_ms = verdict.retry_after_ms
        self._admission.rate_limited(
            answer.slot, status=status, kind=verdict.kind, retry_after_ms=verdict.retry_after_ms
        )
        return bool(frames) and verdict.kind in ABSORBED and self._may_absorb(answer)

    def _whose(self, event: Event) -> _Asked | None:
        """Which of the open answers an event is about: by its id, its stream, or its turn."""
        if event.begins:
            fresh = [asked for asked in self._asked if asked.response is None]
            return next((asked for asked in fresh if asked.stream == event.stream), fresh[0] if fresh else None)
        for asked in self._asked:
            if event.response is not None and asked.response == event.response:
                return asked
        same = [asked for asked in self._asked if event.stream is not None and asked.stream == event.stream]
        return same[0] if same else self._asked[0]

    def _unbegun(self) -> bool:
        return any(asked.answer is not None and not asked.answer.begun for asked in self._asked)

    # --- ends ---

    def _ended(self, answer: Answer) -> None:
        """An answer's one record."""
        self._runtime.turns.end(answer.opened, self._clock.now())
        self._runtime.telemetry.request_ended(answer.record)

    def _client_goes(self) -> None:
        self._outcome = "abandoned"
        self._withheld = b""
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        """Nothing more is asked."""
        waiting, self._waiting = self._waiting, None
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None
        if waiting is not None and self._withheld:
            self._hand_over(waiting)
        elif waiting is not None:
            waiting.end(self._outcome)  # with the slot that it may still have, if its task has not run yet
        for message, _ in self._pending:
            message.share.close()
        self._pending.clear()

    def _over(self) -> None:
        """The upstream's connection is closed, or has never been."""
        self._closing = True
        self._up.close()
        self._stop_waiting()
        for asked in self._asked:
            if asked.answer is not None:
                outcome = "reclaimed" if asked.answer is self._reclaimed else self._outcome
                asked.answer.end(outcome, 200 if asked.answer.begun else None)
        self._asked = []
        for timer in self._timers:
            timer.cancel()
        if self._idle is not None:
            self._idle.stop()

    def _busy(self) -> bool:
        return bool(self._asked or self._pending or self._waiting is not None)

    def _leave_if_idle(self) -> None:
        if not self._leaving or self._closing or self._exchange is None or self._busy():
            return
        self._closing = True
        self._up.close()
        self._down.say_last(close_bytes(GOING_AWAY, "slotgate is shutting down"))
        self._send(close_bytes(GOING_AWAY, "", os.urandom(4)))
        self._close_later(CLOSING_S)

    def _activity(self) -> int:
        """Changes while anything moves or is under way."""
        self._beats += self._busy()
        return self._up.moved + self._passage.meter.bytes + self._beats

    def _send(self, raw: bytes) -> None:
        if self._exchange is not None:
            self._exchange.send(raw)

    def _close_later(self, delay_s: float) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(delay_s, self._close_upstream))

    def _close_upstream(self) -> None:
        if self._exchange is not None:
            self._exchange.close()

    # --- small things ---

    def _new_record(self) -> RequestRecord:
        whole = self._record
        record = RequestRecord(whole.method)
        record.path, record.upstream, record.provider_id = whole.path, whole.upstream, whole.provider_id
        record.counted = True
        return record

    def _credentials(self) -> dict[str, str]:
        values = self._request.head.values
        return {name.decode(): values[name].decode("latin-1") for name in CREDENTIALS if name in values}
