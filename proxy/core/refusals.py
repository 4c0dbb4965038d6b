# What follows when a provider says no (spec §7.2, §7.3), and what is remembered of it.
#
# Rule 1: by kind. Concurrency and rate (and a 429 of unknown kind) pause and reduce; overload pauses for a wait that it
#         states; a used-up quota changes nothing for the others, and is only shown.
# Rule 2: without a limit what the provider says is recorded, and changes nothing (spec §6.2); it may teach the limit.
# Rule 3: with a cooldown that is learned, a refusal right after a slot was used again means that it rested too briefly.
#         That explains one burst; the next within RAISED_S is the limit's.

from proxy.core.model import Kind, LimitSet, RateLimit, RateLimited, Slot
from proxy.core.pause import pause_s
from proxy.core.queue import Queue
from proxy.core.strikes import Strikes

RECYCLED_S = 2.0  # how soon after a slot's reuse a refusal is put down to it
RAISED_S = 600.0


class Refusals:
    """One provider's. `last` is the latest of any kind; `quota` the latest for a quota, until an answer shows that
    there is some again."""

    __slots__ = ("_queue", "_quota_at_grant", "_raised_until", "last", "quota", "strikes")

    def __init__(self, queue: Queue, last: RateLimit | None, strikes: Strikes) -> None:
        self.last = last
        self.quota: RateLimit | None = None
        self.strikes = strikes
        self._queue = queue
        self._quota_at_grant = 0
        self._raised_until = 0.0

    def told(self, slot: Slot, seen: RateLimit, now: float) -> None:
        """The provider refused the request of `slot`, held or not any more."""
        queue = self._queue
        self.last = seen
        queue.slots.mark_refused(slot)
        queue.out.append(RateLimited(slot.ticket, seen))
        if seen.kind == Kind.QUOTA:
            self.quota, self._quota_at_grant = seen, queue.slots.grants
        elif seen.kind == Kind.CONCURRENCY:
            self.strikes.add(now, seen.at)
            if (learned := queue.learn_limit(slot)) is not None:
                queue.out.append(LimitSet(learned, "learned"))
        if queue.limit.value is not None:
            self._react(slot, seen, now)

    def succeeded(self, slot: Slot) -> None:
        """A successful answer has begun."""
        slots, limit = self._queue.slots, self._queue.limit
        slots.mark_taken(slot)
        if limit.learns and slots.taken > limit.served_at_once:
            limit.served_at_once = slots.taken
        if self.quota is not None and slot.grant > self._quota_at_grant:
            self.quota = None

    def bears_more(self, now: float) -> bool:
        """Whether so few of the day's strikes are used that one may be risked."""
        allowed = self._queue.policy.strikes
        return allowed is None or 2 * self.strikes.today(now) < allowed

    def _react(self, slot: Slot, seen: RateLimit, now: float) -> None:
        queue = self._queue
        floor_s = 0.0
        if seen.ours:
            queue.limit.note(seen)
            if not self._raises_cooldown(seen, now):
                self._reduce(slot)
            queue.recovery.refused(now, reduced=queue.limit.original is not None)
            if seen.kind == Kind.CONCURRENCY:
                floor_s = self.strikes.floor_s(queue.policy.pause, queue.policy.strikes, now)
        wait_s = pause_s(queue.policy.pause, seen, floor_s)
        if wait_s > 0:
            queue.lengthen_pause(now + wait_s, seen.kind)
        elif queue.pause.answered(slot):  # refused, but not for a limit that the others would meet
            queue.pump(now)

    def _reduce(self, slot: Slot) -> None:
        queue = self._queue
        if queue.policy.auto_reduce and (reduced := queue.limit.reduce(slot.grant, queue.slots.grants)):
            queue.out.append(reduced)

    def _raises_cooldown(self, seen: RateLimit, now: float) -> bool:
        """Whether this refusal is put down to a slot that rested too briefly."""
        queue = self._queue
        recycled = queue.freed_at is not None and now - queue.freed_at <= RECYCLED_S
        full = not queue.limit.has_room(seen.in_flight)
        explained = now < self._raised_until or queue.recovery.on_trial(now)  # by the limit, which went up just now
        if explained or not (queue.cooldown.learns and seen.kind == Kind.CONCURRENCY and recycled and full):
            return False
        if (told := queue.cooldown.raise_()) is None:
            return False
        self._raised_until = now + RAISED_S
        queue.limit.excuse(queue.slots.grants)
        queue.out.append(told)
        return True

    def __repr__(self) -> str:
        return f"<Refusals last {self.last} {self.strikes!r}>"
