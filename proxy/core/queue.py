# The slots and the waiters of one provider, and the pump that gives the ones to the others.
#
# Rule 1: whatever may let a waiter go calls `pump`. Nothing else grants but a newcomer's fast path and a poll.
# Rule 2: order is read when a slot is given, never when a waiter arrives: a star counts at once.
# Rule 3: the parts hold the state, each with its own rules: slots, limit, pause, gate, waiting. `out` is what happened.

from collections.abc import Set as AbstractSet

from proxy.core.gate import Gate
from proxy.core.limit import Limit
from proxy.core.model import (
    Effect,
    Granted,
    Paused,
    Policy,
    PollUsage,
    Queued,
    Reclaimed,
    Refused,
    Released,
    Resumed,
    Slot,
    Ticket,
)
from proxy.core.pause import Pause
from proxy.core.slots import Slots
from proxy.core.waitlist import Waitlist


class Queue:
    """What a scheduler decides upon. Methods that change something add to `out` what happened, in order."""

    __slots__ = ("cooldown_s", "gate", "limit", "out", "pause", "policy", "slots", "waiting")

    def __init__(self, policy: Policy, stars: AbstractSet[str], limit: Limit, cooldown_s: float) -> None:
        self.policy = policy
        self.limit = limit
        self.cooldown_s = cooldown_s
        self.waiting = Waitlist(stars)
        self.slots = Slots()
        self.pause = Pause()
        self.gate = Gate()
        self.out: list[Effect] = []

    @property
    def in_flight(self) -> int:
        """Held and cooling slots, with the one whose becoming free started the poll that runs (spec §8)."""
        return self.slots.in_flight + (self.gate.slot is not None)

    @property
    def gated(self) -> bool:
        """Whether a waiter is granted only after a poll."""
        return self.policy.gate_interval_s is not None and self.limit.value is not None

    @property
    def room(self) -> bool:
        """Whether a waiter could be given a slot now, as far as we alone know."""
        return not self.pause.blocks and self.limit.has_room(self.in_flight)

    @property
    def open_to_newcomers(self) -> bool:
        """The fast path of §6.2: nobody waits, no pause, no poll, a free slot."""
        if self.waiting or self.pause.until_at is not None:
            return False
        return not (self.gated and self.gate.polling) and self.limit.has_room(self.in_flight)

    def pump(self, now: float, freed: Slot | None = None) -> None:
        """Something changed, `freed` became free for one: give what can be given, or ask the provider first."""
        if not self.gated:
            while self.room and (ticket := self.waiting.take()) is not None:
                self.admit(ticket, now)
        elif self.gate.polling:
            self.gate.ask_again()
        elif self.room and (ticket := self.waiting.first()) is not None:
            assert self.policy.gate_interval_s is not None
            self.gate.start(now + self.policy.gate_interval_s, freed)
            self.out.append(PollUsage(ticket))

    def line_up(self, ticket: Ticket, now: float) -> None:
        """Let `ticket` wait in its place, unless it is known already that it waits in vain (spec §6.4)."""
        if self.pause.outlasts(now + self.policy.max_wait_s):
            self.out.append(Refused(ticket, "paused"))
            return
        ticket.queued_at = now
        self.waiting.add(ticket)
        self.out.append(Queued(ticket))

    def let_pass(self, ticket: Ticket, now: float) -> None:
        """Grant a newcomer."""
        self.pause.passed()
        self.out.append(Granted(ticket, self.slots.grant(ticket, now), 0.0))

    def admit(self, ticket: Ticket, now: float) -> None:
        """Grant a waiter that was taken out."""
        slot = self.slots.grant(ticket, now)
        self.pause.sent(slot, now)
        self.out.append(Granted(ticket, slot, now - ticket.queued_at))

    def let_go(self, slot: Slot, now: float, *, reached: bool = True, back: Ticket | None = None) -> None:
        """End the hold of `slot`, put `back` in the queue, and let go who can."""
        # Without a limit nobody waits for a slot, so none needs its rest (spec §6.3).
        rest_s = self.cooldown_s if reached and self.limit.value is not None else 0.0
        self.out.append(Released(slot, self.slots.give_back(slot, now, rest_s)))
        was_probe = self.pause.left(slot)
        if back is not None:
            self.line_up(back, now)
        if not rest_s:
            self.pump(now, slot)
        elif was_probe or back is not None:  # a slot that rests lets nobody go, but these may find another
            self.pump(now)

    def reclaim(self, slot: Slot, now: float, why: str, after_s: float) -> None:
        """Take `slot` from its holder."""
        self.out.append(Reclaimed(slot, why, after_s))
        self.let_go(slot, now)

    def begin_pause(self, until_at: float, cause: str) -> None:
        """Pause until `until_at`, whatever was before."""
        self.pause.begin(until_at, cause)
        self.out.append(Paused(until_at, cause))
        self.refuse_impatient()

    def lengthen_pause(self, until_at: float, cause: str) -> None:
        """Pause until `until_at`, unless the pause in force is longer."""
        if self.pause.lengthens(until_at):
            self.begin_pause(until_at, cause)

    def end_pause(self, cause: str, now: float) -> None:
        """The pause in force is over."""
        self.pause.end()
        self.out.append(Resumed(cause))
        self.pump(now)

    def refuse_impatient(self) -> None:
        """Never wait for what cannot come: who would lose patience within the pause is told now (spec §6.4)."""
        while (ticket := self.waiting.longest()) and self.pause.outlasts(ticket.queued_at + self.policy.max_wait_s):
            self.refuse(ticket, "paused")

    @property
    def deadline(self) -> float | None:
        """When time alone changes something next, or None."""
        times = [at for at in (self.slots.deadline, self.pause.deadline) if at is not None]
        longest = self.waiting.longest()
        if longest is not None:
            times.append(longest.queued_at + self.policy.max_wait_s)
            if self.gated and not self.gate.polling and self.room:
                times.append(self.gate.next_poll_at)
        return min(times, default=None)

    def tick(self, now: float) -> None:
        """Do what is due at `now`. Who has waited for max_wait is refused last: a slot may have become free for it. In
        a pause nobody is: whom it outlasts was told before (spec §6.4)."""
        if self.pause.until_at is not None and self.pause.until_at <= now:
            self.end_pause("elapsed", now)
        elif self.pause.probe is not None and self.pause.probe_until_at <= now:
            self.pause.answered(self.pause.probe)
            self.pump(now)
        while (slot := self.slots.cooled(now)) is not None:
            self.pump(now, slot)
        if self.gated and not self.gate.polling and self.gate.next_poll_at <= now:
            self.pump(now)
        while (ticket := self.waiting.longest()) and ticket.queued_at + self.policy.max_wait_s <= now:
            self.refuse(ticket, "queue_timeout")

    def refuse(self, ticket: Ticket, code: str) -> None:
        """Take `ticket` out with `code`; nothing if it does not wait."""
        if self.waiting.remove(ticket):
            self.out.append(Refused(ticket, code))
