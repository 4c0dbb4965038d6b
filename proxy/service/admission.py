# One provider's queue at work: futures for waiters, one timer, and the holders of slots.
#
# Rule 1: the scheduler decides at once and whole; what it decided is applied before anything is awaited.
# Rule 2: a waiting future has four states (waiting; cancelled, its task not yet run; granted, its task not yet run;
#         granted, then cancelled). In each of them the slot ends up with one holder or goes on to the next waiter.
# Rule 3: `release` never waits and never fails, so it can stand in any `finally`.

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from math import ceil, inf
from typing import Any

from proxy.core.model import (
    CooldownSet,
    Effect,
    Granted,
    Holder,
    LimitSet,
    Paused,
    PollUsage,
    RateLimited,
    Reclaimed,
    Reduced,
    Refused,
    Resumed,
    Slot,
    Snapshot,
    Ticket,
)
from proxy.core.scheduler import Scheduler
from proxy.errors import OwnAnswer
from proxy.service.clock import Clock
from proxy.service.words import another

RETRY_AFTER_MAX_S = 59  # at 60 and more some agents give up at once (spec §11)
_JITTER = 0.25  # of the estimate, upwards: refused clients must not come back as one wave
LATE_S = 0.05  # while nobody waits, so that one timer serves the rests that end together; see `catch_up`
BACKOFF_S, BACKOFF_MAX_S = 0.5, 8.0  # as the SDKs of OpenAI and Anthropic do


def backoff_s(tries: int, stated_ms: int | None, longest_s: float, chance: random.Random) -> float:
    """How long a refused request rests before its try after `tries`: what the provider stated, up to `longest_s`, and
    twice as long each time."""
    stated_s = min((stated_ms or 0) / 1000, longest_s)
    return max(stated_s, min(BACKOFF_S * 2.0 ** (tries - 1), BACKOFF_MAX_S)) * (1 + _JITTER * chance.random())


Observer = Callable[[str, Effect], None]


class Admission:
    """Await `acquire`; give the slot back with `release`. `observe` is told what happens, `keep` what of it outlives
    the process."""

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        observe: Observer,
        keep: Observer,
        poll: Callable[["Admission", Mapping[str, str]], None],
        chance: random.Random,
    ) -> None:
        self.scheduler = scheduler
        self.provider_id = scheduler.provider_id
        self._clock = clock
        self._now = clock.now
        self._loop = loop
        self._observe = observe
        self._keep = keep
        self._poll = poll
        self._chance = chance
        self._futures: dict[int, asyncio.Future[Slot]] = {}
        self._credentials: dict[int, Mapping[str, str]] = {}
        # What asks for more than being observed; it may have effects of its own.
        self._deeds: Mapping[type[Effect], Callable[[Any], Sequence[Effect]]] = {
            Granted: self._hand_over,
            Refused: self._refuse,
            Reclaimed: self._abort,
            PollUsage: self._ask,
            **dict.fromkeys((LimitSet, CooldownSet, Reduced, Paused, Resumed, RateLimited), self._note),
        }
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf

    def __repr__(self) -> str:
        return f"<Admission {self.scheduler!r}>"

    # --- a request's way through ---

    def check_room(self) -> None:
        """OwnAnswer `queue_full` if a newcomer would be refused now: known before its body is read."""
        waiting = self.scheduler.waiting
        if (waiting.ready or waiting.resting) and 0 < self.scheduler.policy.max_waiting <= len(waiting):
            raise self.refusal("queue_full")

    def at_once(self, ticket: Ticket) -> Slot | None:
        """A slot for a newcomer that need not wait, as nearly all need not; None: `acquire` one."""
        granted = self.scheduler.grant_at_once(ticket, self._now())
        if granted is None:
            return None
        self._observe(self.provider_id, granted)
        return granted.slot  # the timer is right as it is: a newcomer's grant brings no deadline nearer

    async def acquire(self, ticket: Ticket, credentials: Mapping[str, str]) -> Slot:
        """Wait for a slot. OwnAnswer if there will be none; a cancelled caller leaves the queue and holds nothing.
        `credentials` are the header lines that a usage poll may use for as long as `ticket` waits."""
        self.catch_up()
        return await self._outcome(ticket, credentials, self.scheduler.request(ticket, self._now()))

    async def acquire_again(
        self, slot: Slot, credentials: Mapping[str, str], tries: int, stated_ms: int | None, patience_s: float
    ) -> Slot:
        """Give `slot` back after a refusal that the client shall not see, the `tries`-th, and wait for the next in the
        same place. OwnAnswer if it was taken back meanwhile: then there is no place any more; or if a pause is known to
        be longer than `patience_s`. Where no pause holds the place, it counts only after a rest: as long as the
        provider stated, and twice as long each time."""
        self._check_held(slot)
        self.catch_up()
        paused_until_at = self.scheduler.paused_until_at
        if paused_until_at is not None and paused_until_at > self._now() + patience_s:
            self.release(slot)
            raise self.refusal("paused")
        slot.holder = None
        rest_s = 0.0
        if self.scheduler.paused_until_at is None:
            rest_s = backoff_s(tries, stated_ms, self.scheduler.policy.pause.max_s, self._chance)
        effects = self.scheduler.requeue(slot, self._now(), rest_s=rest_s)
        return await self._outcome(slot.ticket, credentials, effects)

    async def _outcome(self, ticket: Ticket, credentials: Mapping[str, str], effects: list[Effect]) -> Slot:
        future: asyncio.Future[Slot] = self._loop.create_future()
        self._futures[ticket.id] = future
        self._credentials[ticket.id] = credentials
        try:
            self.apply(effects)
            slot = await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                if future.exception() is None:
                    self.release(future.result(), reached=False)
            else:
                self.apply(self.scheduler.cancel(ticket, self._now()))
            raise
        finally:
            self._futures.pop(ticket.id, None)
            self._credentials.pop(ticket.id, None)
        # Taken back between its grant and this task's turn: it had no holder yet who could be told.
        self._check_held(slot)
        return slot

    def _check_held(self, slot: Slot) -> None:
        if not slot.held:
            raise OwnAnswer("reclaimed", f"the slot at {self.provider_id} was reclaimed")

    def hold(self, slot: Slot, holder: Holder) -> None:
        """Say who is to be told when `slot` is reclaimed."""
        slot.holder = holder

    def release(self, slot: Slot, *, reached: bool = True) -> None:
        """Give `slot` back; again and again does no harm."""
        if slot.held:
            slot.holder = None
            self.apply(self.scheduler.release(slot, self._now(), reached=reached))

    def answered(self, slot: Slot, *, success: bool) -> None:
        """The answer began, without a rate limit."""
        effects = self.scheduler.answered(slot, self._now(), success=success)
        if effects:
            self.apply(effects)

    def rate_limited(self, slot: Slot, *, status: int, kind: str, retry_after_ms: int | None) -> None:
        """The provider said no."""
        self.catch_up()
        self.apply(
            self.scheduler.rate_limited(
                slot,
                status=status,
                kind=kind,
                retry_after_ms=retry_after_ms,
                now=self._now(),
                now_ms=self._clock.wall_ms(),
            )
        )

    def few_left(self, slot: Slot, count: int, wait_s: float) -> None:
        """A successful answer says that only `count` more are taken for `wait_s`."""
        self.catch_up()
        self.apply(self.scheduler.few_left(slot, count, wait_s, self._now()))

    def catch_up(self) -> None:
        """Do what is due: with nobody waiting the timer comes late. Whoever acts upon the state, or tells it, calls
        this first."""
        due_at = self.scheduler.next_deadline()
        if due_at is not None and due_at <= self._now():
            self._tick()

    def snapshot(self) -> Snapshot:
        """The provider at this moment."""
        self.catch_up()
        return self.scheduler.snapshot(self._now())

    def watch(self, slots: Sequence[Slot] | None = None) -> None:
        """Measure the progress of `slots`, or else of all that are held, and take back what is stuck."""
        now = self._now()
        slots = self.scheduler.holding() if slots is None else slots
        for slot in slots:
            if slot.holder is not None:
                slot.holder.measure(slot, now)
        self.apply(self.scheduler.reclaim_overdue(now, slots))

    def close(self) -> None:
        """Stop the timer; nothing is granted by time any more."""
        self._stop_timer()

    # --- words for the client ---

    def refusal(self, code: str) -> OwnAnswer:
        """The own answer for `code`, with the state of the queue and a Retry-After."""
        scheduler, now = self.scheduler, self._now()
        limit = "no limit" if scheduler.limit is None else f"limit {scheduler.limit}"
        words = f"{_WORDS[code]} at {scheduler.provider_id}: {len(scheduler.waiting)} waiting, {limit}"
        if scheduler.paused_until_at is not None:
            words += f", paused for {another(scheduler.paused_until_at - now)}"
        # The jitter is of the estimate, and of the cap as well: a long pause must not send everybody back at once.
        seconds = min(ceil(scheduler.wait_estimate_s(now) * (1 + _JITTER * self._chance.random())), RETRY_AFTER_MAX_S)
        if seconds == RETRY_AFTER_MAX_S:
            seconds -= int(_JITTER * RETRY_AFTER_MAX_S * self._chance.random())
        return OwnAnswer(code, words, retry_after_s=max(seconds, 1))

    # --- applying what was decided ---

    def apply(self, effects: list[Effect]) -> None:
        """Carry out `effects`, in order, and set the timer for what comes next. They are used up."""
        for effect in effects:  # it grows: a slot that nobody takes goes on, however many have left in this moment
            deed = self._deeds.get(type(effect))
            if deed is None:
                self._observe(self.provider_id, effect)
            else:
                effects += deed(effect)
        self._arm()

    def _ask(self, order: PollUsage) -> Sequence[Effect]:
        self._poll(self, self._credentials.get(order.ticket.id, {}))
        return ()

    def _note(self, effect: Effect) -> Sequence[Effect]:
        self._observe(self.provider_id, effect)
        self._keep(self.provider_id, effect)
        return ()

    def _refuse(self, refused: Refused) -> Sequence[Effect]:
        self._observe(self.provider_id, refused)
        future = self._futures.get(refused.ticket.id)
        if future is not None and not future.done():
            future.set_exception(self.refusal(refused.code))
        return ()

    def _abort(self, reclaimed: Reclaimed) -> Sequence[Effect]:
        self._observe(self.provider_id, reclaimed)
        slot = reclaimed.slot
        holder, slot.holder = slot.holder, None
        if holder is not None:
            holder.abort(reclaimed.why)
        return ()

    def _hand_over(self, granted: Granted) -> Sequence[Effect]:
        """Give the slot to whoever waits for it, or back: then its client has left, and its task has not run yet."""
        self._observe(self.provider_id, granted)
        future = self._futures.get(granted.ticket.id)
        if future is None or future.done():
            return self.scheduler.release(granted.slot, self._now(), reached=False)
        future.set_result(granted.slot)
        return ()

    def _arm(self) -> None:
        deadline = self.scheduler.next_deadline()
        if deadline is None:
            return
        waiting = self.scheduler.waiting
        if not (waiting.ready or waiting.resting):
            deadline += LATE_S
        # A timer that is too early only looks again, so most changes need no new one.
        if deadline < self._timer_at:
            self._stop_timer()
            self._timer_at = deadline
            self._timer = self._loop.call_at(deadline, self._tick)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._timer_at = None, inf

    def _tick(self) -> None:
        self._stop_timer()
        effects = self.scheduler.tick(self._now(), self._clock.wall_ms())
        if effects:
            self.apply(effects)
        else:
            self._arm()


_WORDS = {
    "queue_full": "the queue is full",
    "queue_timeout": "the longest wait is over",
    "paused": "the pause outlasts the longest wait",
    "dropped": "dropped from the queue by an operator",
    "draining": "the proxy is shutting down",
}
