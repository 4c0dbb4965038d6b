# Calls through the proxy's own scheduler, driven as proxy/service and proxy/web drive it.
#
# Rule 1: effects are carried out in their order and at once; the scheduler is asked again at its next deadline.
# Rule 2: what an answer means is read by the proxy's classifier from what the simulated provider really says.
# Rule 3: a refusal is told before its slot is given back, as a whole answer is judged before its exchange ends.

import math
import random

from proxy.core.model import (
    CooldownSet,
    Effect,
    Granted,
    Kind,
    Left,
    LimitSet,
    Paused,
    Phase,
    PollUsage,
    Queued,
    Reclaimed,
    Reduced,
    Released,
    Resumed,
    Slot,
    Ticket,
)
from proxy.core.model import (
    Refused as NoSlot,
)
from proxy.core.scheduler import Scheduler
from proxy.ratelimits import classify, requests_left
from proxy.service.admission import RETRY_AFTER_MAX_S, backoff_s

from .clock import Clock
from .dialects import Headers
from .fleet import Fleet
from .line import Line, Refused, Sending
from .measure import Meter
from .provider import Account, Reason
from .unrest import Unrest
from .work import Request

ABSORBED = frozenset({Kind.CONCURRENCY, Kind.RATE, Kind.OVERLOAD})  # spec §7.5


class Proxied:
    """The proxy. `stars` is the live set of starred workspaces that `scheduler` was given."""

    def __init__(
        self,
        clock: Clock,
        line: Line,
        fleet: Fleet,
        meter: Meter,
        account: Account,
        scheduler: Scheduler,
        *,
        preset: str,
        stars: set[str],
        chance: random.Random,
        unrest_chance: random.Random | None,
    ) -> None:
        self.scheduler = scheduler
        self.steps = 0  # calls of the scheduler
        self.unrest = Unrest(self, clock, stars, unrest_chance)
        self._clock, self._line, self._fleet, self._meter = clock, line, fleet, meter
        self._account, self._preset, self._stars, self._chance = account, preset, stars, chance
        self._requests: dict[int, Request] = {}  # by ticket: those that wait or hold
        self._slots: dict[int, Slot] = {}  # by request
        self._sendings: dict[int, Sending] = {}  # by request
        self._absorbed: dict[int, int] = {}  # by ticket: refusals that its client does not hear of
        self._tickets = 0
        self._tick_at = math.inf

    def ask(self, request: Request) -> None:
        self._tickets += 1
        ticket = Ticket(
            id=self._tickets,
            workspace=request.project,
            conversation=f"agent-{request.agent}",
            prompt_started_at=int(request.prompt_at * 1000),
            path="/v1/messages",
        )
        self._requests[ticket.id] = request
        self._absorbed[ticket.id] = 0
        self.apply(self.scheduler.request(ticket, self._clock.now))

    # --- what the provider says ---

    def answered(self, request: Request, headers: Headers) -> None:
        slot = self._slots.get(request.number)
        if slot is None:
            return
        slot.phase = Phase.STREAMING
        now = self._clock.now
        left = requests_left(headers, now=now)
        if left is not None:
            self.apply(self.scheduler.few_left(slot, left.requests, left.reset_ms / 1000, now))
        self.apply(self.scheduler.answered(slot, now))

    def refused(self, request: Request, refused: Refused) -> None:
        slot = self._slots.get(request.number)
        if slot is None:
            return
        now = self._clock.now
        verdict = classify(refused.status, refused.headers, refused.body, preset=self._preset, now=now)
        self._meter.no(request, refused, verdict.kind)
        if verdict.kind == Kind.NONE:
            self.apply(self.scheduler.answered(slot, now, success=False))
        else:
            self.apply(
                self.scheduler.rate_limited(
                    slot,
                    status=refused.status,
                    kind=verdict.kind,
                    retry_after_ms=verdict.retry_after_ms,
                    now=now,
                    now_ms=int(now * 1000),
                )
            )
        absorbed = self._absorbed[slot.id] < self.scheduler.policy.absorb and not refused.in_stream
        if absorbed and verdict.kind in ABSORBED:
            self._again(request, slot, verdict.retry_after_ms)
            return
        self._give_back(request, slot)
        self._fleet.failed(request, refused)

    def _again(self, request: Request, slot: Slot, stated_ms: int | None) -> None:
        """Its client does not hear of the refusal."""
        self._absorbed[slot.id] += 1
        del self._slots[request.number]
        rest_s = 0.0
        if self.scheduler.paused_until_at is None:
            longest_s = self.scheduler.policy.pause.max_s
            rest_s = backoff_s(self._absorbed[slot.id], stated_ms, longest_s, self._chance)
        self.apply(self.scheduler.requeue(slot, self._clock.now, rest_s=rest_s))

    def ended(self, request: Request) -> None:
        slot = self._slots.get(request.number)
        if slot is not None:
            self._give_back(request, slot)
            self._fleet.done(request)

    def _give_back(self, request: Request, slot: Slot) -> None:
        del self._slots[request.number], self._requests[slot.id], self._absorbed[slot.id]
        self.apply(self.scheduler.release(slot, self._clock.now))
        self.unrest.released(slot)

    # --- what the scheduler says ---

    def apply(self, effects: list[Effect]) -> None:
        """Carry out what it decided."""
        self.steps += 1
        for effect in effects:
            match effect:
                case Queued(ticket=ticket):
                    self._meter.lined_up(self._requests[ticket.id])
                    self.unrest.lined_up(ticket)
                case Granted(slot=slot):
                    self._granted(slot)
                case NoSlot(ticket=ticket, code=code):
                    self._no_slot(ticket, code)
                case Left(ticket=ticket):
                    self._left(ticket)
                case Released(slot=slot):
                    self._released(slot)
                case PollUsage():
                    self._poll()
                case Paused(until_at=until_at, cause=cause):
                    self._meter.paused = True
                    self._meter.event(f"paused for {until_at - self._clock.now:.1f} s: {cause}")
                case Resumed():
                    self._meter.paused = False
                case Reduced(limit=limit) | LimitSet(limit=limit):
                    self._meter.event(f"limit {limit}: {getattr(effect, 'by', 'reduced')}")
                case CooldownSet(cooldown_s=cooldown_s, by=by):
                    self._meter.event(f"cooldown {cooldown_s:.3f} s: {by}")
                case Reclaimed(slot=slot):
                    self._reclaimed(slot)
        self._arm()

    def _granted(self, slot: Slot) -> None:
        limit, request = self.scheduler.limit, self._requests[slot.id]
        self._meter.over += limit is not None and self.scheduler.in_flight > limit
        self._meter.sent(request, self._stars)
        self._slots[request.number] = slot
        slot.phase = Phase.WAITING
        self._sendings[request.number] = self._line.send(request, self)
        self.unrest.sent(slot, request)

    def _no_slot(self, ticket: Ticket, code: str) -> None:
        request = self._requests.pop(ticket.id)
        del self._absorbed[ticket.id]
        self._meter.left(request)
        self._meter.own[code] += 1
        wait_s = min(self.scheduler.wait_estimate_s(self._clock.now), RETRY_AFTER_MAX_S)
        headers = [("Retry-After", str(max(1, math.ceil(wait_s))))]
        own = Refused(Reason.OVERLOAD, 503, headers, b"", in_stream=False)
        self._clock.later(0.0, lambda: self._fleet.failed(request, own))

    def _left(self, ticket: Ticket) -> None:
        request = self._requests.pop(ticket.id)
        del self._absorbed[ticket.id]
        self._meter.left(request)
        self._fleet.left(request)

    def _reclaimed(self, slot: Slot) -> None:
        request = self._requests.pop(slot.id)
        del self._slots[request.number], self._absorbed[slot.id]
        self._sendings[request.number].abort()
        own = Refused(Reason.OVERLOAD, 504, [], b"", in_stream=False)
        self._clock.later(0.0, lambda: self._fleet.failed(request, own))

    def _released(self, slot: Slot) -> None:
        rest_s = slot.cooled_at - self._clock.now
        self._meter.returned(resting=rest_s > 0)
        if rest_s > 0:
            self._clock.later(rest_s, self._meter.rested)

    def _poll(self) -> None:
        there_s = 0.5 * self._account.terms.usage_latency_s.draw(self._chance)

        def asked() -> None:
            count = self._account.usage(self._clock.now)
            self._clock.later(there_s, lambda: heard(count))

        def heard(count: int | None) -> None:
            error = None if count is not None else "status 503"
            self.apply(self.scheduler.polled(count, error, self._clock.now))

        self._clock.later(there_s, asked)

    def _arm(self) -> None:
        deadline = self.scheduler.next_deadline()
        # As in the service: a timer that is too early only looks again.
        if deadline is not None and deadline < self._tick_at:
            self._tick_at = deadline
            self._clock.at(deadline, lambda: self._tick(deadline))

    def _tick(self, planned_at: float) -> None:
        if planned_at != self._tick_at:
            return  # an earlier one was set since
        assert self._tick_at >= self._clock.now, "a deadline that is over"
        self._tick_at = math.inf
        self.apply(self.scheduler.tick(self._clock.now, int(self._clock.now * 1000)))
