# The slots and the waiters of one provider, and the pump that gives the ones to the others.
#
# Rule 1: whatever may let a waiter go calls `pump`. Nothing else grants but a newcomer's fast path and a poll.
# Rule 2: order is read when a slot is given, never when a waiter arrives: a star counts at once.
# Rule 3: the parts hold the state, each with its own rules: slots, limit, pause, gate, waiting. `out` is what happened.

from collections.abc import Set as AbstractSet
from math import inf

from proxy.core.allowance import Allowance
from proxy.core.cooldown import Cooldown
from proxy.core.gate import Gate, Ours
from proxy.core.limit import Limit
from proxy.core.model import (
    Effect,
    GateReading,
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
from proxy.core.recovery import Recovery
from proxy.core.slots import Slots
from proxy.core.waitlist import Waitlist


class Queue:
    """What a scheduler decides upon. Methods that change something add to `out` what happened, in order."""

    __slots__ = (
        "allowance",
        "cooldown",
        "freed_at",
        "gate",
        "gated",
        "limit",
        "out",
        "pause",
        "policy",
        "recovery",
        "slots",
        "waiting",
    )

    def __init__(
        self, policy: Policy, stars: AbstractSet[str], limit: Limit, recovery: Recovery, cooldown: Cooldown
    ) -> None:
        self.policy = policy
        self.limit = limit
        self.recovery = recovery
        self.cooldown = cooldown
        self.freed_at: float | None = None  # when a slot that had been used became free last
        self.waiting = Waitlist(stars)
        self.slots = Slots()
        self.pause = Pause()
        self.allowance = Allowance()
        self.gate = Gate()
        self.out: list[Effect] = []
        self._look_for_a_gate()

    def set_policy(self, policy: Policy) -> None:
        """What is configured now."""
        self.policy = policy
        self._look_for_a_gate()

    def set_limit(self, value: int | None, *, learns: bool) -> None:
        """What a person has decided."""
        self.limit.set(value, learns=learns)
        self._look_for_a_gate()

    def learn_limit(self, slot: Slot) -> int | None:
        """The limit that a refusal of `slot` for concurrency teaches, or None."""
        searched = self.limit.value is None
        accepted = sum(not other.refused for other in self.slots.holding()) if searched else 0
        learned = self.limit.learn(slot.grant, self.slots.grants, accepted)
        self._look_for_a_gate()
        return learned

    def _look_for_a_gate(self) -> None:
        """Whether a waiter is granted only after a poll: asked at every step, and seldom another answer."""
        self.gated = self.policy.gate_interval_s is not None and self.limit.value is not None

    @property
    def room(self) -> bool:
        """Whether a waiter could be given a slot now, as far as we alone know."""
        slots, limit = self.slots, self.limit.value
        return (
            (limit is None or slots.in_flight < limit)
            and not self.pause.blocks
            and slots.grants < self.allowance.last_grant
        )

    def grant_at_once(self, ticket: Ticket, now: float) -> Granted | None:
        """The fast path of §6.2: grant a newcomer that need not wait. None: nothing has changed. A grant brings no
        deadline nearer."""
        slots, limit, pause = self.slots, self.limit.value, self.pause
        if self.waiting.ready or slots.grants >= self.allowance.last_grant:
            return None
        if (limit is not None and slots.in_flight >= limit) or (self.gated and not self._gate_lets_pass(now)):
            return None
        if not pause.is_open:
            if pause.until_at is not None:
                return None
            pause.passed()
        return Granted(ticket, slots.grant(ticket, now), 0.0)

    def _gate_lets_pass(self, now: float) -> bool:
        """Whether no poll runs, and there is a free slot also by what polls have told of the provider's count."""
        slots = self.slots
        if self.gate.polling:
            return False
        ours = max(slots.in_flight, slots.held + self.cooldown.lag.may_be_counted(now))
        return self.limit.has_room(ours + (self.gate.external(now) or 0))

    def pump(self, now: float, freed: Slot | None = None) -> None:
        """Something changed, `freed` became free for one: give what can be given, or ask the provider first."""
        if not self.gated:
            while self.waiting.ready and self.room and (ticket := self.waiting.take()) is not None:
                self.admit(ticket, now)
        elif self.gate.polling:
            self.gate.ask_again()
        elif self.room and (ticket := self.waiting.first()) is not None:
            assert self.policy.gate_interval_s is not None
            self.gate.start(now, self.policy.gate_interval_s, freed)
            slots = self.slots
            if freed is not None:
                slots.in_flight += 1  # until the poll ends (spec §8)
            self.gate.ours = Ours(slots.held, slots.in_flight, slots.unseen(now, self.policy.gate_age_s), slots.grants)
            self.out.append(PollUsage(ticket))

    @property
    def waits_for_news(self) -> bool:
        """With a gate: whether a poll let nobody go because a request might not have arrived; its answer says that it
        has."""
        return bool(self.waiting.ready and self.gate.in_doubt and not self.policy.gate_age_s)

    def pump_if_due(self, now: float) -> None:
        """With a gate: ask the provider if nobody has for an interval (spec §8)."""
        if not self.gate.polling and self.gate.next_poll_at <= now:
            self.pump(now)

    def polled(self, reading: GateReading) -> None:
        """A poll ended. Grants at most one."""
        now, gate = reading.at, self.gate
        if gate.slot is not None:
            self.slots.in_flight -= 1
        again = gate.finish(reading)
        if reading.observed is not None and self.gated:
            self._learn(reading.observed)
        below = reading.observed is None or self.limit.has_room(gate.counted or 0)
        if self.gated and below and self.room and (ticket := self.waiting.take()) is not None:
            self.admit(ticket, now)
            again = True
        if again or not self.gated:
            self.pump(now)
        else:
            self._look_sooner(reading)

    def _look_sooner(self, reading: GateReading) -> None:
        """Poll again before the interval is over, if it is known when the count will be another."""
        gate, look_at = self.gate, self.cooldown.lag.next_look_at(reading.at)
        if look_at is not None:
            gate.next_poll_at = min(gate.next_poll_at, look_at)
        if reading.observed is not None and gate.in_doubt:
            gate.next_poll_at = min(gate.next_poll_at, *(max(at, reading.at) for at in gate.ours.unseen))

    def _learn(self, observed: int) -> None:
        gate, ours = self.gate, self.gate.ours
        beyond = observed - ours.held - (gate.external(gate.began_at) or 0)
        if told := self.cooldown.polled(max(0, beyond), max(0, beyond + len(ours.unseen)), gate.began_at):
            self.out.append(told)

    def line_up(self, ticket: Ticket, now: float) -> None:
        """Let `ticket` wait in its place, unless it is known already that it waits in vain (spec §6.4)."""
        if not self.pause.is_open and self.pause.outlasts(now + self.policy.max_wait_s):
            self.out.append(Refused(ticket, "paused"))
            return
        ticket.queued_at = now
        self.waiting.add(ticket)
        self.out.append(Queued(ticket))

    def admit(self, ticket: Ticket, now: float) -> None:
        """Grant a waiter that was taken out."""
        slot = self.slots.grant(ticket, now)
        if not self.pause.is_open:
            self.pause.sent(slot, now)
        self.out.append(Granted(ticket, slot, now - ticket.queued_at))

    def let_go(
        self, slot: Slot, now: float, *, reached: bool = True, back: Ticket | None = None, back_at: float = 0.0
    ) -> None:
        """End the hold of `slot`, put `back` in the queue (from `back_at` on, if that is later), and let go who can."""
        # Without a limit nobody waits for a slot, so none needs its rest (spec §6.3).
        rest_s = self.cooldown.seconds if reached and self.limit.value is not None else 0.0
        self.out.append(Released(slot, self.slots.give_back(slot, now, rest_s)))
        if self.gated and reached and not slot.refused:
            self.cooldown.lag.ended(now)
        nobody_tells = self.allowance.until_at is not None and not self.slots.held
        if nobody_tells:
            self.allowance.forget()
        was_probe = not self.pause.is_open and self.pause.left(slot)
        if back is not None:
            self._put_back(back, back_at, now)
        if not rest_s:
            self.freed_at = now if reached else self.freed_at
            self.pump(now, slot)
        elif was_probe or back is not None or nobody_tells:  # a slot that rests lets nobody go; these may
            self.pump(now)

    def _put_back(self, ticket: Ticket, at: float, now: float) -> None:
        if at > now:
            ticket.queued_at = now
            self.waiting.rest(ticket, at)
        else:
            self.line_up(ticket, now)

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
        at, waiting = self.slots.next_cooled_at, self.waiting
        if not self.pause.is_open:
            at = min(at, self.pause.deadline)
        if self.allowance.until_at is not None:
            at = min(at, self.allowance.until_at)
        if self.recovery.due_at is not None:
            at = min(at, self.recovery.due_at)
        if waiting.resting:
            at = min(at, waiting.next_wake_at)
        if waiting.ready and (longest := waiting.longest()) is not None:
            at = min(at, longest.queued_at + self.policy.max_wait_s)
            if self.gated and not self.gate.polling and self.room:
                at = min(at, self.gate.next_poll_at)
        return None if at == inf else at

    def tick(self, now: float) -> None:
        """Do what is due at `now`. Who has waited for max_wait is refused last: a slot may have become free for it. In
        a pause nobody is: whom it outlasts was told before (spec §6.4)."""
        if not self.pause.is_open and self.pause.deadline <= now:
            if self.pause.probe is None:
                self.end_pause("elapsed", now)
            else:
                self.pause.answered(self.pause.probe)
                self.pump(now)
        if self.allowance.until_at is not None and self.allowance.until_at <= now:
            self.allowance.forget()
            self.pump(now)
        while self.waiting.resting and (ticket := self.waiting.woken(now)) is not None:
            self.line_up(ticket, now)
            self.pump(now)
        while self.slots.next_cooled_at <= now:
            slot = self.slots.cool()
            self.freed_at = now
            if self.gated or self.waiting.ready:
                self.pump(now, slot)
        if self.gated:
            self.pump_if_due(now)
        if self.waiting.ready:
            self._refuse_late(now)

    def _refuse_late(self, now: float) -> None:
        while (ticket := self.waiting.longest()) and ticket.queued_at + self.policy.max_wait_s <= now:
            self.refuse(ticket, "queue_timeout")

    def refuse(self, ticket: Ticket, code: str) -> None:
        """Take `ticket` out with `code`; nothing if it does not wait."""
        if self.waiting.remove(ticket):
            self.out.append(Refused(ticket, code))
