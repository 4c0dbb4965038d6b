# What happens at one provider, and what follows from it: the face of the core.
#
# Rule 1: nothing here reads a clock or touches I/O; every call takes `now` (monotonic seconds) and returns effects.
# Rule 2: whatever names a slot that is not held any more, or a ticket that does not wait, changes nothing.
# Rule 3: what must happen later is in `next_deadline`; whoever owns the clock calls `tick` then.

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from proxy.core import forecast, reading
from proxy.core.cooldown import Cooldown
from proxy.core.forecast import Expected
from proxy.core.limit import Limit
from proxy.core.model import (
    CooldownSet,
    Effect,
    GateReading,
    Granted,
    Kind,
    Left,
    LimitSet,
    Policy,
    RateLimit,
    Refused,
    Resumed,
    Slot,
    Snapshot,
    Ticket,
)
from proxy.core.obstacle import Obstacle, obstacle
from proxy.core.pause import OPERATOR
from proxy.core.queue import Queue
from proxy.core.recovery import Recovery
from proxy.core.refusals import Refusals
from proxy.core.strikes import Strikes
from proxy.core.watchdog import overdue


class Scheduler:
    """One provider's state machine (spec §6–§9). Every method that changes something returns what happened, in order;
    `Reclaimed` must be acted upon before the effects after it. `stars` is the live set of starred workspaces; whoever
    changes it calls `star_changed`. `learns_limit` and `learns_cooldown` are what `auto` says for them. The other
    arguments are what the state of an earlier process says, which a first `tick` brings to work."""

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
        learns_limit: bool = False,
        learns_cooldown: bool = False,
        paused_until_at: float | None = None,
        pause_cause: str | None = None,
        strikes: int = 0,
        strikes_until_at: float | None = None,
        restore_after_s: float | None = None,
    ) -> None:
        self.provider_id = provider_id
        self._queue = Queue(
            policy,
            stars,
            Limit(limit, auto_reduced_from, evidence, learns=learns_limit),
            Recovery(policy.auto_restore_s, restore_after_s),
            Cooldown(cooldown_s, learns=learns_cooldown),
        )
        refusals = [seen for seen in evidence if seen.status]
        self._refusals = Refusals(self._queue, refusals[-1] if refusals else None, Strikes(strikes, strikes_until_at))
        self.waiting = self._queue.waiting
        # Without a limit only a pause by hand holds anything (spec §6.2).
        if paused_until_at is not None and (limit is not None or pause_cause == OPERATOR):
            self._queue.pause.begin(paused_until_at, pause_cause or Kind.RATE)

    # --- asking, leaving, giving back ---------------------------------------------------------------------------

    def request(self, ticket: Ticket, now: float) -> list[Effect]:
        """Grant `ticket` at once, let it wait, or refuse it."""
        queue = self._queue
        if (granted := queue.grant_at_once(ticket, now)) is not None:
            return [granted]
        if len(queue.waiting) >= queue.policy.max_waiting:
            queue.out.append(Refused(ticket, "queue_full"))
        else:
            queue.line_up(ticket, now)
            if queue.gated:
                queue.pump_if_due(now)  # there may be a free slot that only a poll can give
        return self._flush()

    def grant_at_once(self, ticket: Ticket, now: float) -> Granted | None:
        """The fast path of §6.2: grant `ticket` if it need not wait. None: nothing has changed."""
        return self._queue.grant_at_once(ticket, now)

    def cancel(self, ticket: Ticket, now: float) -> list[Effect]:
        """The waiter's client left."""
        if self.waiting.remove(ticket):
            self._queue.out.append(Left(ticket, now - ticket.queued_at))
        return self._flush()

    def drop(self, ticket: Ticket, now: float, code: str = "dropped") -> list[Effect]:
        """Refuse one waiter with `code`."""
        self._queue.refuse(ticket, code)
        return self._flush()

    def drop_all(self, code: str) -> list[Effect]:
        """Refuse every waiter with `code`: at the end of a drain."""
        for ticket in self.waiting.ordered():
            self._queue.refuse(ticket, code)
        return self._flush()

    def release(self, slot: Slot, now: float, *, reached: bool = True) -> list[Effect]:
        """The answer's last byte has passed, or its upstream connection is closed. `reached`: whether the upstream ever
        saw the request; only then the slot rests. A second release, or one after a reclaim, does nothing."""
        if slot.held:
            self._queue.let_go(slot, now, reached=reached)
        return self._flush()

    def requeue(self, slot: Slot, now: float, *, rest_s: float = 0.0) -> list[Effect]:
        """Give `slot` back after an absorbed refusal and put its ticket back in its own place (spec §7.5), which counts
        again after `rest_s`."""
        if slot.held:
            self._queue.let_go(slot, now, back=slot.ticket, back_at=now + rest_s)
        return self._flush()

    def reclaim(self, slot: Slot, now: float, why: str = OPERATOR) -> list[Effect]:
        """Take `slot` from its holder, who must close its upstream connection."""
        if slot.held:
            self._queue.reclaim(slot, now, why, now - slot.granted_at)
        return self._flush()

    def reclaim_overdue(self, now: float, slots: Iterable[Slot] | None = None) -> list[Effect]:
        """The watchdog: of `slots`, or else of all, take back each that is silent or held for too long (spec §9)."""
        for slot in self.holding() if slots is None else slots:
            if slot.held and (found := overdue(self.policy, slot, now)) is not None:
                self._queue.reclaim(slot, now, *found)
        return self._flush()

    # --- what the provider says ---------------------------------------------------------------------------------

    def answered(self, slot: Slot, now: float, *, success: bool = True) -> list[Effect]:
        """An answer without a rate limit has begun: a probe has succeeded, the others may follow. One that is no
        `success` shows nothing else."""
        queue = self._queue
        if success:
            self._refusals.succeeded(slot)
        was_probe = not queue.pause.is_open and queue.pause.answered(slot)
        if was_probe or (queue.gated and queue.waits_for_news):
            queue.pump(now)
            return self._flush()
        return []

    def beside(self, ticket: Ticket, now: float) -> Slot:
        """For a request that takes no slot: by what its answer is told in the place of one. It is never held."""
        return Slot(ticket, self._queue.slots.grants, now)

    def rate_limited(
        self, slot: Slot, *, status: int, kind: str, retry_after_ms: int | None, now: float, now_ms: int
    ) -> list[Effect]:
        """The provider refused the request of `slot`, held or not any more, with a limit of `kind` (spec §7.2, §7.3);
        a 429 of unknown kind counts as rate."""
        seen = RateLimit(now_ms, status, kind, retry_after_ms, self.in_flight)
        self._refusals.told(slot, seen, now)
        return self._flush()

    def few_left(self, slot: Slot, count: int, wait_s: float, now: float) -> list[Effect]:
        """The answer to the request of `slot` says that `count` more are taken within `wait_s` (spec §7.6): with none,
        hold the queue until then, without reducing; with few, let no more go before another answer says so."""
        queue = self._queue
        if self.limit is not None and 0 < wait_s <= self.policy.pause.max_s:
            if count == 0:
                queue.lengthen_pause(now + wait_s, "exhausted")
            elif slot.held:
                queue.allowance.tell(slot.grant, count, now + wait_s)
                if count >= self.limit:
                    queue.allowance.forget()
                queue.pump(now)
        return self._flush()

    def polled(self, observed: int | None, error: str | None, now: float) -> list[Effect]:
        """A usage poll ended; `observed` None means that it gave no information (spec §8). Grants at most one."""
        self._queue.polled(GateReading(observed, now, error))
        return self._flush()

    # --- what operators do --------------------------------------------------------------------------------------

    def set_limit(self, limit: int | None, by: str, now: float, *, learns: bool = False) -> list[Effect]:
        """Change the limit; None is unlimited, with `learns` until it is learned. Ends the state of an auto-reduce,
        since a person has decided."""
        queue = self._queue
        removed = limit is None and queue.limit.value is not None
        queue.set_limit(limit, learns=learns)
        queue.recovery.forget()
        queue.out.append(LimitSet(limit, by))
        if removed:
            if queue.pause.until_at is not None:
                queue.out.append(Resumed("unlimited"))
            queue.pause.lift()
            queue.allowance.forget()
        queue.pump(now)
        return self._flush()

    def restore(self, now: float) -> list[Effect]:
        """Back to the limit before the first auto-reduce; nothing where there was none."""
        return [] if self.auto_reduced_from is None else self.set_limit(self.auto_reduced_from, "restore", now)

    def set_cooldown(self, cooldown_s: float, by: str, *, learns: bool = False) -> list[Effect]:
        """Applies to slots released from now on; with `learns`, it is where learning begins."""
        self._queue.cooldown.set(cooldown_s, learns=learns)
        self._queue.out.append(CooldownSet(cooldown_s, by))
        return self._flush()

    def set_policy(self, policy: Policy, now: float) -> list[Effect]:
        """A reload: nothing that is held or waits is disturbed, but new patience and limits of the queue count."""
        queue = self._queue
        queue.set_policy(policy)
        queue.recovery.configure(policy.auto_restore_s, now, reduced=queue.limit.original is not None)
        queue.refuse_impatient()
        queue.pump(now)
        queue.tick(now)
        return self._flush()

    def pause(self, until_at: float, now: float) -> list[Effect]:
        """Pause by hand until `until_at`: the latest human word, so it replaces any pause in force."""
        self._queue.begin_pause(until_at, OPERATOR)
        return self._flush()

    def resume(self, now: float) -> list[Effect]:
        """End the pause now."""
        if self.paused_until_at is not None:
            self._queue.end_pause(OPERATOR, now)
        return self._flush()

    def star_changed(self, workspace: str) -> None:
        """The star of `workspace` changed in the set that this scheduler was given."""
        self.waiting.star_changed(workspace)

    # --- time ---------------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        """When `tick` must be called next, or None. Never in the past after a tick."""
        return self._queue.deadline

    def tick(self, now: float, now_ms: int) -> list[Effect]:
        """Do everything that is due at `now`: rests and pauses that end, a probe's time, a poll, lost patience, a step
        back towards the limit before a reduction. `now_ms` is the same moment as epoch milliseconds."""
        if self._queue.limit.original is not None:
            self._restore_by_itself(now, now_ms)
        self._queue.tick(now)
        return self._flush()

    # --- what can be read ---------------------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        return self._queue.policy

    @property
    def limit(self) -> int | None:
        return self._queue.limit.value

    @property
    def orders(self) -> bool:
        """Whether anybody may have to wait, so that it matters who is first."""
        return self._queue.limit.value is not None or self._queue.pause.until_at is not None

    @property
    def auto_reduced_from(self) -> int | None:
        return self._queue.limit.original

    @property
    def notice(self) -> str | None:
        """What a person should know about the limit, or None."""
        return self._queue.limit.notice

    @property
    def cooldown_s(self) -> float:
        return self._queue.cooldown.seconds

    @property
    def last_rate_limit(self) -> RateLimit | None:
        return self._refusals.last

    @property
    def paused_until_at(self) -> float | None:
        return self._queue.pause.until_at

    @property
    def pause_cause(self) -> str | None:
        return self._queue.pause.cause

    @property
    def in_flight(self) -> int:
        """Held and cooling slots, with the one whose becoming free started the poll that runs (spec §8)."""
        return self._queue.slots.in_flight

    @property
    def held(self) -> int:
        return self._queue.slots.held

    @property
    def cooling(self) -> int:
        return self.in_flight - self.held

    def holding(self) -> list[Slot]:
        """Held slots, first granted first."""
        return self._queue.slots.holding()

    def slots(self) -> list[Slot]:
        """Held slots, first granted first, then cooling ones, first to be free first."""
        return reading.slots(self._queue)

    def slot(self, slot_id: int) -> Slot | None:
        """The held slot of this id."""
        return self._queue.slots.by_id(slot_id)

    def wait_estimate_s(self, now: float) -> float:
        """How long somebody who came now would wait."""
        return reading.wait_estimate_s(self._queue, now)

    def waits_for(self, now: float) -> Obstacle | None:
        """Why the first in the queue is not let in at this moment; None: nobody waits."""
        return obstacle(self._queue, now)

    def expected_waits(self, now: float, now_ms: int) -> list[Expected]:
        """Who waits, in the order of service, and how much longer that may take; for people who look. `now_ms` is the
        same moment as epoch milliseconds."""
        return forecast.expected_waits(self._queue, now, now_ms)

    def newcomer_wait_s(self, now: float, now_ms: int) -> float | None:
        """The same for somebody who came now with a new prompt; None: unknown."""
        return forecast.newcomer_wait_s(self._queue, now, now_ms)

    def snapshot(self, now: float) -> Snapshot:
        """Everything a status shows, at one moment."""
        return reading.snapshot(self._queue, self._refusals, self.provider_id, now)

    def show(self, queue: Queue, refusals: Refusals) -> None:
        """Be looked at in the place of another, whose `queue` and `refusals` these are. What is done to it concerns
        nobody."""
        self._queue, self._refusals, self.waiting = queue, refusals, queue.waiting

    def __repr__(self) -> str:
        return reading.described(self._queue, self.provider_id)

    # --- inside -------------------------------------------------------------------------------------------------

    def _flush(self) -> list[Effect]:
        out, self._queue.out = self._queue.out, []
        return out

    def _restore_by_itself(self, now: float, now_ms: int) -> None:
        queue, recovery = self._queue, self._queue.recovery
        if recovery.due_at is None or (recovery.due_at <= now and not self._refusals.bears_more(now)):
            recovery.wait(now, reduced=queue.limit.original is not None)
        elif recovery.due_at <= now:
            queue.out.append(LimitSet(queue.limit.step_up(now_ms, self.in_flight), "auto_restore"))
            recovery.stepped(now, reduced=queue.limit.original is not None)
            queue.pump(now)
