# One provider's queue, as everything that serves requests knows it: what can be asked of it, and its words for clients.
#
# Rule 1: whether the queue is of this process alone or of several replicas makes no difference to who asks. So there is
#         one class that is asked, of which LocalAdmission and SharedAdmission are the two kinds; a class and not a
#         Protocol, since it is on every request's way and the compiler knows where a class has its methods.
# Rule 2: `release` never waits and never fails, so it can stand in any `finally`.
# Rule 3: what an operator orders happens in the order of the calls; `settled` says when it has.

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from math import ceil, inf

from proxy.core.model import Effect, Holder, Policy, Slot, Snapshot, Ticket
from proxy.core.scheduler import Scheduler
from proxy.core.turns import TurnHints
from proxy.errors import OwnAnswer
from proxy.service.clock import Clock
from proxy.service.words import another

RETRY_AFTER_MAX_S = 59  # at 60 and more some agents give up at once (spec §11)
_JITTER = 0.25  # of the estimate, upwards: refused clients must not come back as one wave
TICKETS = 10**9  # ids of one process; among several replicas the digits before them are the replica's
BACKOFF_S, BACKOFF_MAX_S = 0.5, 8.0  # as the SDKs of OpenAI and Anthropic do

Observer = Callable[[str, Effect], None]
Credentials = Mapping[str, str]
Tell = Callable[[int | None, str | None], None]  # what a usage poll has heard: a count, or why there is none


def backoff_s(tries: int, stated_ms: int | None, longest_s: float, chance: random.Random) -> float:
    """How long a refused request rests before its try after `tries`: what the provider stated, up to `longest_s`, and
    twice as long each time."""
    stated_s = min((stated_ms or 0) / 1000, longest_s)
    return max(stated_s, min(BACKOFF_S * 2.0 ** (tries - 1), BACKOFF_MAX_S)) * (1 + _JITTER * chance.random())


class Admission:
    """Await `acquire`; give the slot back with `release`. `observe` is told what happens, `keep` what of it outlives
    the process; `poll` asks the provider and tells; `chance` is what jitter is made of."""

    def __init__(
        self,
        provider_id: str,
        *,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        observe: Observer,
        keep: Observer,
        poll: Callable[["Admission", Credentials, Tell], None],
        chance: random.Random,
    ) -> None:
        self.provider_id = provider_id
        self.chance = chance
        self._clock = clock
        self._now = clock.now
        self._loop = loop
        self._observe = observe
        self._keep = keep
        self._poll = poll
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf

    def __repr__(self) -> str:
        return f"<Admission {self.scheduler!r}>"

    # --- what can be read ---

    @property
    def scheduler(self) -> Scheduler:
        """Everything, to be looked at; as of the last `refresh` where several replicas share it."""
        raise NotImplementedError

    @property
    def policy(self) -> Policy:
        """What is configured."""
        raise NotImplementedError

    @property
    def is_busy(self) -> bool:
        """Whether anything goes on that a history is kept of."""
        scheduler = self.scheduler
        return bool(scheduler.in_flight or len(scheduler.waiting)) or scheduler.paused_until_at is not None

    @property
    def waiting_here(self) -> int:
        """How many requests of this process wait."""
        raise NotImplementedError

    @property
    def orders(self) -> bool:
        """Whether anybody may have to wait, so that it matters who is first."""
        raise NotImplementedError

    async def refresh(self, most: int = 1) -> None:
        """Bring `scheduler` up to this moment; of those who wait the `most` that came first, of more the number alone.
        StoreError: it cannot be asked."""

    def catch_up(self) -> None:
        """Do what is due. Whoever tells the state calls this first."""
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        """The provider at this moment, or as of the last `refresh`."""
        raise NotImplementedError

    def replica_of(self, ticket: Ticket) -> str | None:
        """Which replica's request it is; None where there is but one."""
        return None

    # --- a request's way through ---

    def check_room(self) -> None:
        """OwnAnswer `queue_full` if a newcomer would be refused now: known before its body is read."""
        raise NotImplementedError

    def at_once(self, ticket: Ticket) -> Slot | None:
        """A slot for a newcomer that need not wait, as nearly all need not; None: `acquire` one."""
        raise NotImplementedError

    async def acquire(self, ticket: Ticket, credentials: Credentials) -> Slot:
        """Wait for a slot. OwnAnswer if there will be none; a cancelled caller leaves the queue and holds nothing.
        `credentials` are the header lines that a usage poll may use for as long as `ticket` waits."""
        raise NotImplementedError

    async def acquire_again(
        self, slot: Slot, credentials: Credentials, tries: int, stated_ms: int | None, patience_s: float
    ) -> Slot:
        """Give `slot` back after a refusal that the client shall not see, the `tries`-th, and wait for the next in the
        same place. OwnAnswer if it was taken back meanwhile: then there is no place any more; or if a pause is known to
        be longer than `patience_s`. Where no pause holds the place, it counts only after a rest: as long as the
        provider stated, and twice as long each time."""
        raise NotImplementedError

    def give_up_late(self) -> None:
        """Refuse who has waited for too long, where nobody else can."""

    def beside(self, ticket: Ticket) -> Slot:
        """For a request that takes no slot: by what its answer is told in the place of one. It is never held."""
        raise NotImplementedError

    def hold(self, slot: Slot, holder: Holder) -> None:
        """Say who is to be told when `slot` is reclaimed."""
        slot.holder = holder

    def release(self, slot: Slot, *, reached: bool = True) -> None:
        """Give `slot` back; again and again does no harm. `reached`: whether the upstream ever saw the request."""
        raise NotImplementedError

    def answered(self, slot: Slot, *, success: bool) -> None:
        """The answer began, without a rate limit."""
        raise NotImplementedError

    def rate_limited(self, slot: Slot, *, status: int, kind: str, retry_after_ms: int | None) -> None:
        """The provider said no."""
        raise NotImplementedError

    def few_left(self, slot: Slot, count: int, wait_s: float) -> None:
        """A successful answer says that only `count` more are taken for `wait_s`."""
        raise NotImplementedError

    # --- turns ---

    def turn_begun(self, ticket: Ticket, hints: TurnHints, stated_ms: int | None, now_ms: int) -> None:
        """The request of `ticket` was given to the turn tracker, as arrived at `now_ms`. Other replicas hear of it."""

    def turn_ended(self, ticket: Ticket, *, answered: bool) -> None:
        """It has ended there."""

    # --- the watchdog's ---

    def holding(self) -> list[Slot]:
        """The slots that this process holds."""
        raise NotImplementedError

    def watch(self, slots: Sequence[Slot] | None = None) -> None:
        """Measure the progress of `slots`, or else of all that are held here, and take back what is stuck."""
        raise NotImplementedError

    # --- the operator's ---

    def set_limit(self, limit: int | None, by: str, *, learns: bool = False) -> None:
        """None is unlimited, with `learns` until it is learned."""
        raise NotImplementedError

    def read_limit(self, limit: int | None, *, learns: bool) -> None:
        """The file says another one."""
        raise NotImplementedError

    def read_cooldown(self, cooldown_s: float, *, learns: bool) -> None:
        """The file says another one."""
        raise NotImplementedError

    def restore(self) -> None:
        """Back to the limit before the first auto-reduce."""
        raise NotImplementedError

    def set_cooldown(self, cooldown_s: float, by: str, *, learns: bool = False) -> None:
        """For slots released from now on."""
        raise NotImplementedError

    def set_policy(self, policy: Policy) -> None:
        """What is configured now."""
        raise NotImplementedError

    def pause(self, duration_s: float) -> None:
        """Grant nothing for so long."""
        raise NotImplementedError

    def resume(self) -> None:
        """End a pause."""
        raise NotImplementedError

    def star_changed(self, workspace: str, starred: bool) -> None:
        """Its waiters move."""
        raise NotImplementedError

    def drop(self, ticket: Ticket) -> None:
        """Refuse one who waits."""
        raise NotImplementedError

    def reclaim(self, slot: Slot) -> None:
        """Take `slot` from its holder."""
        raise NotImplementedError

    def drop_all(self, code: str) -> None:
        """Refuse all who wait here with `code`."""
        raise NotImplementedError

    async def settled(self) -> None:
        """Wait until everything that was ordered before has happened. StoreError: nobody knows when."""

    def close(self) -> None:
        """Stop the timer; nothing is granted by time any more."""
        self._stop_timer()

    # --- words for the client ---

    def refusal(self, code: str) -> OwnAnswer:
        """The own answer for `code`, with the state of the queue and a Retry-After."""
        raise NotImplementedError

    def worded(
        self, code: str, *, waiting: int, limit: int | None, paused_s: float | None, estimate_s: float
    ) -> OwnAnswer:
        """The same, given that state; `estimate_s` is how long a newcomer would wait."""
        known = "no limit" if limit is None else f"limit {limit}"
        words = f"{_WORDS[code]} at {self.provider_id}: {waiting} waiting, {known}"
        if paused_s is not None:
            words += f", paused for {another(paused_s)}"
        # The jitter is of the estimate, and of the cap as well: a long pause must not send everybody back at once.
        seconds = min(ceil(estimate_s * (1 + _JITTER * self.chance.random())), RETRY_AFTER_MAX_S)
        if seconds == RETRY_AFTER_MAX_S:
            seconds -= int(_JITTER * RETRY_AFTER_MAX_S * self.chance.random())
        return OwnAnswer(code, words, retry_after_s=max(seconds, 1))

    # --- what both kinds do ---

    def note(self, effect: Effect) -> None:
        """Something has changed that outlasts requests."""
        self._observe(self.provider_id, effect)
        self._keep(self.provider_id, effect)

    def _set_timer(self, at: float) -> None:
        self._stop_timer()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._tick)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._timer_at = None, inf

    def _tick(self) -> None:
        raise NotImplementedError

    def check_held(self, slot: Slot) -> None:
        """OwnAnswer if `slot` was taken back between its grant and its task's turn: it had no holder who could be
        told."""
        if not slot.held:
            raise OwnAnswer("reclaimed", f"the slot at {self.provider_id} was reclaimed")


_WORDS = {
    "queue_full": "the queue is full",
    "queue_timeout": "the longest wait is over",
    "paused": "the pause outlasts the longest wait",
    "dropped": "dropped from the queue by an operator",
    "draining": "the proxy is shutting down",
}
