# Where the messages of one socket wait their turn: those that ask for an answer for a slot, the others behind them.
#
# Rule 1: messages keep their order: while one waits, those behind it wait too.
# Rule 2: one answer after the other is begun: the next message that asks for one takes its place in the queue when the
#         upstream has said something of the last, which until then may have to be said again.
# Rule 3: after each no the client is not heard for a moment: a flood of messages to refuse must stop nobody else.
# Rule 4: a slot is given back at the event that ends its answer, or after the upstream's connection was closed.

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from proxy.core.model import Kind, Slot
from proxy.errors import BadFrame, OwnAnswer
from proxy.ratelimits import classify
from proxy.service.admission import Admission
from proxy.service.clock import Clock
from proxy.service.tasks import Tasks
from proxy.web.judge import ABSORBED
from proxy.web.socket.answer import Answer, Carrier
from proxy.web.socket.entrance import Entrance
from proxy.web.socket.protocol import Create, Event, may_matter, read_create, read_event, refusal
from proxy.web.socket.under_way import UnderWay
from proxy.web.socket.upward import Message

UNDER_WAY_MAX = 64  # answers of one socket at the same time, those without a slot among them; Codex has one


class Line(Carrier, Protocol):
    """The two connections."""

    def send(self, raw: bytes) -> None:
        """To the upstream."""

    def say(self, frame: bytes) -> None:
        """To the client, words of our own."""

    def is_open(self) -> bool:
        """Whether both sides are there; asked before something goes up with a slot."""

    def drains(self) -> bool:
        """Whether the proxy shuts down, so that nothing new is asked."""

    def rest(self) -> None:
        """A no was said: nothing more of the client's is looked at until `rested` is called."""

    def settled(self) -> None:
        """A wait has ended: perhaps nothing is under way any more."""


class Desk:
    """`outcome` is that of answers which end with the socket."""

    def __init__(
        self,
        line: Line,
        entrance: Entrance,
        admission: Admission,
        tasks: Tasks,
        clock: Clock,
        *,
        preset: str | None,
        credentials: Callable[[], Mapping[str, str]],
    ) -> None:
        self.outcome = "cut"
        self._line = line
        self._entrance = entrance
        self._admission = admission
        self._tasks = tasks
        self._clock = clock
        self._preset = preset
        self._credentials = credentials
        self._pending: deque[tuple[Message, Create | None]] = deque()
        self._under_way = UnderWay()
        self._waiting: Answer | None = None  # for its slot
        self._wait: asyncio.Task[None] | None = None
        self._withheld = b""  # the refusal after which it waits again
        self._resting = False
        self._closed = False

    def __repr__(self) -> str:
        waiting = "" if self._waiting is None else ", one waits"
        return f"<Desk {self._under_way!r}, {len(self._pending)} messages behind{waiting}>"

    @property
    def busy(self) -> bool:
        return bool(self._under_way or self._pending or self._waiting is not None)

    # --- up ---

    def message(self, message: Message) -> None:
        """One of the client's. BadFrame if it is none."""
        try:
            create = None if message.text is None else read_create(message.text)
        except BadFrame:
            message.share.close()
            raise
        if create is None or not create.generates:
            message.text = None
        self._pending.append((message, create))
        self.pump()

    def pump(self) -> None:
        """Pass on what need not wait any more."""
        while self._pending and self._waiting is None and not (self._closed or self._resting):
            message, create = self._pending[0]
            if create is not None and len(self._under_way) >= UNDER_WAY_MAX:
                return
            if create is None or not create.generates:
                self._pending.popleft()
                self._pass(message, create)
            elif self._under_way.any_unbegun():
                return
            else:
                self._pending.popleft()
                self._ask(message, create)

    def rested(self) -> None:
        """The line's rest is over."""
        self._resting = False
        self.pump()

    def stop(self) -> None:
        """Nothing more is asked; what waits ends."""
        self._closed = True
        waiting, self._waiting = self._waiting, None
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None
        if waiting is not None and self._withheld:
            self._hand_over(waiting)
        elif waiting is not None:
            waiting.end(self.outcome)  # with the slot that it may still have, if its task has not run yet
        for message, _ in self._pending:
            message.share.close()
        self._pending.clear()

    def abandon(self) -> None:
        """The client goes."""
        self.outcome = "abandoned"
        self._withheld = b""
        self.stop()

    def close(self, reclaimed: Answer | None) -> None:
        """The upstream's connection is closed."""
        self.stop()
        for answer in list(self._under_way.answers()):
            answer.end("reclaimed" if answer is reclaimed else self.outcome, 200 if answer.begun else None)
        self._under_way.clear()

    # --- down ---

    @property
    def holds(self) -> bool:
        """Whether a refusal that comes now could be absorbed, or belongs to one that was."""
        return bool(self._withheld) or any(map(self._may_absorb, self._under_way.answers()))

    def moved(self, size: int) -> None:
        """Bytes of messages have come."""
        self._under_way.moved(size, self._clock.now())

    def heard(self, payload: bytes, frames: bytes, end: bytes | None) -> bool:
        """As Downward's Hearer."""
        if end is None and not (self._under_way.any_unbegun() or may_matter(payload)):
            return False
        event = read_event(payload, end)
        if event is None:
            return False
        asked = self._under_way.whose(event)
        if asked is None:  # an error may be told twice, as `error` and as `response.failed`
            return bool(frames) and event.fails and (bool(self._withheld) or self._under_way.any_again())
        answer = asked.answer
        if answer is None:
            if event.ends:
                self._under_way.end(asked, event)
        elif event.fails and self._is_absorbed(answer, event, payload, frames):
            self._under_way.end(asked, event)
            answer.refused()
            self._withheld = frames
            self._wait_for(answer, answer.slot)
            return True
        elif event.ends:
            self._under_way.end(asked, event)
            answer.end("completed", event.status or 200)
        elif event.kind.startswith("response."):
            answer.begin()
            if event.begins and event.response is not None:
                self._entrance.begun(answer, event.response)
        return False

    # --- inside ---

    def _pass(self, message: Message, create: Create | None) -> None:
        self._under_way.is_behind()
        if create is not None:
            self._under_way.add(create.stream, None)
        self._line.send(b"".join(message.frames))
        message.share.close()

    def _ask(self, message: Message, create: Create) -> None:
        answer = self._entrance.answer(self._line, message, create)
        try:
            if self._line.drains():
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

    def _wait_for(self, answer: Answer, refused_slot: Slot | None) -> None:
        self._waiting = answer
        self._wait = self._tasks.start("an answer's wait", self._waits(answer, refused_slot))

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
        self.pump()
        self._line.settled()

    def _go(self, answer: Answer, slot: Slot) -> None:
        """The message goes up."""
        answer.sent(slot)
        if not self._line.is_open():
            self._admission.release(slot, reached=False)
            answer.end(self.outcome)
            return
        self._under_way.is_behind()
        self._under_way.add(answer.stream, answer)
        self._line.send(b"".join(answer.message.frames))
        if not self._may_absorb(answer):
            answer.message.frames = []
        answer.message.share.close()

    def _may_absorb(self, answer: Answer) -> bool:
        return not answer.begun and answer.alone and answer.tries < self._admission.policy.absorb

    def _refuse(self, answer: Answer, error: OwnAnswer) -> None:
        self._line.say(refusal(error))
        answer.refuse(error)
        self._resting = True
        self._line.rest()

    def _hand_over(self, answer: Answer) -> None:
        """There is no other try: the client sees the last refusal."""
        withheld, self._withheld = self._withheld, b""
        self._line.say(withheld)
        answer.end("completed", answer.record.status)

    def _is_absorbed(self, answer: Answer, event: Event, payload: bytes, frames: bytes) -> bool:
        """Tell the queue what an error says; whether it is kept from the client, and the message said again."""
        if answer.slot is None:
            return False
        verdict = classify(200, [], payload, preset=self._preset, now=self._clock.wall_ms() / 1000)
        if verdict.kind == Kind.NONE:
            self._admission.answered(answer.slot, success=False)
            return False
        status = event.status or 200
        answer.record.refused, answer.record.status = str(verdict.kind), status
        answer.stated_ms = verdict.retry_after_ms
        self._admission.rate_limited(
            answer.slot, status=status, kind=verdict.kind, retry_after_ms=verdict.retry_after_ms
        )
        return bool(frames) and verdict.kind in ABSORBED and self._may_absorb(answer)
