# One scheduler at work, in words: tests ask, answer and let time pass, and read what happened as sentences.
#
# Rule: nothing is decided here. A request is known by its name, and so are its ticket and its latest slot.

import itertools

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
    RateLimit,
    RateLimited,
    Reclaimed,
    Reduced,
    Refused,
    Released,
    Resumed,
    Slot,
    Ticket,
)
from proxy.core.scheduler import Scheduler


def word(effect: Effect) -> str:
    match effect:
        case Queued(ticket):
            return f"{ticket.path} queued"
        case Granted(ticket):
            return f"{ticket.path} granted"
        case Left(ticket):
            return f"{ticket.path} left"
        case Refused(ticket, code):
            return f"{ticket.path} refused: {code}"
        case Released(slot):
            return f"{slot.ticket.path} released"
        case Reclaimed(slot, why):
            return f"{slot.ticket.path} reclaimed: {why}"
        case PollUsage(ticket):
            return f"poll for {ticket.path}"
        case Paused(until_at, cause):
            return f"paused until {until_at:g}: {cause}"
        case Resumed(cause):
            return f"resumed: {cause}"
        case RateLimited(ticket, seen):
            return f"{ticket.path} refused by the provider: {seen.kind}"
        case Reduced(limit, original):
            return f"reduced to {limit} from {original}"
        case LimitSet(limit, by):
            return f"limit {limit} by {by}"
        case CooldownSet(cooldown_s, by):
            return f"cooldown {cooldown_s:g} by {by}"
    raise AssertionError(effect)


class Desk:
    """A scheduler, its stars and its clock. Keywords are fields of `Policy`, or `default`, `floor` and `cap` of its
    pause. Every method returns what happened, as sentences."""

    def __init__(
        self,
        limit: int | None = 1,
        *,
        cooldown_s: float = 0.0,
        default: float = 30.0,
        floor: float = 0.0,
        cap: float = 600.0,
        auto_reduced_from: int | None = None,
        evidence: tuple[RateLimit, ...] = (),
        learns_limit: bool = False,
        learns_cooldown: bool = False,
        paused_until_at: float | None = None,
        pause_cause: str | None = None,
        strikes_until_at: float | None = None,
        strikes_today: int = 0,
        restore_after_s: float | None = None,
        **policy: object,
    ) -> None:
        self.now = 0.0
        self.stars: set[str] = set()
        self.tickets: dict[str, Ticket] = {}
        self.slots: dict[str, Slot] = {}
        self.effects: list[Effect] = []
        self._ids = itertools.count(1)
        self._pause = PausePolicy(default_s=default, min_s=floor, max_s=cap)
        self.scheduler = Scheduler(
            "api.example.com",
            self._policy(policy),
            self.stars,
            limit=limit,
            cooldown_s=cooldown_s,
            auto_reduced_from=auto_reduced_from,
            evidence=evidence,
            learns_limit=learns_limit,
            learns_cooldown=learns_cooldown,
            paused_until_at=paused_until_at,
            pause_cause=pause_cause,
            strikes=strikes_today,
            strikes_until_at=strikes_until_at,
            restore_after_s=restore_after_s,
        )

    def _policy(self, changes: dict[str, object]) -> Policy:
        return Policy(**{"pause": self._pause, **changes})  # type: ignore[arg-type]

    def _told(self, effects: list[Effect]) -> list[str]:
        self.effects = effects
        self.slots.update({effect.ticket.path: effect.slot for effect in effects if isinstance(effect, Granted)})
        return [word(effect) for effect in effects]

    # --- clients ---

    def ask(self, name: str, *, workspace: str = "w", conversation: str | None = None, started: int = 0) -> list[str]:
        ticket = Ticket(
            id=next(self._ids), workspace=workspace, conversation=conversation, prompt_started_at=started, path=name
        )
        self.tickets[name] = ticket
        return self._told(self.scheduler.request(ticket, self.now))

    def crowd(self, names: str, **facts: object) -> None:
        for name in names.split():
            self.ask(name, **facts)  # type: ignore[arg-type]

    def cancel(self, name: str) -> list[str]:
        return self._told(self.scheduler.cancel(self.tickets[name], self.now))

    def finish(self, name: str) -> list[str]:
        """The answer has begun, and well, and ends."""
        self.scheduler.answered(self.slots[name], self.now)
        return self.release(name)

    def release(self, name: str, *, reached: bool = True) -> list[str]:
        return self._told(self.scheduler.release(self.slots[name], self.now, reached=reached))

    # --- the provider ---

    def answer(self, name: str) -> list[str]:
        return self._told(self.scheduler.answered(self.slots[name], self.now))

    def refuse(
        self, name: str, kind: str = "rate", wait_s: float | None = None, *, status: int = 429, at: int = 0
    ) -> list[str]:
        wait_ms = None if wait_s is None else round(wait_s * 1000)
        slot = self.slots[name]
        return self._told(
            self.scheduler.rate_limited(slot, status=status, kind=kind, retry_after_ms=wait_ms, now=self.now, now_ms=at)
        )

    def requeue(self, name: str, rest_s: float = 0.0) -> list[str]:
        return self._told(self.scheduler.requeue(self.slots[name], self.now, rest_s=rest_s))

    def left(self, name: str, count: int, wait_s: float) -> list[str]:
        return self._told(self.scheduler.few_left(self.slots[name], count, wait_s, self.now))

    def exhausted(self, wait_s: float) -> list[str]:
        """Told by the answer to a request that has gone."""
        if "gone" not in self.slots:
            self.slots["gone"] = Slot(
                Ticket(id=0, workspace="w", conversation=None, prompt_started_at=0, path="gone"),
                0,
                0.0,
            )
        return self.left("gone", 0, wait_s)

    def polled(self, observed: int | None, error: str | None = None) -> list[str]:
        return self._told(self.scheduler.polled(observed, error, self.now))

    # --- operators ---

    def limit(self, limit: int | None, by: str = "api") -> list[str]:
        return self._told(self.scheduler.set_limit(limit, by, self.now))

    def restore(self) -> list[str]:
        return self._told(self.scheduler.restore(self.now))

    def cooldown(self, cooldown_s: float) -> list[str]:
        return self._told(self.scheduler.set_cooldown(cooldown_s, "api"))

    def policy(self, **changes: object) -> list[str]:
        return self._told(self.scheduler.set_policy(self._policy(changes), self.now))

    def pause(self, duration_s: float) -> list[str]:
        return self._told(self.scheduler.pause(self.now + duration_s, self.now))

    def resume(self) -> list[str]:
        return self._told(self.scheduler.resume(self.now))

    def star(self, workspace: str) -> None:
        self.stars.add(workspace)
        self.scheduler.star_changed(workspace)

    def unstar(self, workspace: str) -> None:
        self.stars.discard(workspace)
        self.scheduler.star_changed(workspace)

    def reclaim(self, name: str) -> list[str]:
        return self._told(self.scheduler.reclaim(self.slots[name], self.now))

    def drop(self, name: str) -> list[str]:
        return self._told(self.scheduler.drop(self.tickets[name], self.now))

    def drop_all(self, code: str) -> list[str]:
        return self._told(self.scheduler.drop_all(code))

    # --- time ---

    def at(self, now: float) -> list[str]:
        """It is `now`, and the timer looks."""
        self.now = now
        return self._told(self.scheduler.tick(now, round(now * 1000)))

    def watch(self, now: float) -> list[str]:
        """It is `now`, and the watchdog looks."""
        self.now = now
        return self._told(self.scheduler.reclaim_overdue(now))

    # --- what can be read ---

    @property
    def deadline(self) -> float | None:
        return self.scheduler.next_deadline()

    @property
    def line(self) -> list[str]:
        return [ticket.path for ticket in self.scheduler.waiting.ordered()]

    def __repr__(self) -> str:
        return f"<Desk at {self.now} {self.scheduler!r}>"
