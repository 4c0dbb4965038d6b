# A scheduler whose state is in Redis, with the face of the core's: what the core's tests drive, and nobody else. It
# waits for Redis on every call, and looks at everything after each.

from collections.abc import Set as AbstractSet
from typing import Any

import redis

from proxy.core import forecast, reading
from proxy.core.forecast import Expected
from proxy.core.model import (
    Effect,
    Granted,
    Left,
    Phase,
    Policy,
    PollUsage,
    Queued,
    RateLimited,
    Reclaimed,
    Refused,
    Released,
    Slot,
    Snapshot,
    Ticket,
)
from proxy.core.obstacle import Obstacle, obstacle
from proxy.replicas import script
from proxy.replicas.mirror import Mirror


class RedisScheduler:
    """One replica's view of one provider."""

    def __init__(self, server: "redis.Redis[bytes]", key: str, policy: Policy, stars: AbstractSet[str], **start: Any):
        self._server, self._key = server, key
        self._call = server.register_script(script.source())
        self._stars = stars
        self._tickets: dict[int, Ticket] = {}
        self._slots: dict[int, Slot] = {}
        self._poll = 0
        self._deadline: float | None = None
        self._now = 0.0  # of the last call, for what the core does without a time
        self._calls = 0
        self._policy = policy
        self._do(self._now, script.announcement({"policy": script.policy(policy), **start}))

    def _ask(self, now: float, *steps: script.Step, now_ms: int | None = None) -> script.Reply:
        self._calls += 1
        self._now = now
        asked = script.request(steps, replica="one", number=self._calls, run="1", now=now, now_ms=now_ms)
        answer = script.reply(self._call(keys=[self._key], args=[asked]))
        assert answer.now == now
        return answer

    def _do(self, now: float, *steps: script.Step, now_ms: int | None = None) -> list[Effect]:
        answer = self._ask(now, *steps, now_ms=now_ms)
        self._deadline = answer.standing.deadline
        return [self._effect(now, *raw) for raw in answer.effects if raw[0] not in ("Peers", "Starred")]

    def _effect(self, now: float, name: str, replica: str | bool, *said: Any) -> Effect:
        match name, said:
            case "Queued", (ticket_id, _):
                ticket = self._tickets[ticket_id]
                ticket.queued_at = now
                return Queued(ticket)
            case "Granted", (ticket_id, grant, waited_s):
                slot = self._slots[grant] = Slot(self._tickets[ticket_id], grant, now)
                slot.held = True
                return Granted(slot.ticket, slot, waited_s)
            case "Left", (ticket_id, waited_s):
                return Left(self._tickets[ticket_id], waited_s)
            case "Refused", (ticket_id, code):
                return Refused(self._tickets[ticket_id], code)
            case "Released", (_, grant, held_s):
                slot = self._slots[grant]
                slot.held, slot.phase = False, Phase.COOLING
                return Released(slot, held_s)
            case "Reclaimed", (_, grant, why, after_s):
                return Reclaimed(self._slots[grant], why, after_s)
            case "PollUsage", (ticket_id, number):
                self._poll = number
                return PollUsage(self._tickets[ticket_id])
            case "RateLimited", (ticket_id, seen):
                return RateLimited(self._tickets[ticket_id], script.rate_limit(seen))
        changed = script.change(name, said)
        assert changed is not None, (name, said)
        return changed

    def slot(self, slot: Slot) -> Slot:
        """The one here that is the same as another's."""
        return self._slots[slot.grant]

    # --- asking, leaving, giving back ---

    def request(self, ticket: Ticket, now: float) -> list[Effect]:
        self._tickets[ticket.id] = ticket
        return self._do(now, ["request", script.ticket(ticket)])

    def grant_at_once(self, ticket: Ticket, now: float) -> Granted | None:
        self._tickets[ticket.id] = ticket
        granted = self._do(now, ["grant_at_once", script.ticket(ticket)])
        assert not granted or isinstance(granted[0], Granted)
        return granted[0] if granted else None  # type: ignore[return-value]

    def cancel(self, ticket: Ticket, now: float) -> list[Effect]:
        return self._do(now, ["cancel", ticket.id])

    def drop(self, ticket: Ticket, now: float, code: str = "dropped") -> list[Effect]:
        return self._do(now, ["drop", ticket.id, code])

    def drop_all(self, code: str) -> list[Effect]:
        return self._do(self._now, ["drop_all", code])

    def release(self, slot: Slot, now: float, *, reached: bool = True) -> list[Effect]:
        return self._do(now, ["release", slot.id, slot.grant, reached])

    def requeue(self, slot: Slot, now: float, *, rest_s: float = 0.0) -> list[Effect]:
        if rest_s and slot.held:
            slot.ticket.queued_at = now
        return self._do(now, ["requeue", slot.id, slot.grant, rest_s])

    def reclaim(self, slot: Slot, now: float, why: str = "operator") -> list[Effect]:
        return self._do(now, ["reclaim", slot.id, slot.grant, why])

    def reclaim_overdue(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for slot in self._mirror(now).queue.slots.holding():
            if not slot.held:
                continue
            held_s, silent_s = now - slot.granted_at, now - slot.progress_at
            if self._policy.max_hold_s is not None and held_s >= self._policy.max_hold_s:
                effects += self._do(now, ["reclaim", slot.id, slot.grant, "max_hold", held_s])
            elif self._policy.slot_timeout_s is not None and silent_s >= self._policy.slot_timeout_s:
                effects += self._do(now, ["reclaim", slot.id, slot.grant, "silent", silent_s])
        return effects

    # --- what the provider says ---

    def answered(self, slot: Slot, now: float, *, success: bool = True) -> list[Effect]:
        return self._do(now, ["answered", slot.id, slot.grant, success])

    def rate_limited(
        self, slot: Slot, *, status: int, kind: str, retry_after_ms: int | None, now: float, now_ms: int
    ) -> list[Effect]:
        said = script.refusal(status, kind, retry_after_ms)
        return self._do(now, ["rate_limited", slot.id, slot.grant, said], now_ms=now_ms)

    def few_left(self, slot: Slot, count: int, wait_s: float, now: float) -> list[Effect]:
        return self._do(now, ["few_left", slot.id, slot.grant, count, wait_s])

    def polled(self, observed: int | None, error: str | None, now: float) -> list[Effect]:
        return self._do(now, ["polled", self._poll, False if observed is None else observed, error or False])

    # --- what operators do ---

    def set_limit(self, limit: int | None, by: str, now: float, *, learns: bool = False) -> list[Effect]:
        return self._do(now, ["set_limit", limit or False, by, learns])

    def restore(self, now: float) -> list[Effect]:
        return self._do(now, ["restore"])

    def set_cooldown(self, cooldown_s: float, by: str, *, learns: bool = False) -> list[Effect]:
        return self._do(self._now, ["set_cooldown", cooldown_s, by, learns])

    def set_policy(self, policy: Policy, now: float) -> list[Effect]:
        self._policy = policy
        return self._do(now, ["set_policy", script.policy(policy)])

    def pause(self, until_at: float, now: float) -> list[Effect]:
        return self._do(now, ["pause", until_at - now])

    def resume(self, now: float) -> list[Effect]:
        return self._do(now, ["resume"])

    def star_changed(self, workspace: str) -> None:
        self._do(self._now, ["star", workspace, workspace in self._stars])

    # --- time, and what can be read ---

    def next_deadline(self) -> float | None:
        return self._deadline

    def tick(self, now: float, now_ms: int) -> list[Effect]:
        return self._do(now, ["tick"], now_ms=now_ms)

    def _mirror(self, now: float) -> Mirror:
        ((_, _, look),) = self._ask(now, ["look", 1000]).effects
        return Mirror(look, ahead_s=0.0, tickets=self._tickets, slots=self._slots)

    def snapshot(self, now: float) -> Snapshot:
        mirror = self._mirror(now)
        return reading.snapshot(mirror.queue, mirror.refusals, "api.example.com", now)

    def waits_for(self, now: float) -> Obstacle | None:
        return obstacle(self._mirror(now).queue, now)

    def expected_waits(self, now: float, now_ms: int) -> list[Expected]:
        return forecast.expected_waits(self._mirror(now).queue, now, now_ms)

    def newcomer_wait_s(self, now: float, now_ms: int) -> float | None:
        return forecast.newcomer_wait_s(self._mirror(now).queue, now, now_ms)
