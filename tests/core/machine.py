# A Hypothesis state machine that uses a scheduler as wildly as it may be used, beside a naive model of the contract.
#
# Rule 1: it knows the scheduler by its methods and its effects alone, so that any other that keeps the same contract
#         (one on a shared store, say) is tested by the same machine: `machine_of(build)`.
# Rule 2: times are binary fractions, so that "just before", "at" and "just after" a deadline are exact.
# Rule 3: whatever breaks a promise of spec §6–§9 fails in the step that broke it; `teardown` proves that no slot was
#         lost or made.

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from proxy.core.model import (
    CooldownSet,
    Effect,
    Granted,
    Left,
    LimitSet,
    Paused,
    PausePolicy,
    Policy,
    PollUsage,
    Queued,
    RateLimited,
    Reclaimed,
    Reduced,
    Refused,
    Released,
    Resumed,
    Slot,
    Ticket,
)
from proxy.core.obstacle import Code, Obstacle
from proxy.core.scheduler import Scheduler

Build = Callable[..., Scheduler]  # (policy, stars, *, limit, cooldown_s, learns_limit, learns_cooldown)

MOMENT = 1 / 1024
ON_ITS_WAY_S = 0.15  # a provider may not have counted yet what was granted so short ago
PAUSE = PausePolicy(default_s=8.0, min_s=0.25, max_s=64.0)
MORNING_MS = 1_700_000_000_000  # when everything happens, by the wall clock
DAY_LEFT_S = (86_400_000 - MORNING_MS % 86_400_000) / 1000

workspaces = st.sampled_from("abc")
limits = st.sampled_from([None, 1, 2, 3, 5])
cooldowns = st.sampled_from([0.0, 0.5, 2.0])
policies = st.builds(
    Policy,
    auto_reduce=st.booleans(),
    auto_restore_s=st.sampled_from([None, 4.0]),
    strikes=st.sampled_from([None, 1, 3]),
    pause=st.sampled_from([PAUSE, PausePolicy(default_s=2.0, max_s=0.0)]),
    slot_timeout_s=st.sampled_from([None, 16.0]),
    max_hold_s=st.sampled_from([None, 32.0]),
    max_waiting=st.sampled_from([0, 2, 1000]),
    max_wait_s=st.sampled_from([4.0, 32.0]),
    gate_interval_s=st.sampled_from([None, None, 1.0]),
)


class SchedulerMachine(RuleBasedStateMachine):
    """The model: who waits since when, who holds, what rests until when, the pause, the probe, the poll."""

    build: Build

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.stars: set[str] = set()
        self.ids = itertools.count(1)
        self.waiting: dict[int, tuple[Ticket, float]] = {}
        self.held: dict[int, Slot] = {}
        self.ended: list[Slot] = []
        self.resting: list[tuple[float, Slot]] = []
        self.numbers: dict[Slot, int] = {}  # the how-manieth grant
        self.reduced_at = 0
        self.reduced_from: int | None = None
        self.paused_until: float | None = None
        self.pause_cause: str | None = None
        self.probe: Slot | None = None
        self.probe_until = 0.0
        self.probe_due = False
        self.polling = False
        self.next_poll = 0.0
        self.last_poll: tuple[int | None, float] | None = None  # what it observed, and when
        self.unseen = self.last_unseen = 0  # granted just before a poll began: it may have come too early to count them
        self.allowed: tuple[int, float] | None = None  # the last grant that the provider will take, and until when
        self.allowed_by = 0
        self.dozing: dict[int, tuple[float, Ticket]] = {}  # put back after a refusal, with the end of the rest
        self.refused_slots: set[Slot] = set()
        self.taken: set[Slot] = set()  # answered while a limit was to be learned
        self.served = 0  # the most of them at once
        self.learned_at: int | None = None  # how many grants there had been when a first limit was learned
        self.strikes = 0
        self.strikes_until = 0.0
        self.quiet_since = 0.0

    @initialize(
        policy=policies, limit=limits, cooldown_s=cooldowns, learns_limit=st.booleans(), learns_cooldown=st.booleans()
    )
    def start(
        self, policy: Policy, limit: int | None, cooldown_s: float, learns_limit: bool, learns_cooldown: bool
    ) -> None:
        self.policy, self.limit, self.learns_limit, self.learns_cooldown = policy, limit, learns_limit, learns_cooldown
        self.cooldown_s = min(max(cooldown_s, 0.05), 5.0) if learns_cooldown else cooldown_s
        self.subject = type(self).build(
            policy,
            self.stars,
            limit=limit,
            cooldown_s=cooldown_s,
            learns_limit=learns_limit,
            learns_cooldown=learns_cooldown,
        )

    # --- the naive model ---

    @property
    def in_flight(self) -> int:
        return len(self.held) + len(self.resting)

    @property
    def gated(self) -> bool:
        return self.policy.gate_interval_s is not None and self.limit is not None

    @property
    def allowance(self) -> bool:
        return self.allowed is None or len(self.numbers) < self.allowed[0]

    @property
    def room(self) -> bool:
        return self.allowance and (self.limit is None or self.in_flight < self.limit)

    @property
    def free(self) -> bool:
        """Like `room`, but asked: the slot that started the poll that runs is taken until the poll ends."""
        return self.allowance and (self.limit is None or self.subject.snapshot(self.now).in_flight < self.limit)

    @property
    def line(self) -> list[Ticket]:
        tickets = [ticket for ticket, _ in self.waiting.values()]
        return sorted(tickets, key=lambda one: (one.workspace not in self.stars, one.prompt_started_at, one.id))

    @property
    def everybody(self) -> list[Ticket]:
        tickets = [*self.line, *(ticket for _, ticket in self.dozing.values())]
        return sorted(tickets, key=lambda one: (one.workspace not in self.stars, one.prompt_started_at, one.id))

    @property
    def deadline(self) -> float | None:
        """When something is due by time alone."""
        times = [at for at, _ in [*self.resting, *self.dozing.values()]] + [
            since + self.policy.max_wait_s for _, since in self.waiting.values()
        ]
        if self.allowed is not None:
            times.append(self.allowed[1])
        if self.paused_until is not None:
            times.append(self.paused_until)
        elif self.probe is not None:
            times.append(self.probe_until)
        elif self.waiting and self.gated and self.room and not self.polling:
            times.append(self.next_poll)
        restore_at = self.subject.snapshot(self.now).restore_at
        if restore_at is not None:
            times.append(restore_at)
        return min(times, default=None)

    def outlasted(self, since: float) -> bool:
        return self.paused_until is not None and since + self.policy.max_wait_s < self.paused_until

    # --- what happened, effect by effect ---

    def happened(
        self,
        effects: list[Effect],
        *,
        newcomer: Ticket | None = None,
        reached: bool = True,
        polls: int = 0,
        refusals: frozenset[str] = frozenset({"paused"}),
    ) -> list[Effect]:
        """Hold `effects` against the model and bring it up to date. `newcomer` asks in this step, `polls` says how many
        waiters a gate may let go in it, `refusals` with which codes somebody may be refused."""
        for effect in effects:
            match effect:
                case Queued(ticket):
                    assert ticket.id not in self.waiting
                    assert ticket.queued_at == self.now
                    assert not self.outlasted(self.now)
                    assert self.dozing.pop(ticket.id, (self.now, None))[0] <= self.now, "woken early"
                    self.waiting[ticket.id] = (ticket, self.now)
                case Granted(ticket, slot, waited_s):
                    if ticket is newcomer:
                        self.newcomer_granted(waited_s)
                    else:
                        polls = self.waiter_granted(ticket, slot, waited_s, polls)
                    assert ticket.id not in self.held, "one holder per slot"
                    self.held[ticket.id] = slot
                    self.numbers[slot] = len(self.numbers) + 1
                    assert slot.ticket is ticket
                    assert self.limit is None or self.in_flight <= self.limit, "over the limit"
                    assert self.allowed is None or len(self.numbers) <= self.allowed[0], "more than the provider takes"
                case Left(ticket):
                    if self.dozing.pop(ticket.id, None) is None:
                        del self.waiting[ticket.id]
                case Refused(ticket, code):
                    self.refused(ticket, code, newcomer, refusals)
                case Released(slot):
                    self.released(slot, reached)
                case Reclaimed(slot):
                    assert self.held[slot.id] is slot
                case PollUsage(ticket):
                    assert self.gated
                    assert not self.polling, "polls overlap"
                    assert ticket is self.line[0], "the credentials of who is first"
                    assert self.paused_until is None
                    assert self.probe is None
                    self.polling = True
                    self.unseen = sum(self.now - slot.granted_at < ON_ITS_WAY_S for slot in self.held.values())
                    self.next_poll = self.now + (self.policy.gate_interval_s or 0.0)
                case Paused(until_at, cause):
                    if cause != "operator":
                        assert self.limit is not None
                        assert self.paused_until is None or until_at > self.paused_until, "a pause was shortened"
                    self.paused_until, self.pause_cause = until_at, cause
                    self.probe, self.probe_due = None, False
                case Resumed():
                    assert self.paused_until is not None
                    self.probe_due = self.pause_cause != "operator" and self.limit is not None
                    self.paused_until = self.pause_cause = None
                case Reduced(limit, original, notice):
                    assert self.limit is not None
                    assert limit == self.limit - 1 >= 1
                    self.reduced_from = self.reduced_from or self.limit
                    assert original == self.reduced_from
                    assert f"auto-reduced to {limit} after" in notice
                    self.limit, self.reduced_at = limit, len(self.numbers)
                case LimitSet(limit, by):
                    self.limit_set(limit, by)
                case CooldownSet(_, by):
                    assert by == "api" or self.learns_cooldown
                case RateLimited():
                    pass
                case _:
                    raise AssertionError(effect)
        return effects

    def newcomer_granted(self, waited_s: float) -> None:
        assert not self.waiting, "barged"
        assert self.paused_until is None, "granted while paused"
        assert not (self.gated and self.polling), "passed a poll"
        assert waited_s == 0.0
        self.probe_due = False

    def waiter_granted(self, ticket: Ticket, slot: Slot, waited_s: float, polls: int) -> int:
        assert ticket.id in self.waiting, "granted to nobody who waits"
        assert ticket is self.line[0], "out of order"
        assert self.paused_until is None, "granted while paused"
        assert self.probe is None, "granted beside a probe"
        if self.gated:
            assert polls > 0, "granted without a poll"
        assert waited_s == self.now - self.waiting.pop(ticket.id)[1]
        if self.probe_due:
            self.probe, self.probe_until, self.probe_due = slot, self.now + 1.0, False
        return polls - 1

    def refused(self, ticket: Ticket, code: str, newcomer: Ticket | None, refusals: frozenset[str]) -> None:
        _, since = self.waiting.pop(ticket.id, (ticket, self.now))
        self.dozing.pop(ticket.id, None)
        if code == "queue_full":
            assert ticket is newcomer
            assert len(self.waiting) + len(self.dozing) >= self.policy.max_waiting
        elif code == "paused":
            assert self.outlasted(since)
        else:
            assert code in refusals
            assert code != "queue_timeout" or since + self.policy.max_wait_s <= self.now

    def released(self, slot: Slot, reached: bool) -> None:
        assert self.held.pop(slot.id) is slot
        self.ended.append(slot)
        if not self.held:
            self.allowed = None
        if reached and self.limit is not None and self.cooldown_s:
            self.resting.append((self.now + self.cooldown_s, slot))
        if slot is self.probe:
            self.probe, self.probe_due = None, True

    def limit_set(self, limit: int | None, by: str) -> None:
        if by == "auto_restore":
            assert self.limit is not None
            assert self.reduced_from is not None
            assert self.policy.auto_restore_s is not None
            assert self.now >= self.quiet_since + self.policy.auto_restore_s, "too early to go up again"
            assert limit == self.limit + 1 <= self.reduced_from, "more than one step"
            self.limit, self.quiet_since = limit, self.now
            self.reduced_from = None if limit == self.reduced_from else self.reduced_from
            return
        if by == "learned" and self.limit is not None:
            self.limit, self.reduced_from = limit, None if self.reduced_from is None else self.reduced_from - 1
            return
        if by == "learned":
            self.learned_at = self.reduced_at = len(self.numbers)
        else:
            self.learned_at, self.learns_limit, self.served = None, False, 0
        if limit is None and self.limit is not None:
            self.probe, self.probe_due, self.allowed = None, False, None
        self.limit, self.reduced_from = limit, None

    # --- clients ---

    @rule(workspace=workspaces, started=st.integers(0, 4))
    def ask(self, workspace: str, started: int) -> None:
        ticket = Ticket(id=next(self.ids), workspace=workspace, conversation=None, prompt_started_at=started, path="/")
        free = not self.waiting and self.paused_until is None and self.free and not (self.gated and self.polling)
        told = self.subject.snapshot(self.now)
        effects = self.happened(self.subject.request(ticket, self.now), newcomer=ticket)
        assert len(effects) == 1 or isinstance(effects[1], PollUsage)
        if isinstance(effects[0], Granted):
            assert free
        elif free:
            assert self.gated, "a free slot is not given"
            assert told.external or told.lag_s, "only what polls have told holds a newcomer back"

    @rule(workspace=workspaces, started=st.integers(0, 4))
    def ask_at_once(self, workspace: str, started: int) -> None:
        """As a newcomer asks first: it goes, and nothing is due earlier for that; or nothing has happened."""
        ticket = Ticket(id=next(self.ids), workspace=workspace, conversation=None, prompt_started_at=started, path="/")
        told, deadline = self.subject.snapshot(self.now), self.subject.next_deadline()
        granted = self.subject.grant_at_once(ticket, self.now)
        if granted is None:
            assert self.subject.snapshot(self.now) == told
            assert self.subject.next_deadline() == deadline
            (effect, *_) = self.happened(self.subject.request(ticket, self.now), newcomer=ticket)
            assert not isinstance(effect, Granted)
        else:
            self.happened([granted], newcomer=ticket)
            after = self.subject.next_deadline()
            assert after is None or (deadline is not None and after >= deadline)

    @rule(count=st.integers(2, 6))
    def crowd(self, count: int) -> None:
        for number in range(count):
            self.ask("abc"[number % 3], number % 4)

    @precondition(lambda self: self.waiting or self.dozing)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(self.everybody))
        (effect,) = self.happened(self.subject.cancel(ticket, self.now))
        assert isinstance(effect, Left)
        assert self.subject.cancel(ticket, self.now) == []

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def cancel_after_the_grant(self, data: st.DataObject) -> None:
        slot = data.draw(st.sampled_from(list(self.held.values())))
        assert self.subject.cancel(slot.ticket, self.now) == []

    @precondition(lambda self: self.waiting or self.dozing)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(self.everybody))
        effects = self.happened(self.subject.drop(ticket, self.now), refusals=frozenset({"dropped"}))
        assert len(effects) == 1

    @rule()
    def drop_all(self) -> None:
        line = self.everybody
        effects = self.happened(self.subject.drop_all("draining"), refusals=frozenset({"draining"}))
        assert [effect.ticket for effect in effects if isinstance(effect, Refused)] == line

    @precondition(lambda self: self.held)
    @rule(data=st.data(), reached=st.booleans())
    def release(self, data: st.DataObject, reached: bool) -> None:
        slot = data.draw(st.sampled_from(list(self.held.values())))
        effects = self.happened(self.subject.release(slot, self.now, reached=reached), reached=reached)
        assert isinstance(effects[0], Released)

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def touch_what_has_ended(self, data: st.DataObject) -> None:
        slot = data.draw(st.sampled_from(self.ended[-8:]))
        assert self.subject.release(slot, self.now) == []
        assert self.subject.requeue(slot, self.now) == []
        assert self.subject.reclaim(slot, self.now) == []
        assert self.subject.answered(slot, self.now) == []

    # --- the provider ---

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        slot = data.draw(st.sampled_from(list(self.held.values())))
        if slot is self.probe:
            self.probe = None
        if self.learns_limit:
            self.taken.add(slot)
            self.served = max(self.served, sum(other in self.taken for other in self.held.values()))
        self.happened(self.subject.answered(slot, self.now))

    @precondition(lambda self: self.held or self.ended)
    @rule(
        data=st.data(),
        kind=st.sampled_from(["concurrency", "rate", "quota", "overload", "none"]),
        wait_ms=st.sampled_from([None, 0, 125, 4000, 100_000]),
        back=st.sampled_from([None, 0.0, 0.5]),
    )
    def refuse(self, data: st.DataObject, kind: str, wait_ms: int | None, back: float | None) -> None:
        slot = data.draw(st.sampled_from([*self.held.values(), *self.ended[-4:]]))
        self.refused_slots.add(slot)
        self.taken.discard(slot)
        learned = self.learns(slot, kind)
        limited = self.limit is not None or learned is not None
        ours = kind in ("concurrency", "rate", "none")
        reduces = ours and self.policy.auto_reduce and (self.limit or 1) > 1 and self.numbers[slot] > self.reduced_at
        if kind == "concurrency":
            self.strikes = self.strikes + 1 if self.now < self.strikes_until else 1
            self.strikes_until = self.now + DAY_LEFT_S
        if ours and limited:
            self.quiet_since = self.now
        until = self.now + self.wait_s(kind, wait_ms) if limited else self.now
        lengthens = until > self.now and (self.paused_until is None or until > self.paused_until)
        if slot is self.probe and not lengthens:
            self.probe = None
        effects = self.happened(
            self.subject.rate_limited(
                slot, status=429, kind=kind, retry_after_ms=wait_ms, now=self.now, now_ms=MORNING_MS
            )
        )
        assert isinstance(effects[0], RateLimited)
        if any(isinstance(effect, CooldownSet) for effect in effects):  # put down to a slot that rested too briefly
            assert self.learns_cooldown
            assert kind == "concurrency"
            reduces, self.reduced_at = False, len(self.numbers)
            self.cooldown_s = self.subject.snapshot(self.now).cooldown_s
        assert any(isinstance(effect, Reduced) for effect in effects) is reduces
        assert [effect for effect in effects if isinstance(effect, Paused)] == ([Paused(until, kind)] * lengthens)
        assert [effect for effect in effects if isinstance(effect, LimitSet)] == (
            [] if learned is None else [LimitSet(learned, "learned")]
        )
        if back is not None and self.held.get(slot.id) is slot:
            self.absorb(slot, back)

    def learns(self, slot: Slot, kind: str) -> int | None:
        """The limit that this refusal teaches (limit: auto), written down once more."""
        if kind != "concurrency":
            return None
        if self.limit is None and self.learns_limit:
            return max(1, self.served, sum(other not in self.refused_slots for other in self.held.values()))
        in_the_burst = self.learned_at is not None and self.numbers[slot] <= self.learned_at
        if in_the_burst and self.limit is not None:
            return self.limit - 1 if self.limit > max(1, self.served) else None
        return None

    def wait_s(self, kind: str, wait_ms: int | None) -> float:
        """The pause that a refusal asks for (spec §7.2), written down once more."""
        pause = self.policy.pause
        stated = {None: None, 0: 1.0}.get(wait_ms, (wait_ms or 0) / 1000)
        if kind == "quota" or (kind == "overload" and stated is None):
            return 0.0
        if kind == "overload":
            return min(stated or 0.0, 60.0, pause.max_s)
        floor_s = pause.min_s
        if kind == "concurrency" and self.policy.strikes is not None:
            doubled = max(floor_s, 1.0) * 2.0 ** (self.strikes - 1)
            floor_s = pause.max_s if self.strikes >= self.policy.strikes else doubled
        return min(max(pause.default_s if stated is None else stated, floor_s), pause.max_s)

    def absorb(self, slot: Slot, rest_s: float) -> None:
        if rest_s:
            self.dozing[slot.id] = (self.now + rest_s, slot.ticket)
        effects = self.happened(self.subject.requeue(slot, self.now, rest_s=rest_s))
        assert isinstance(effects[0], Released)
        back = [one for one in effects if isinstance(one, Queued | Refused) and one.ticket is slot.ticket]
        assert len(back) == (0 if rest_s else 1)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), wait_s=st.sampled_from([0.0, 2.0, 64.0, 65.0]), count=st.sampled_from([0, 0, 1, 2, 9]))
    def few_left(self, data: st.DataObject, wait_s: float, count: int) -> None:
        slot = data.draw(st.sampled_from(list(self.held.values())))
        until = self.now + wait_s
        counts = self.limit is not None and 0 < wait_s <= self.policy.pause.max_s
        if counts and count and self.limit is not None and count >= self.limit:
            self.allowed, self.allowed_by = None, max(self.allowed_by, self.numbers[slot])
        elif counts and count and self.numbers[slot] >= self.allowed_by:
            self.allowed_by = self.numbers[slot]
            self.allowed = (self.allowed_by + count, until)
        effects = self.happened(self.subject.few_left(slot, count, wait_s, self.now))
        if counts and not count:
            assert self.paused_until is not None
            assert self.paused_until >= until
            assert effects == [] or self.pause_cause == "exhausted"
        else:
            assert not any(isinstance(effect, Paused) for effect in effects)

    @precondition(lambda self: self.polling)
    @rule(observed=st.sampled_from([None, 0, 1, 2, 9]))
    def poll_ends(self, observed: int | None) -> None:
        self.polling = False
        self.next_poll = max(self.next_poll, self.now)
        may_go = bool(self.waiting) and self.room and self.paused_until is None and self.probe is None
        may_go = may_go and (observed is None or self.limit is None or observed < self.limit)
        counted_all = observed is None or self.limit is None or observed + self.unseen < self.limit
        polls = int(may_go)
        error = "timed out" if observed is None else None
        self.last_poll, self.last_unseen = (observed, self.now), self.unseen
        effects = self.happened(self.subject.polled(observed, error, self.now), polls=polls)
        granted = any(isinstance(effect, Granted) for effect in effects)
        if self.gated and may_go and not counted_all:
            due = self.subject.next_deadline()
            assert granted or self.polling or (due is not None and due <= self.now + ON_ITS_WAY_S), "nobody looks again"
        elif self.gated:
            assert granted is may_go

    # --- operators ---

    @rule(limit=limits)
    def set_limit(self, limit: int | None) -> None:
        removed = limit is None and self.limit is not None
        effects = self.happened(self.subject.set_limit(limit, "api", self.now))
        assert effects[0] == LimitSet(limit, "api")
        self.learns_limit, self.served = False, 0
        if removed:
            assert self.paused_until is None
            assert not self.waiting

    @rule()
    def restore(self) -> None:
        original = self.reduced_from
        effects = self.happened(self.subject.restore(self.now))
        assert effects[:1] == ([] if original is None else [LimitSet(original, "restore")])

    @rule(cooldown_s=cooldowns)
    def set_cooldown(self, cooldown_s: float) -> None:
        self.happened(self.subject.set_cooldown(cooldown_s, "api"))
        self.cooldown_s, self.learns_cooldown = cooldown_s, False

    @rule(policy=policies)
    def reload(self, policy: Policy) -> None:
        self.policy = policy
        self.time_is_up()
        self.happened(self.subject.set_policy(policy, self.now), refusals=frozenset({"paused", "queue_timeout"}))

    @rule(duration_s=st.sampled_from([0.5, 4.0, 100.0]))
    def pause(self, duration_s: float) -> None:
        effects = self.happened(self.subject.pause(self.now + duration_s, self.now))
        assert effects[0] == Paused(self.now + duration_s, "operator")

    @rule()
    def resume(self) -> None:
        paused = self.paused_until is not None
        effects = self.happened(self.subject.resume(self.now))
        assert effects[:1] == ([Resumed("operator")] if paused else [])

    @rule(workspace=workspaces)
    def flip_star(self, workspace: str) -> None:
        self.stars.symmetric_difference_update({workspace})
        self.subject.star_changed(workspace)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def reclaim(self, data: st.DataObject) -> None:
        slot = data.draw(st.sampled_from(list(self.held.values())))
        effects = self.happened(self.subject.reclaim(slot, self.now))
        assert effects[:1] == [Reclaimed(slot, "operator", self.now - slot.granted_at)]

    # --- time ---

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def bytes_move(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(list(self.held.values()))).progress_at = self.now

    @rule()
    def watchdog(self) -> None:
        silent_s, hold_s = self.policy.slot_timeout_s, self.policy.max_hold_s
        overdue = [
            slot
            for slot in self.held.values()
            if (silent_s is not None and self.now - slot.progress_at >= silent_s)
            or (hold_s is not None and self.now - slot.granted_at >= hold_s)
        ]
        effects = self.happened(self.subject.reclaim_overdue(self.now))
        assert [effect.slot for effect in effects if isinstance(effect, Reclaimed)] == overdue

    @rule(seconds=st.sampled_from([MOMENT, 0.5, 1.0, 5.0, 20.0]))
    def time_passes_unseen(self, seconds: float) -> None:
        """The timer is late: calls come before it looks."""
        self.now += seconds

    @rule(off=st.sampled_from([-MOMENT, 0.0, MOMENT, 1.0]))
    def next_deadline(self, off: float) -> None:
        deadline = self.subject.next_deadline()
        self.now = max(self.now, (self.now if deadline is None else deadline) + off)
        self.tick()

    @rule()
    def tick(self) -> None:
        self.time_is_up()
        self.happened(self.subject.tick(self.now, MORNING_MS), refusals=frozenset({"queue_timeout"}))
        deadline = self.subject.next_deadline()
        assert deadline is None or deadline > self.now, "a deadline that is over"
        assert self.paused_until is None or self.paused_until > self.now

    def time_is_up(self) -> None:
        """What a tick ends without a word."""
        self.resting = [(at, slot) for at, slot in self.resting if at > self.now]
        if self.probe is not None and self.probe_until <= self.now:
            self.probe = None
        if self.allowed is not None and self.allowed[1] <= self.now:
            self.allowed = None

    # --- always ---

    @invariant()
    def nothing_differs(self) -> None:
        seen = self.subject.snapshot(self.now)
        assert (seen.held, seen.queued) == (len(self.held), len(self.everybody))
        assert (seen.limit, seen.auto_reduced_from) == (self.limit, self.reduced_from)
        assert (seen.paused_until_at, seen.pause_cause) == (self.paused_until, self.pause_cause)
        if self.learns_cooldown:
            self.cooldown_s = seen.cooldown_s
            assert 0.05 <= seen.cooldown_s <= 5.0
        assert seen.cooldown_s == self.cooldown_s
        assert seen.strikes == (self.strikes if self.now < self.strikes_until else 0)
        assert (seen.restore_at is None) or seen.auto_reduced
        kept = seen.in_flight - self.in_flight  # the slot that started the poll that runs
        assert kept in ((0, 1) if self.polling else (0,))
        assert len(seen.evidence) <= 20

    @invariant()
    def nobody_waits_in_vain(self) -> None:
        if not self.waiting:
            return
        assert not any(self.outlasted(since) for _, since in self.waiting.values())
        if self.paused_until is None and self.probe is None and self.free:
            assert self.gated, "stalled"
            assert self.polling or self.next_poll <= self.now + (self.policy.gate_interval_s or 0.0), "stalled"

    @invariant()
    def what_the_first_waits_for_is_true(self) -> None:
        told = self.subject.waits_for(self.now)
        if told is None or not self.everybody:
            assert told is None
            assert not self.everybody, "somebody waits, and for nothing"
            return
        resting, limit = sorted(at for at, _ in self.resting), self.limit
        too_many = -1 if limit is None else self.in_flight - limit
        if self.paused_until is not None:
            assert told == Obstacle(code=Code.PAUSE, until_at=self.paused_until, cause=self.pause_cause or "")
        elif not self.waiting:
            assert told == Obstacle(code=Code.REST, until_at=min(at for at, _ in self.dozing.values()))
        elif limit is not None and len(self.held) >= limit:
            assert told == Obstacle(code=Code.SLOT, count=len(self.held), limit=limit)
        elif too_many >= 0:
            assert told == Obstacle(code=Code.COOLDOWN, until_at=resting[too_many])
        elif self.probe is not None:
            assert told == Obstacle(code=Code.PROBE, until_at=self.probe_until)
        elif self.allowed is not None and not self.allowance:
            assert told == Obstacle(code=Code.ALLOWANCE, until_at=self.allowed[1])
        else:
            self.gate_is_told(told, limit or 0)

    def gate_is_told(self, told: Obstacle, limit: int) -> None:
        observed, seen_at = self.last_poll or (None, -1e9)
        if told.code is Code.GATE:
            assert observed is not None
            assert (told.count, told.limit) == (observed, limit)
            assert observed + max(len(self.held), self.last_unseen) >= limit, "the provider takes one more"
        elif told.code is Code.GATE_UNKNOWN:
            assert observed is None
            assert told.cause == "timed out"
        else:
            assert told.code is Code.GATE_ASKED
            assert self.polling if told.until_at is None else told.until_at <= self.next_poll
            full = observed is not None and observed >= limit
            assert self.polling or not full or seen_at < self.now, "the provider has just said what it counts"

    @invariant()
    def nobody_is_told_to_wait_for_less_than_what_is_known(self) -> None:
        told = self.subject.expected_waits(self.now, MORNING_MS)
        newcomer_s = self.subject.newcomer_wait_s(self.now, MORNING_MS)
        assert [one.ticket for one in told] == self.everybody
        assert [one.rests_until_at for one in told] == [
            self.dozing[one.ticket.id][0] if one.ticket.id in self.dozing else None for one in told
        ]
        closed_s = 0.0 if self.paused_until is None else self.paused_until - self.now
        for one in told:
            least_s = max(closed_s, 0.0 if one.rests_until_at is None else one.rests_until_at - self.now)
            assert one.wait_s is None or one.wait_s >= max(least_s, 0.0)
        ready = [one.wait_s for one in told if one.rests_until_at is None]
        assert ready == sorted(ready, key=lambda wait_s: 1e9 if wait_s is None else wait_s), "a later one goes earlier"
        if newcomer_s is not None and not self.dozing:
            assert newcomer_s >= max([closed_s, 0.0, *(wait_s or 0.0 for wait_s in ready)])

    @invariant()
    def deadline_is_the_first_thing_due(self) -> None:
        deadline = self.subject.next_deadline()
        if self.subject.snapshot(self.now).lag_s is None:
            assert deadline == self.deadline
        else:  # a poll may come earlier, when an ended request will be forgotten
            assert self.deadline is None or (deadline is not None and deadline <= self.deadline)

    def teardown(self) -> None:
        """At rest as many as the limit are free: all have ended once, and then that many go at once."""
        if not hasattr(self, "subject"):
            return
        self.reload(Policy(pause=PAUSE, max_wait_s=1e6))
        while self.everybody or self.held or self.resting or self.polling or self.paused_until is not None:
            self.resume()
            if self.polling:
                self.poll_ends(None)
            for slot in list(self.held.values()):
                self.happened(self.subject.release(slot, self.now))
            self.next_deadline(0.0)
        assert len(self.ended) == len(self.numbers), "each granted slot ends in exactly one outcome"
        assert len(set(self.ended)) == len(self.ended)
        seen: Any = self.subject.snapshot(self.now)
        assert (seen.held, seen.cooling, seen.queued) == (0, 0, 0)
        for _ in range(self.limit or 5):
            self.ask("a", 0)
        assert len(self.held) == (self.limit or 5)
        assert self.limit is None or not self.room


def machine_of(build: Build) -> type[SchedulerMachine]:
    """The machine for schedulers that `build(policy, stars, …)` makes."""
    return type("Machine", (SchedulerMachine,), {"build": staticmethod(build)})
