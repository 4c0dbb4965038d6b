# One provider's queue of this process alone: futures for waiters, one timer, and the holders of slots.
#
# Rule 1: the scheduler decides at once and whole; what it decided is applied before anything is awaited.
# Rule 2: a waiting future has four states (waiting; cancelled, its task not yet run; granted, its task not yet run;
#         granted, then cancelled). In each of them the slot ends up with one holder or goes on to the next waiter.

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proxy.core.model import (
    CooldownSet,
    Effect,
    Granted,
    LimitSet,
    Paused,
    Policy,
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
from proxy.service.admission import Admission, Credentials, Observer, Tell, backoff_s
from proxy.service.clock import Clock

LATE_S = 0.05  # while nobody waits, so that one timer serves the rests that end together; see `catch_up`


class LocalAdmission(Admission):
    """Of `scheduler`; the rest is every Admission's."""

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        observe: Observer,
        keep: Observer,
        poll: Callable[[Admission, Credentials, Tell], None],
        chance: random.Random,
    ) -> None:
        super().__init__(
            scheduler.provider_id, clock=clock, loop=loop, observe=observe, keep=keep, poll=poll, chance=chance
        )
        self._scheduler = scheduler
        self._futures: dict[int, asyncio.Future[Slot]] = {}
        self._credentials: dict[int, Credentials] = {}
        # What asks for more than being observed; it may have effects of its own.
        self._deeds: Mapping[type[Effect], Callable[[Any], Sequence[Effect]]] = {
            Granted: self._hand_over,
            Refused: self._refuse,
            Reclaimed: self._abort,
            PollUsage: self._ask,
            **dict.fromkeys((LimitSet, CooldownSet, Reduced, Paused, Resumed, RateLimited), self._note),
        }

    @property
    def scheduler(self) -> Scheduler:
        return self._scheduler

    @property
    def policy(self) -> Policy:
        return self._scheduler.policy

    @property
    def waiting_here(self) -> int:
        return len(self._scheduler.waiting)

    @property
    def orders(self) -> bool:
        return self._scheduler.orders

    # --- a request's way through ---

    def check_room(self) -> None:
        waiting = self._scheduler.waiting
        if (waiting.ready or waiting.resting) and 0 < self._scheduler.policy.max_waiting <= len(waiting):
            raise self.refusal("queue_full")

    def at_once(self, ticket: Ticket) -> Slot | None:
        granted = self._scheduler.grant_at_once(ticket, self._now())
        if granted is None:
            return None
        self._observe(self.provider_id, granted)
        return granted.slot  # the timer is right as it is: a newcomer's grant brings no deadline nearer

    async def acquire(self, ticket: Ticket, credentials: Credentials) -> Slot:
        self.catch_up()
        return await self._outcome(ticket, credentials, self._scheduler.request(ticket, self._now()))

    async def acquire_again(
        self, slot: Slot, credentials: Credentials, tries: int, stated_ms: int | None, patience_s: float
    ) -> Slot:
        self.check_held(slot)
        self.catch_up()
        paused_until_at = self._scheduler.paused_until_at
        if paused_until_at is not None and paused_until_at > self._now() + patience_s:
            self.release(slot)
            raise self.refusal("paused")
        slot.holder = None
        rest_s = 0.0
        if self._scheduler.paused_until_at is None:
            rest_s = backoff_s(tries, stated_ms, self._scheduler.policy.pause.max_s, self.chance)
        effects = self._scheduler.requeue(slot, self._now(), rest_s=rest_s)
        return await self._outcome(slot.ticket, credentials, effects)

    async def _outcome(self, ticket: Ticket, credentials: Credentials, effects: list[Effect]) -> Slot:
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
                self.apply(self._scheduler.cancel(ticket, self._now()))
            raise
        finally:
            self._futures.pop(ticket.id, None)
            self._credentials.pop(ticket.id, None)
        # Taken back between its grant and this task's turn: it had no holder yet who could be told.
        self.check_held(slot)
        return slot

    def beside(self, ticket: Ticket) -> Slot:
        return self._scheduler.beside(ticket, self._now())

    def release(self, slot: Slot, *, reached: bool = True) -> None:
        if slot.held:
            slot.holder = None
            self.apply(self._scheduler.release(slot, self._now(), reached=reached))

    def answered(self, slot: Slot, *, success: bool) -> None:
        effects = self._scheduler.answered(slot, self._now(), success=success)
        if effects:
            self.apply(effects)

    def rate_limited(self, slot: Slot, *, status: int, kind: str, retry_after_ms: int | None) -> None:
        self.catch_up()
        self.apply(
            self._scheduler.rate_limited(
                slot,
                status=status,
                kind=kind,
                retry_after_ms=retry_after_ms,
                now=self._now(),
                now_ms=self._clock.wall_ms(),
            )
        )

    def few_left(self, slot: Slot, count: int, wait_s: float) -> None:
        self.catch_up()
        self.apply(self._scheduler.few_left(slot, count, wait_s, self._now()))

    def catch_up(self) -> None:
        due_at = self._scheduler.next_deadline()
        if due_at is not None and due_at <= self._now():
            self._tick()

    def snapshot(self) -> Snapshot:
        self.catch_up()
        return self._scheduler.snapshot(self._now())

    def watch(self, slots: Sequence[Slot] | None = None) -> None:
        now = self._now()
        slots = self._scheduler.holding() if slots is None else slots
        for slot in slots:
            if slot.holder is not None:
                slot.holder.measure(slot, now)
        self.apply(self._scheduler.reclaim_overdue(now, slots))

    def holding(self) -> list[Slot]:
        return self._scheduler.holding()

    # --- the operator's ---

    def set_limit(self, limit: int | None, by: str, *, learns: bool = False) -> None:
        self.apply(self._scheduler.set_limit(limit, by, self._now(), learns=learns))

    def read_limit(self, limit: int | None, *, learns: bool) -> None:
        self.set_limit(limit, "file", learns=learns)

    def read_cooldown(self, cooldown_s: float, *, learns: bool) -> None:
        self.set_cooldown(cooldown_s, "file", learns=learns)

    def restore(self) -> None:
        self.apply(self._scheduler.restore(self._now()))

    def set_cooldown(self, cooldown_s: float, by: str, *, learns: bool = False) -> None:
        self.apply(self._scheduler.set_cooldown(cooldown_s, by, learns=learns))

    def set_policy(self, policy: Policy) -> None:
        self.apply(self._scheduler.set_policy(policy, self._now()))

    def pause(self, duration_s: float) -> None:
        now = self._now()
        self.apply(self._scheduler.pause(now + duration_s, now))

    def resume(self) -> None:
        self.apply(self._scheduler.resume(self._now()))

    def star_changed(self, workspace: str, starred: bool) -> None:
        self._scheduler.star_changed(workspace)

    def drop(self, ticket: Ticket) -> None:
        self.apply(self._scheduler.drop(ticket, self._now()))

    def reclaim(self, slot: Slot) -> None:
        self.apply(self._scheduler.reclaim(slot, self._now()))

    def drop_all(self, code: str) -> None:
        self.apply(self._scheduler.drop_all(code))

    # --- words for the client ---

    def refusal(self, code: str) -> OwnAnswer:
        scheduler, now = self._scheduler, self._now()
        paused_until_at = scheduler.paused_until_at
        return self.worded(
            code,
            waiting=len(scheduler.waiting),
            limit=scheduler.limit,
            paused_s=None if paused_until_at is None else paused_until_at - now,
            estimate_s=scheduler.wait_estimate_s(now),
        )

    # --- the usage gate ---

    def polled(self, observed: int | None, error: str | None) -> None:
        """What a poll has heard."""
        self.apply(self._scheduler.polled(observed, error, self._now()))

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
        self._poll(self, self._credentials.get(order.ticket.id, {}), self.polled)
        return ()

    def _note(self, effect: Effect) -> Sequence[Effect]:
        self.note(effect)
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
            return self._scheduler.release(granted.slot, self._now(), reached=False)
        future.set_result(granted.slot)
        return ()

    def _arm(self) -> None:
        deadline = self._scheduler.next_deadline()
        if deadline is None:
            return
        waiting = self._scheduler.waiting
        if not (waiting.ready or waiting.resting):
            deadline += LATE_S
        # A timer that is too early only looks again, so most changes need no new one.
        if deadline < self._timer_at:
            self._set_timer(deadline)

    def _tick(self) -> None:
        self._stop_timer()
        effects = self._scheduler.tick(self._now(), self._clock.wall_ms())
        if effects:
            self.apply(effects)
        else:
            self._arm()
