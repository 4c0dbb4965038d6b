# Who gets a slot of one provider, and when.
#
# Rule 1: nothing here reads a clock or touches I/O; every call takes `now` (monotonic seconds) and returns effects.
# Rule 2: a slot is held, then cooling, then gone; whatever names a slot that is not held any more changes nothing.
# Rule 3: order is read when a slot is given, never when a waiter arrives: a star counts at once.
# Rule 4: after every change one pump gives what can be given. Nothing else grants but the fast path of `request`.
# Rule 5: what must happen later is in `next_deadline`; whoever owns the clock calls `tick` then.

from collections import deque
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush

from proxy.core.gate import Gate
from proxy.core.model import (
    CooldownSet,
    Effect,
    GateReading,
    Granted,
    Kind,
    Left,
    LimitSet,
    Paused,
    Phase,
    Policy,
    PollUsage,
    Queued,
    RateLimit,
    RateLimited,
    Reclaimed,
    Reduced,
    Refused,
    Released,
    Resumed,
    Slot,
    Snapshot,
    Ticket,
)
from proxy.core.waitlist import Waitlist

PROBE_S = 1.0  # the first waiter after a pause goes alone for at most this long (spec §7.2)
OVERLOAD_PAUSE_MAX_S = 60.0  # what an overloaded provider may ask of us (spec §7.2)
IMMEDIATELY_S = 1.0  # what a stated wait of zero means, so that a provider which says "now" is not hammered
EVIDENCE_KEPT = 20  # spec §7.3
OPERATOR = "operator"
_HOLD_WEIGHT = 0.2  # of the newest answer in the running mean of how long slots are held


class Scheduler:
    """One provider's state machine (spec §6–§9). Every method that changes something returns what happened, in order;
    `Reclaimed` must be acted upon before the effects after it."""

    def __init__(
        self,
        provider_id: str,
        policy: Policy,
        stars: AbstractSet[str],
        *,
        limit: int | None = None,
        cooldown_s: float = 0.35,
        auto_reduced_from: int | None = None,
        evidence: tuple[RateLimit, ...] = (),
        paused_until_at: float | None = None,
        pause_cause: str | None = None,
    ) -> None:
        self.provider_id = provider_id
        self.policy = policy
        self.limit = limit
        self.cooldown_s = cooldown_s
        self.auto_reduced_from = auto_reduced_from
        self.paused_until_at = paused_until_at
        self.pause_cause = pause_cause
        self.waiting = Waitlist(stars)
        self.last_rate_limit: RateLimit | None = None
        self._evidence = deque(evidence, maxlen=EVIDENCE_KEPT)
        self._held: dict[int, Slot] = {}
        self._cooling: list[tuple[float, int, Slot]] = []
        self._grants = 0
        self._reduced_at_grant = 0  # grants made when the limit was last reduced
        self._probe: Slot | None = None
        self._probe_until_at = 0.0
        self._probe_due = False  # a rate limit's pause is over, and nobody has gone since
        self._gate = Gate()
        self._mean_hold_s = 0.0
        self._out: list[Effect] = []

    # --- asking, leaving, giving back ---------------------------------------------------------------------------

    def request(self, ticket: Ticket, now: float) -> list[Effect]:
        """Grant `ticket` at once, let it wait, or refuse it."""
        if self._may_pass():
            self._grant(ticket, now, 0.0)
        elif len(self.waiting) >= self.policy.max_waiting:
            self._out.append(Refused(ticket, "queue_full"))
        elif self._pause_outlasts(now):
            self._out.append(Refused(ticket, "paused"))
        else:
            self._enqueue(ticket, now)
        return self._flush()

    def cancel(self, ticket: Ticket, now: float) -> list[Effect]:
        """The waiter's client left."""
        if self.waiting.remove(ticket):
            self._out.append(Left(ticket, now - ticket.queued_at))
        return self._flush()

    def drop(self, ticket: Ticket, now: float, code: str = "dropped") -> list[Effect]:
        """Refuse one waiter with `code`."""
        if self.waiting.remove(ticket):
            self._out.append(Refused(ticket, code))
        return self._flush()

    def drop_all(self, code: str) -> list[Effect]:
        """Refuse every waiter with `code`: at the end of a drain."""
        for ticket in self.waiting.ordered():
            self.waiting.remove(ticket)
            self._out.append(Refused(ticket, code))
        return self._flush()

    def release(self, slot: Slot, now: float, *, reached: bool = True) -> list[Effect]:
        """The answer's last byte has passed, or its upstream connection is closed. `reached`: whether the upstream ever
        saw the request; only then the slot rests. A second release, or one after a reclaim, does nothing."""
        if self._held.get(slot.id) is slot:
            self._let_go(slot, now, reached=reached)
            self._pump(now)
        return self._flush()

    def requeue(self, slot: Slot, now: float) -> list[Effect]:
        """Give `slot` back after an absorbed refusal and put its ticket back in its own place (spec §7.5)."""
        if self._held.get(slot.id) is slot:
            self._let_go(slot, now, reached=True)
            if self._pause_outlasts(now):
                self._out.append(Refused(slot.ticket, "paused"))
            else:
                self._enqueue(slot.ticket, now)
            self._pump(now)
        return self._flush()

    def reclaim(self, slot: Slot, now: float, why: str = OPERATOR) -> list[Effect]:
        """Take `slot` from its holder, who must close its upstream connection."""
        if self._held.get(slot.id) is slot:
            self._reclaim(slot, now, why, now - slot.granted_at)
            self._pump(now)
        return self._flush()

    def reclaim_overdue(self, now: float) -> list[Effect]:
        """The watchdog: take back every slot that is silent or held for too long (spec §9)."""
        silent_s, hold_s = self.policy.slot_timeout_s, self.policy.max_hold_s
        for slot in list(self._held.values()):
            if hold_s is not None and now - slot.granted_at >= hold_s:
                self._reclaim(slot, now, "max_hold", now - slot.granted_at)
            elif silent_s is not None and now - slot.progress_at >= silent_s:
                self._reclaim(slot, now, "silent", now - slot.progress_at)
        self._pump(now)
        return self._flush()

    # --- what the provider says ---------------------------------------------------------------------------------

    def answered(self, slot: Slot, now: float) -> list[Effect]:
        """An answer without a rate limit has begun: a probe has succeeded, the others may follow."""
        if slot is self._probe:
            self._probe = None
            self._pump(now)
        return self._flush()

    def rate_limited(
        self, slot: Slot, *, status: int, kind: str, retry_after_ms: int | None, now: float, now_ms: int
    ) -> list[Effect]:
        """The provider refused the request of `slot`, held or not any more, with a limit of `kind` (spec §7.2, §7.3)."""
        seen = RateLimit(now_ms, status, kind, retry_after_ms, self.in_flight)
        self.last_rate_limit = seen
        self._out.append(RateLimited(slot.ticket, seen))
        wait_s = None if retry_after_ms is None else retry_after_ms / 1000
        if kind in (Kind.CONCURRENCY, Kind.RATE):
            self._learn(slot, kind, now)
            if self.limit is not None:
                self._evidence.append(seen)
                self._reduce(slot)
                self._lengthen_pause(now + self._pause_s(wait_s), kind, now)
        elif kind == Kind.OVERLOAD and wait_s and self.limit is not None:
            self._lengthen_pause(now + min(wait_s, OVERLOAD_PAUSE_MAX_S, self.policy.pause.max_s), kind, now)
        elif slot is self._probe:
            self._probe = None  # refused, but not for a limit that others would meet
        self._pump(now)
        return self._flush()

    def exhausted(self, wait_s: float, now: float) -> list[Effect]:
        """A bucket of requests is reported empty for `wait_s`: hold the queue, without reducing (spec §7.6)."""
        if self.limit is not None and 0 < wait_s <= self.policy.pause.max_s:
            self._lengthen_pause(now + wait_s, "exhausted", now)
        return self._flush()

    def polled(self, observed: int | None, error: str | None, now: float) -> list[Effect]:
        """A usage poll ended; `observed` None means that it gave no information (spec §8). Grants at most one."""
        again = self._gate.finish(GateReading(observed, now, error))
        if self._room() and (observed is None or self.limit is None or observed < self.limit):
            ticket = self.waiting.first()
            if ticket is not None:
                self._admit(ticket, now)
                again = True
        if again or not self._gated:
            self._pump(now)
        return self._flush()

    # --- what operators do --------------------------------------------------------------------------------------

    def set_limit(self, limit: int | None, by: str, now: float) -> list[Effect]:
        """Change the limit; None is unlimited. Ends the state of an auto-reduce, since a person has decided."""
        self.limit = limit
        self.auto_reduced_from = None
        self._evidence.clear()
        self._out.append(LimitSet(limit, by))
        if limit is None:
            if self.paused_until_at is not None:
                self._resume("unlimited")
            self._probe, self._probe_due = None, False
        self._pump(now)
        return self._flush()

    def restore(self, now: float) -> list[Effect]:
        """Back to the limit before the first auto-reduce; nothing where there was none."""
        return [] if self.auto_reduced_from is None else self.set_limit(self.auto_reduced_from, "restore", now)

    def set_cooldown(self, cooldown_s: float, by: str) -> list[Effect]:
        """Applies to slots released from now on."""
        self.cooldown_s = cooldown_s
        self._out.append(CooldownSet(cooldown_s, by))
        return self._flush()

    def set_policy(self, policy: Policy, now: float) -> list[Effect]:
        """A reload: nothing that is held or waits is disturbed, but new patience and limits of the queue count."""
        self.policy = policy
        return self.tick(now)

    def pause(self, until_at: float, now: float) -> list[Effect]:
        """Pause by hand until `until_at`: the latest human word, so it replaces any pause in force."""
        self._set_pause(until_at, OPERATOR, now)
        return self._flush()

    def resume(self, now: float) -> list[Effect]:
        """End the pause now."""
        if self.paused_until_at is not None:
            self._resume(OPERATOR)
            self._pump(now)
        return self._flush()

    def star_changed(self, workspace: str) -> None:
        """The star of `workspace` changed in the set that this scheduler was given."""
        self.waiting.star_changed(workspace)

    # --- time ---------------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        """When `tick` must be called next, or None. Never in the past after a tick."""
        deadlines = []
        if self._cooling:
            deadlines.append(self._cooling[0][0])
        if self.paused_until_at is not None:
            deadlines.append(self.paused_until_at)
        if self._probe is not None:
            deadlines.append(self._probe_until_at)
        longest = self.waiting.longest()
        if longest is not None:
            deadlines.append(longest.queued_at + self.policy.max_wait_s)
            if self._gated and not self._gate.polling and self._room():
                deadlines.append(self._gate.next_poll_at)
        return min(deadlines, default=None)

    def tick(self, now: float) -> list[Effect]:
        """Do everything that is due at `now`: rests and pauses that end, a probe's time, lost patience, a poll."""
        due = self._gate.next_poll_at <= now
        if self.paused_until_at is not None and self.paused_until_at <= now:
            self._resume("elapsed")
            due = True
        if self._probe is not None and self._probe_until_at <= now:
            self._probe = None
            due = True
        while self._cooling and self._cooling[0][0] <= now:
            slot = heappop(self._cooling)[2]
            if self._gated and not self._gate.polling and self.waiting and self._room():
                self._poll(now, slot)
        self._pump(now, due=due)
        while (ticket := self.waiting.longest()) and ticket.queued_at + self.policy.max_wait_s <= now:
            self.waiting.remove(ticket)
            self._out.append(Refused(ticket, "queue_timeout" if self.paused_until_at is None else "paused"))
        return self._flush()

    # --- what can be read ---------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """Held and cooling slots, with the one whose rest ended in the poll that runs (spec §8)."""
        return len(self._held) + self.cooling

    @property
    def held(self) -> int:
        return len(self._held)

    @property
    def cooling(self) -> int:
        return len(self._cooling) + (self._gate.slot is not None)

    @property
    def notice(self) -> str | None:
        """What a person should know about the limit, or None."""
        if self.auto_reduced_from is None:
            return None
        return f"Concurrency limit auto-reduced to {self.limit} after a 429 — restore manually when ready."

    def slots(self) -> list[Slot]:
        """Held slots by grant, then cooling ones by the end of their rest."""
        resting = [slot for _, _, slot in sorted(self._cooling, key=lambda entry: entry[:2])]
        return [*self._held.values(), *([self._gate.slot] if self._gate.slot else []), *resting]

    def slot(self, slot_id: int) -> Slot | None:
        """The held slot of this id."""
        return self._held.get(slot_id)

    def wait_estimate_s(self, now: float) -> float:
        """How long somebody who came now would wait, from how long slots have been held and from the pause."""
        pause_s = max(0.0, (self.paused_until_at or now) - now)
        if self.limit is None:
            return pause_s
        ahead = len(self.waiting) + 1
        return pause_s + ahead * (self._mean_hold_s + self.cooldown_s) / self.limit

    def snapshot(self, now: float) -> Snapshot:
        """Everything a status shows, at one moment."""
        longest = self.waiting.longest()
        return Snapshot(
            provider_id=self.provider_id,
            limit=self.limit,
            held=self.held,
            cooling=self.cooling,
            queued=len(self.waiting),
            paused_until_at=self.paused_until_at,
            pause_cause=self.pause_cause,
            cooldown_s=self.cooldown_s,
            auto_reduced_from=self.auto_reduced_from,
            notice=self.notice,
            oldest_wait_s=None if longest is None else now - longest.queued_at,
            last_rate_limit=self.last_rate_limit,
            evidence=tuple(self._evidence),
            gate=self._gate.reading,
        )

    def __repr__(self) -> str:
        limit = "∞" if self.limit is None else self.limit
        paused = "" if self.paused_until_at is None else f" paused until {self.paused_until_at:.3f}"
        return (
            f"<Scheduler {self.provider_id} held {self.held}/{limit} cooling {self.cooling}"
            f" waiting {len(self.waiting)}{paused}>"
        )

    # --- inside -------------------------------------------------------------------------------------------------

    def _flush(self) -> list[Effect]:
        out, self._out = self._out, []
        return out

    @property
    def _gated(self) -> bool:
        return self.policy.gate_interval_s is not None and self.limit is not None

    def _may_pass(self) -> bool:
        """The fast path of §6.2: no barging, no pause, no poll, a free slot."""
        if self.waiting or self._gate.polling or self.paused_until_at is not None:
            return False
        return self.limit is None or self.in_flight < self.limit

    def _room(self) -> bool:
        """Whether a waiter could be given a slot now, as far as we alone know."""
        if self.paused_until_at is not None or self._probe is not None:
            return False
        return self.limit is None or self.in_flight < self.limit

    def _pump(self, now: float, *, due: bool = True) -> None:
        """Give what can be given: all that fits without a gate, one question to the provider with one. `due` False
        keeps a tick that is about something else from asking before the interval is over."""
        if not self.waiting:
            self._probe_due = False
        elif self._gated:
            if self._room():
                if self._gate.polling:
                    self._gate.again = True
                elif due:
                    self._poll(now)
        else:
            while self._room() and (ticket := self.waiting.first()) is not None:
                self._admit(ticket, now)

    def _enqueue(self, ticket: Ticket, now: float) -> None:
        ticket.queued_at = now
        self.waiting.add(ticket)
        self._out.append(Queued(ticket))

    def _admit(self, ticket: Ticket, now: float) -> None:
        self.waiting.remove(ticket)
        slot = self._grant(ticket, now, now - ticket.queued_at)
        if self._probe_due:
            self._probe_due = False
            self._probe, self._probe_until_at = slot, now + PROBE_S

    def _grant(self, ticket: Ticket, now: float, waited_s: float) -> Slot:
        self._grants += 1
        slot = Slot(ticket=ticket, grant=self._grants, granted_at=now, last_byte_at=now, progress_at=now)
        self._held[ticket.id] = slot
        self._out.append(Granted(ticket, slot, waited_s))
        return slot

    def _let_go(self, slot: Slot, now: float, *, reached: bool) -> None:
        del self._held[slot.id]
        held_s = now - slot.granted_at
        self._mean_hold_s += _HOLD_WEIGHT * (held_s - self._mean_hold_s)
        slot.phase = Phase.COOLING
        # Without a limit nobody waits for a slot, so none needs its rest (spec §6.3).
        if reached and self.cooldown_s > 0 and self.limit is not None:
            slot.cooled_at = now + self.cooldown_s
            heappush(self._cooling, (slot.cooled_at, slot.grant, slot))
        if slot is self._probe:  # gone without an answer: the next one goes alone in its place
            self._probe, self._probe_due = None, True
        self._out.append(Released(slot, held_s))

    def _reclaim(self, slot: Slot, now: float, why: str, after_s: float) -> None:
        self._out.append(Reclaimed(slot, why, after_s))
        self._let_go(slot, now, reached=True)

    def _poll(self, now: float, slot: Slot | None = None) -> None:
        ticket = self.waiting.first()
        if ticket is not None:
            assert self.policy.gate_interval_s is not None
            self._gate.start(now + self.policy.gate_interval_s, slot)
            self._out.append(PollUsage(ticket))

    def _learn(self, slot: Slot, kind: str, now: float) -> None:
        """`limit: auto` finds its first value in the first refusal for concurrency: one less than was in flight."""
        if self.limit is None and self.policy.learn_limit and kind == Kind.CONCURRENCY:
            self.limit = max(1, self.in_flight - 1)
            self._reduced_at_grant = self._grants
            self._out.append(LimitSet(self.limit, "learned"))

    def _reduce(self, slot: Slot) -> None:
        # One burst is one reduction: who was let in before the last one says nothing about the limit after it.
        if not self.policy.auto_reduce or self.limit is None or slot.grant <= self._reduced_at_grant:
            return
        if self.limit > 1:
            self.auto_reduced_from = self.auto_reduced_from or self.limit
            self.limit -= 1
            self._reduced_at_grant = self._grants
            self._out.append(Reduced(self.limit, self.auto_reduced_from, self.notice or ""))

    def _pause_s(self, wait_s: float | None) -> float:
        pause = self.policy.pause
        if wait_s is None:
            wait_s = pause.default_s
        return min(max(wait_s or IMMEDIATELY_S, pause.min_s), pause.max_s)

    def _lengthen_pause(self, until_at: float, cause: str, now: float) -> None:
        if until_at > now and (self.paused_until_at is None or until_at > self.paused_until_at):
            self._set_pause(until_at, cause, now)

    def _set_pause(self, until_at: float, cause: str, now: float) -> None:
        self.paused_until_at, self.pause_cause = until_at, cause
        self._probe = None
        self._out.append(Paused(until_at, cause))
        # Never wait for what cannot come: who would lose patience within the pause is told now (spec §6.4).
        while (ticket := self.waiting.longest()) and ticket.queued_at + self.policy.max_wait_s < until_at:
            self.waiting.remove(ticket)
            self._out.append(Refused(ticket, "paused"))

    def _pause_outlasts(self, now: float) -> bool:
        return self.paused_until_at is not None and now + self.policy.max_wait_s < self.paused_until_at

    def _resume(self, cause: str) -> None:
        self._probe_due = self.pause_cause != OPERATOR
        self.paused_until_at = self.pause_cause = None
        self._out.append(Resumed(cause))
