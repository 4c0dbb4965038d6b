# One provider's queue that several replicas share: the server decides (proxy/replicas/lua), and here are the futures of
# those who wait at this replica, the slots that it holds, and a timer.
#
# Rule 1: what happens here is said at once and never waited for; what the server decides comes as effects, of what was
#         said here or elsewhere, and is applied as it comes. Each may come twice, and none is believed to have come.
# Rule 2: an announcement is made of `_waiting` and `_slots` alone, so both say at every moment what is true here.
# Rule 3: a slot that the server does not know any more was given to others: its request is cut.
# Rule 4: while the server is away all wait who would ask it; nobody longer than max_wait.

import asyncio
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import inf
from typing import Any

from proxy.core.model import (
    Granted,
    Left,
    Phase,
    Policy,
    Queued,
    RateLimited,
    Reclaimed,
    Refused,
    Released,
    Slot,
    Snapshot,
    Ticket,
)
from proxy.core.scheduler import Scheduler
from proxy.core.turns import TurnHints, Turns
from proxy.core.watchdog import overdue
from proxy.errors import OwnAnswer, StoreError
from proxy.replicas import script
from proxy.replicas.link import Link
from proxy.replicas.mirror import Mirror
from proxy.replicas.script import Raw, Standing, Step
from proxy.replicas.server import Away
from proxy.service.admission import Admission, Credentials, Observer, Tell, backoff_s
from proxy.service.clock import Clock
from proxy.service.shared_start import in_force, shared_policy
from proxy.service.shared_turns import SharedTurns
from proxy.service.standing import AUTO, AUTO_S

LATE_S = 0.5  # while nobody waits: the next call does what is due
# One replica is to call when something is due; the others see that somebody does. By then they have mostly looked, as
# they do every second, and know what is due next.
OTHERS_LATE_S = 1.0
GRACE_S = 1.0  # beyond max_wait, which is the server's to say as long as it is there
EARLY_S = 0.001  # clocks are compared with the error of a message's time
ROUNDED_S = 0.0005  # uvloop's timers are whole milliseconds; what came early was a call in vain
LOOK_S, SETTLE_S = 1.0, 5.0  # how long who looks waits, and who has ordered something
HOLDS = 32  # of the last answers, for an estimate


class _Waiting:
    """One who waits here. `seq` is its place among those with the same prompt start, once the server has said it."""

    __slots__ = ("after", "asked_at", "credentials", "future", "seq", "ticket")

    def __init__(
        self, ticket: Ticket, future: "asyncio.Future[Slot]", credentials: Credentials, asked_at: float, after: int
    ) -> None:
        self.ticket = ticket
        self.future = future
        self.credentials = credentials
        self.asked_at = asked_at
        self.after = after  # the slot that it has given back; 0: none
        self.seq: int | None = None


class SharedAdmission(Admission):
    """`start` is what the provider starts with where nobody knows anything of it; `stars` is the live set, `turns` the
    tracker of the process, which hears of the turns of all. `observe` and `keep` are told what happens by what was said
    here, `overhear` and `overhear_star` what happens elsewhere, and `tell_of_death` of a replica that is gone."""

    def __init__(
        self,
        provider_id: str,
        policy: Policy,
        start: Mapping[str, Any],
        stars: AbstractSet[str],
        turns: Turns,
        *,
        link: Link,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        observe: Observer,
        keep: Observer,
        overhear: Observer,
        overhear_star: Callable[[str, bool], None],
        tell_of_death: Callable[[str, str, int, int], None],
        poll: Callable[[Admission, Credentials, Tell], None],
        chance: random.Random,
    ) -> None:
        super().__init__(provider_id, clock=clock, loop=loop, observe=observe, keep=keep, poll=poll, chance=chance)
        self._policy = policy
        self._stars = stars
        self._heard = False
        self._start = {**start, "policy": shared_policy(policy)}
        self._link = link
        self._overhear = overhear
        self._overhear_star = overhear_star
        self._tell_of_death = tell_of_death
        self._waiting: dict[int, _Waiting] = {}
        self._slots: dict[int, Slot] = {}
        self._ended: dict[int, Released] = {}  # grants given back, of which the server has not told yet
        self._untold: set[int] = set()  # grants whose answers have begun, which the server need not know before the end
        self._standing = Standing(limit=start.get("limit"))
        self._ahead_s = clock.now()  # of this clock, to the server's
        self._peers: list[str] = []
        self._differs = False
        self._holds: deque[float] = deque(maxlen=HOLDS)
        self._due_at = inf
        self._refused_tickets: dict[int, Ticket] = {}
        # Of what is told, what concerns this replica alone. What it has said itself it need not be told.
        self._deeds: Mapping[str, Callable[..., None]] = {
            "Queued": self._queued,
            "Granted": self._granted,
            "Refused": self._refused,
            "Outlasted": self._outlasted,
            "Released": self._released,
            "Reclaimed": self._reclaimed,
            "Lost": self._lost,
            "RateLimited": self._rate_limited,
            "PollUsage": self._ask_for_usage,
            "Peers": self._compare,
        }
        self._poll_heard = 0  # the number of the last usage poll that was ours to ask for
        self._fresh = True  # the server has not heard what this process is configured with
        self._mirror: Mirror | None = None
        self._view = Scheduler(
            provider_id, policy, frozenset(), limit=start.get("limit"), cooldown_s=start["cooldown_s"]
        )
        self._line = link.line(provider_id, self)
        self._turns = SharedTurns(provider_id, turns, now=clock.now, say=self._line.say)

    # --- what can be read ---

    @property
    def scheduler(self) -> Scheduler:
        return self._view

    @property
    def policy(self) -> Policy:
        return self._policy

    @property
    def is_busy(self) -> bool:
        return self._line.announced

    @property
    def waiting_here(self) -> int:
        return len(self._waiting)

    @property
    def orders(self) -> bool:
        return self._standing.limit is not None or self._standing.paused_until is not None

    async def refresh(self, most: int = 1) -> None:
        if self._link.away is not None:
            return
        try:
            async with asyncio.timeout(LOOK_S):
                effects = await self._line.ask("look", most)
        except (TimeoutError, Away):
            return  # the state says that it is away; what was seen last is shown
        # Of all who looked in the same call: whoever asked for fewer has more than enough.
        looks = [said[0] for name, _, *said in effects if name == "Look"]
        if looks:
            self._mirror = mirror = self._mirrored(max(looks, key=_seen))
            self._view.show(mirror.queue, mirror.refusals)

    def _mirrored(self, seen: Mapping[str, Any]) -> Mirror:
        tickets = {one.ticket.id: one.ticket for one in self._waiting.values()}
        slots = {slot.grant: slot for slot in self._slots.values()}
        return Mirror(seen, ahead_s=self._ahead_s, tickets=tickets, slots=slots)

    def catch_up(self) -> None:
        """The server does."""

    def snapshot(self) -> Snapshot:
        seen = self._view.snapshot(self._now())
        return seen if self._mirror is None else self._mirror.counted(seen)

    def replica_of(self, ticket: Ticket) -> str | None:
        return None if self._mirror is None else self._mirror.replicas.get(ticket.id)

    # --- a request's way through ---

    def check_room(self) -> None:
        if 0 < self._policy.max_waiting <= len(self._waiting):  # who waits elsewhere, the server counts
            raise self.refusal("queue_full")

    def at_once(self, ticket: Ticket) -> Slot | None:
        return None

    async def acquire(self, ticket: Ticket, credentials: Credentials) -> Slot:
        waiting = self._wait(ticket, credentials, 0)
        self._line.say("request", script.ticket(ticket))
        return await self._outcome(waiting)

    async def acquire_again(
        self, slot: Slot, credentials: Credentials, tries: int, stated_ms: int | None, patience_s: float
    ) -> Slot:
        self.check_held(slot)
        self._drop_slot(slot)
        waiting = self._wait(slot.ticket, credentials, slot.grant)
        rest_s = backoff_s(tries, stated_ms, self._policy.pause.max_s, self.chance)
        self._line.say("requeue_within", slot.id, slot.grant, rest_s, patience_s)
        return await self._outcome(waiting)

    def _wait(self, ticket: Ticket, credentials: Credentials, after: int) -> _Waiting:
        now = self._now()
        ticket.queued_at = now
        waiting = _Waiting(ticket, self._loop.create_future(), credentials, now, after)
        self._waiting[ticket.id] = waiting
        return waiting

    async def _outcome(self, waiting: _Waiting) -> Slot:
        ticket, future = waiting.ticket, waiting.future
        try:
            slot = await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                if future.exception() is None:
                    self.release(future.result(), reached=False)
            elif self._waiting.get(ticket.id) is waiting:  # else it was granted or refused in this moment
                del self._waiting[ticket.id]
                self._line.say("leave", ticket.id)
                self._observe(self.provider_id, Left(ticket, self._now() - waiting.asked_at))
            raise
        self.check_held(slot)
        return slot

    def beside(self, ticket: Ticket) -> Slot:
        return Slot(ticket, self._standing.grants, self._now())

    def release(self, slot: Slot, *, reached: bool = True) -> None:
        if slot.held:
            self._drop_slot(slot)
            self._line.say("release", slot.id, slot.grant, reached)

    def _drop_slot(self, slot: Slot) -> None:
        """It is nobody's here any more; its end is told in the order in which the server has it."""
        held_s = self._now() - slot.granted_at
        self._holds.append(held_s)
        self._ended[slot.grant] = Released(slot, held_s)
        slot.held, slot.holder, slot.phase = False, None, Phase.COOLING
        self._slots.pop(slot.id, None)
        if slot.grant in self._untold:
            self._untold.discard(slot.grant)
            self._line.say("answered", slot.id, slot.grant, True)

    def answered(self, slot: Slot, *, success: bool) -> None:
        if self._standing.eager or not slot.held:
            self._line.say("answered", slot.id, slot.grant, success)
        elif success:
            self._untold.add(slot.grant)
        slot.taken = slot.taken or (success and slot.held)

    def rate_limited(self, slot: Slot, *, status: int, kind: str, retry_after_ms: int | None) -> None:
        self._untold.discard(slot.grant)
        slot.refused, slot.taken = True, False
        self._refused_tickets[slot.id] = slot.ticket
        self._line.say("rate_limited", slot.id, slot.grant, script.refusal(status, kind, retry_after_ms))

    def few_left(self, slot: Slot, count: int, wait_s: float) -> None:
        self._line.say("few_left", slot.id, slot.grant, count, wait_s)

    # --- turns ---

    def turn_begun(self, ticket: Ticket, hints: TurnHints, stated_ms: int | None, now_ms: int) -> None:
        self._turns.begun(ticket, hints, stated_ms, now_ms)

    def turn_ended(self, ticket: Ticket, *, answered: bool) -> None:
        self._turns.ended(ticket, answered=answered)

    # --- the watchdog's ---

    def holding(self) -> list[Slot]:
        return list(self._slots.values())

    def watch(self, slots: Sequence[Slot] | None = None) -> None:
        now = self._now()
        for slot in self.holding() if slots is None else slots:
            if slot.holder is not None:
                slot.holder.measure(slot, now)
            if slot.held and (found := overdue(self._policy, slot, now)) is not None:
                why, after_s = found
                self._line.say("reclaim", slot.id, slot.grant, why, after_s)

    # --- the operator's ---

    def set_limit(self, limit: int | None, by: str, *, learns: bool = False) -> None:
        self._line.say("set_limit", limit or False, by, learns)

    def read_limit(self, limit: int | None, *, learns: bool) -> None:
        said = AUTO if learns else limit or False
        self._from_file(limit_said=said, limit=limit or False, learns_limit=learns)
        self._line.say("file_limit", said, limit or False, learns)

    def read_cooldown(self, cooldown_s: float, *, learns: bool) -> None:
        said_s = AUTO_S if learns else cooldown_s
        self._from_file(cooldown_said=said_s, cooldown_s=cooldown_s, learns_cooldown=learns)
        self._line.say("file_cooldown", said_s, cooldown_s, learns)

    def _from_file(self, **said: Any) -> None:
        """A server that has forgotten everything is told what the file says now."""
        self._start = {**self._start, "file": {**self._start.get("file", {}), **said}}

    def restore(self) -> None:
        self._line.say("restore")

    def set_cooldown(self, cooldown_s: float, by: str, *, learns: bool = False) -> None:
        self._line.say("set_cooldown", cooldown_s, by, learns)

    def set_policy(self, policy: Policy) -> None:
        self._policy = policy
        self._start = {**self._start, "policy": shared_policy(policy)}
        self._line.say("set_policy", self._start["policy"])

    def pause(self, duration_s: float) -> None:
        self._line.say("pause", duration_s)

    def resume(self) -> None:
        self._line.say("resume")

    def star_changed(self, workspace: str, starred: bool) -> None:
        self._line.say("star", workspace, starred)

    def drop(self, ticket: Ticket) -> None:
        self._line.say("drop", ticket.id, "dropped")

    def reclaim(self, slot: Slot) -> None:
        self._line.say("reclaim", slot.id, slot.grant, "operator")

    def drop_all(self, code: str) -> None:
        for waiting in list(self._waiting.values()):
            self._refused(waiting.ticket.id, code)
        self._line.say("drop_all", code, self._link.replica)

    async def settled(self) -> None:
        try:
            async with asyncio.timeout(SETTLE_S):
                await self._line.ask("peers")
        except (TimeoutError, Away):
            why = self._link.away or "it does not answer"
            raise StoreError(f"{why}; it is not known whether this will happen") from None

    def give_up_late(self) -> None:
        too_early = self._now() - self._policy.max_wait_s - GRACE_S
        for waiting in list(self._waiting.values()):  # the first is who has waited longest
            if waiting.asked_at > too_early:
                return
            self._line.say("leave", waiting.ticket.id)
            self._refused(waiting.ticket.id, "queue_timeout")

    def begin(self) -> None:
        """Be known to other replicas, though nobody asks for anything yet."""
        self._line.begin()

    # --- words for the client ---

    def refusal(self, code: str) -> OwnAnswer:
        standing = self._standing
        waiting = max(standing.waiting, len(self._waiting))
        paused_s = None if standing.paused_until is None else standing.paused_until + self._ahead_s - self._now()
        estimate_s = max(paused_s or 0.0, 0.0)
        if standing.limit is not None:
            turn_s = (sum(self._holds) / len(self._holds) if self._holds else 0.0) + standing.cooldown_s
            estimate_s += (waiting + 1) * turn_s / standing.limit
        return self.worded(code, waiting=waiting, limit=standing.limit, paused_s=paused_s, estimate_s=estimate_s)

    # --- the line's listener ---

    def announcement(self) -> Step:
        now = self._now()
        self._turns.forget()  # what others have said of them since may be lost
        for grant in list(self._ended):  # the announcement says it, and nobody tells
            self._released(0, grant, 0.0)
        held = [
            {
                **script.ticket(slot.ticket),
                "grant": slot.grant,
                "held_s": now - slot.granted_at,
                "taken": slot.taken,
            }
            for slot in self._slots.values()
        ]
        waiting = [
            {
                **script.ticket(one.ticket),
                "waited_s": now - one.asked_at,
                "after": one.after,
                **({} if one.seq is None else {"seq": one.seq}),
            }
            for one in self._waiting.values()
        ]
        start = {**self._start, **self._known(), "stars": sorted(self._stars)}
        return script.announcement(
            start, fresh=self._fresh, poll=self._poll_heard, peers=self._peers, held=held, waiting=waiting
        )

    def _known(self) -> dict[str, Any]:
        """What this replica knows of a provider of which the server may have forgotten everything."""
        if not self._heard:
            return {}
        now, cause = self._now(), self._start.get("pause_cause")
        seen = None if self._mirror is None else self._view.snapshot(now)
        return in_force(self._standing, seen, cause=cause, ahead_s=self._ahead_s, now=now)

    def renewal(self) -> list[Step]:
        now = self._now()
        progress = [[slot.id, slot.phase.value, slot.bytes, now - slot.last_byte_at] for slot in self._slots.values()]
        return [["progress", progress], ["peers"]] if progress else [["peers"]]

    def happened(self, effects: Sequence[Raw], now: float, standing: Standing, *, elsewhere: bool) -> None:
        self._ahead_s = self._now() - now
        self._standing, self._heard = standing, True
        for name, whose, *said in effects:
            if not whose:
                self._apply_to_all(name, said, elsewhere=elsewhere)
            elif whose == self._link.replica and (deed := self._deeds.get(name)) is not None:
                deed(*said)
        self._arm(standing)

    # --- what was decided about ours ---

    def _queued(self, ticket_id: int, seq: int) -> None:
        waiting = self._waiting.get(ticket_id)
        if waiting is not None and waiting.seq is None:
            waiting.seq = seq
            self._observe(self.provider_id, Queued(waiting.ticket))

    def _granted(self, ticket_id: int, grant: int, waited_s: float) -> None:
        waiting = self._waiting.get(ticket_id)
        if waiting is None or grant <= waiting.after:
            held = self._slots.get(ticket_id)
            if held is None or held.grant != grant:  # its client has left
                self._line.say("release", ticket_id, grant, False)
            return
        del self._waiting[ticket_id]
        slot = Slot(waiting.ticket, grant, self._now())
        slot.held = True
        self._slots[ticket_id] = slot
        self._observe(self.provider_id, Granted(waiting.ticket, slot, waited_s))
        if waiting.future.done():  # its client leaves in this moment
            self.release(slot, reached=False)
        else:
            waiting.future.set_result(slot)

    def _refused(self, ticket_id: int, code: str) -> None:
        waiting = self._waiting.get(ticket_id)
        if waiting is not None:
            self._observe(self.provider_id, Refused(waiting.ticket, code))
            self._refuse(ticket_id, code)

    def _outlasted(self, ticket_id: int) -> None:
        self._refuse(ticket_id, "paused")

    def _refuse(self, ticket_id: int, code: str) -> None:
        waiting = self._waiting.pop(ticket_id, None)
        if waiting is not None and not waiting.future.done():
            waiting.future.set_exception(self.refusal(code))

    def _released(self, ticket_id: int, grant: int, held_s: float) -> None:
        released = self._ended.pop(grant, None)
        if released is not None:
            self._observe(self.provider_id, released)

    def _reclaimed(self, ticket_id: int, grant: int, why: str, after_s: float) -> None:
        slot = self._slots.get(ticket_id)
        if slot is None or slot.grant != grant:
            waiting = self._waiting.get(ticket_id)
            if waiting is not None and waiting.after == grant:  # taken back before it was put back, which did nothing
                self._line.say("request", script.ticket(waiting.ticket))
            return
        holder = slot.holder
        self._drop_slot(slot)
        self._observe(self.provider_id, Reclaimed(slot, why, after_s))
        if holder is not None:
            holder.abort(why)

    def _lost(self, ticket_id: int, grant: int) -> None:
        slot = self._slots.get(ticket_id)
        if slot is not None:
            self._reclaimed(ticket_id, grant, "lease", self._now() - slot.granted_at)
            self._released(ticket_id, grant, 0.0)

    def _rate_limited(self, ticket_id: int, seen: Mapping[str, Any]) -> None:
        ticket = self._refused_tickets.pop(ticket_id, None)
        if ticket is not None:
            self.note(RateLimited(ticket, script.rate_limit(seen)))

    def _ask_for_usage(self, ticket_id: int, number: int) -> None:
        self._poll_heard = number
        waiting = self._waiting.get(ticket_id)
        if waiting is None:  # its client has left, and nobody else's credentials may be taken
            self._line.say("unasked", number)
            return

        def tell(observed: int | None, error: str | None) -> None:
            self._line.say("polled", number, False if observed is None else observed, error or False)

        self._poll(self, waiting.credentials, tell)

    def _compare(self, peers: Sequence[str], known: int) -> None:
        """What the server knows of ours with what there is; twice another number is no news on its way."""
        self._peers = list(peers)
        self._turns.forget_dead(self._peers)
        differs = known != len(self._waiting) + len(self._slots) and not self._line.has_something
        if differs and self._differs:
            self._line.announced = False
            self._line.begin()
        self._differs = differs and not self._differs

    # --- what was decided about all ---

    def _apply_to_all(self, name: str, said: Sequence[Any], *, elsewhere: bool) -> None:
        if name == "Turn":
            if elsewhere:
                self._turns.overheard(said[0])
        elif name == "Peers":  # somebody has announced itself: if not another, we have been heard
            self._peers = list(said[0])
            self._fresh = self._fresh and elsewhere
        elif name == "Starred":
            if elsewhere:
                self._overhear_star(said[0], said[1])
        elif name == "Buried":
            if not elsewhere and (said[1] or said[2]):
                self._tell_of_death(self.provider_id, said[0], said[1], said[2])
        else:
            change = script.change(name, said, ahead_s=self._ahead_s)
            assert change is not None, name
            if elsewhere:
                self._overhear(self.provider_id, change)
            else:
                self.note(change)

    # --- time ---

    def _arm(self, standing: Standing) -> None:
        if standing.deadline is None:
            self._due_at = inf
            return
        late_s = 0.0 if standing.waker in (None, self._link.replica) else OTHERS_LATE_S
        late_s = max(late_s, 0.0 if standing.waiting else LATE_S)
        self._due_at = standing.deadline + self._ahead_s + late_s + ROUNDED_S
        if self._due_at < self._timer_at:
            self._set_timer(self._due_at)

    def _tick(self) -> None:
        self._stop_timer()
        if self._due_at <= self._now() + EARLY_S:
            self._line.say("catch_up")
        elif self._due_at < inf:
            self._set_timer(self._due_at)


def _seen(look: Mapping[str, Any]) -> int:
    """How many who wait were looked at."""
    return len(look["waiting"] or ()) + len(look["resting"] or ())
