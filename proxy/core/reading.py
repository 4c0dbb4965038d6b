# What can be read of one provider's queue: for status, metrics, state and people. Nothing here changes anything.

from proxy.core.model import Slot, Snapshot
from proxy.core.queue import Queue
from proxy.core.refusals import Refusals


def snapshot(queue: Queue, refusals: Refusals, provider_id: str, now: float) -> Snapshot:
    """Everything a status shows, at one moment."""
    longest = queue.waiting.longest()
    recovery, strikes, lag = queue.recovery, refusals.strikes, queue.cooldown.lag
    return Snapshot(
        provider_id=provider_id,
        limit=queue.limit.value,
        held=queue.slots.held,
        cooling=queue.slots.in_flight - queue.slots.held,
        queued=len(queue.waiting),
        paused_until_at=queue.pause.until_at,
        pause_cause=queue.pause.cause,
        cooldown_s=queue.cooldown.seconds,
        auto_reduced_from=queue.limit.original,
        notice=queue.limit.notice,
        oldest_wait_s=None if longest is None else now - longest.queued_at,
        last_rate_limit=refusals.last,
        evidence=queue.limit.evidence,
        gate=queue.gate.reading,
        external=queue.gate.external(now),
        lag_s=lag.estimate_s if lag.learned else None,
        learns_limit=queue.limit.learns,
        learns_cooldown=queue.cooldown.learns,
        strikes=strikes.today(now),
        strikes_until_at=strikes.until_at,
        strikes_allowed=queue.policy.strikes,
        restore_at=recovery.due_at,
        restore_after_s=recovery.after_s,
        few_left_until_at=queue.allowance.until_at if queue.slots.grants >= queue.allowance.last_grant else None,
        quota=refusals.quota,
    )


def slots(queue: Queue) -> list[Slot]:
    """Held slots, first granted first, then cooling ones, first to be free first."""
    polled_for = queue.gate.slot
    return [*queue.slots.holding(), *([polled_for] if polled_for else []), *queue.slots.resting()]


def wait_estimate_s(queue: Queue, now: float) -> float:
    """How long somebody who came now would wait, from how long slots have been held and from the pause."""
    paused_s = 0.0 if queue.pause.until_at is None else max(0.0, queue.pause.until_at - now)
    if queue.limit.value is None:
        return paused_s
    turn_s = (queue.slots.mean_hold_s or 0.0) + queue.cooldown.seconds
    return paused_s + (len(queue.waiting) + 1) * turn_s / queue.limit.value


def described(queue: Queue, provider_id: str) -> str:
    """One line for logs."""
    limit = "∞" if queue.limit.value is None else queue.limit.value
    paused = "" if queue.pause.until_at is None else f" paused until {queue.pause.until_at:.3f}"
    return (
        f"<Scheduler {provider_id} held {queue.slots.held}/{limit} cooling {queue.slots.in_flight - queue.slots.held}"
        f" waiting {len(queue.waiting)}{paused}>"
    )
