# One answer of a socket that takes a slot: from the message that asks for it to the event that ends it.
#
# Rule 1: it ends once, in one record, and its slot is given back then, whatever ends it.
# Rule 2: its bytes are those of messages. Pings keep a connection alive, and say nothing about the answer.

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from proxy.core.model import Phase, Slot, Ticket
from proxy.core.turns import OpenRequest
from proxy.errors import OwnAnswer
from proxy.service.admission import Admission
from proxy.service.clock import Clock
from proxy.service.record import RequestRecord
from proxy.web.socket.upward import Message


class Carrier(Protocol):
    """The socket that carries the answer."""

    def unsent(self) -> int:
        """Bytes that either side has not taken yet."""

    def reclaimed(self, answer: "Answer", why: str) -> None:
        """The slot was taken back: close the upstream before returning."""


class Answer:
    """Made when its message has come; the Holder of its slot."""

    def __init__(
        self,
        carrier: Carrier,
        message: Message,
        stream: str | None,
        ticket: Ticket,
        opened: OpenRequest,
        record: RequestRecord,
        *,
        admission: Admission,
        clock: Clock,
        ended: Callable[["Answer"], None],
    ) -> None:
        self.message = message
        self.stream = stream
        self.ticket = ticket
        self.opened = opened
        self.record = record
        self.slot: Slot | None = None
        self.tries = 0  # refusals that were absorbed
        self.stated_ms: int | None = None  # how long the last one asked to wait
        self.begun = False  # something of it has come
        self.alone = True  # nothing went up behind its message: it can be said again
        self._carrier = carrier
        self._admission = admission
        self._clock = clock
        self._ended = ended
        self._sent_at = 0.0
        self._over = False
        self._moved = 0
        self._stuck = False

    def __repr__(self) -> str:
        return f"<Answer {self.ticket.id} {self.slot!r}>"

    async def wait(self, credentials: Mapping[str, str], refused_slot: Slot | None) -> Slot:
        """A slot; the next one in the same place after the refusal of `refused_slot`. OwnAnswer or TimeoutError if
        there will be none."""
        began_at = self._clock.now()
        try:
            if refused_slot is None:
                return await self._admission.acquire(self.ticket, credentials)
            patience_s = max(self._admission.policy.max_wait_s - self.record.waited_ms / 1000, 0.0)
            async with asyncio.timeout(patience_s):
                return await self._admission.acquire_again(
                    refused_slot, credentials, self.tries, self.stated_ms, patience_s
                )
        finally:
            self.record.waited_ms += round((self._clock.now() - began_at) * 1000)

    def sent(self, slot: Slot) -> None:
        """Its message goes up now."""
        self.slot = slot
        self.alone = True
        self._sent_at = slot.last_byte_at = self._clock.now()
        slot.phase = Phase.WAITING
        self._admission.hold(slot, self)

    def moved(self, size: int, now: float) -> None:
        """Bytes of messages have come from the upstream while it is open."""
        if self.slot is not None:
            self.slot.bytes += size
            self.slot.last_byte_at = now
            self.slot.phase = Phase.STREAMING

    def begin(self) -> None:
        """The upstream has said something of it, and no refusal."""
        if not self.begun and self.slot is not None:
            self.begun = True
            self.message.frames = []  # nothing is said again
            self.record.first_byte_ms = round((self._clock.now() - self._sent_at) * 1000)
            self._admission.answered(self.slot, success=True)

    def refused(self) -> None:
        """What has come is a refusal that is absorbed: it waits again."""
        self._count_hold()
        self.tries += 1
        self.record.absorbed = self.tries

    def refuse(self, error: OwnAnswer) -> None:
        """It ends by a no of our own."""
        self.record.refuse(error)
        self.end("refused")

    def end(self, outcome: str, status: int | None = None) -> None:
        """It has ended; again does no harm. Its upstream has said its end, or is closed."""
        if self._over:
            return
        self._over = True
        record, slot = self.record, self.slot
        record.outcome = outcome
        if status is not None:
            record.status = status
        self.message.share.close()
        if slot is not None:
            record.bytes = slot.bytes
            self._count_hold()
            self._admission.release(slot)
        self._ended(self)

    # --- Holder ---

    def abort(self, why: str) -> None:
        self._carrier.reclaimed(self, why)

    def measure(self, slot: Slot, now: float) -> None:
        """Progress is a byte that moved on: from the upstream, or out of what waits for either side."""
        waiting = self._carrier.unsent()
        moved = slot.bytes - waiting
        if moved != self._moved and (waiting or self._stuck):
            slot.progress_at = now
        elif not waiting:
            slot.progress_at = max(slot.progress_at, slot.last_byte_at)
        self._moved, self._stuck = moved, waiting > 0

    def _count_hold(self) -> None:
        if self.slot is not None:
            self.record.held_ms += round((self._clock.now() - self.slot.granted_at) * 1000)
