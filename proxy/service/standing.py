# What a provider starts with: the configuration, or what was decided since (spec §13). Pure.
#
# Rule: the latest human action wins. What an API call or a rate limit set stands until the file's own value changes;
#       so each record says what the file said when it was made.

from collections.abc import Callable
from dataclasses import dataclass

from proxy.config import Provider
from proxy.core.model import PausePolicy, Policy, RateLimit, Snapshot
from proxy.core.pause import OPERATOR
from proxy.core.strikes import DAY_MS
from proxy.store import ProviderRecord

AUTO = 0  # `limit: auto` among the limits a file can state
AUTO_S = -1.0  # `cooldown: auto` among its cooldowns
OPERATOR_PAUSE_MAX_S = 86_400.0  # what the admin API accepts; more in a state file is a clock that was wrong


@dataclass(slots=True, kw_only=True)
class Standing:
    """Who set what of one provider: "file", "api" or "auto" (learned, or changed by rate limits), and what the file
    says."""

    limit_by: str = "file"
    file_limit: int | None = None
    cooldown_by: str = "file"
    file_cooldown_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a provider's scheduler starts with; what is left of the pause, and of the day of the strikes, in seconds."""

    limit: int | None
    learns_limit: bool
    cooldown_s: float
    learns_cooldown: bool
    auto_reduced_from: int | None
    evidence: tuple[RateLimit, ...]
    pause_left_s: float | None
    pause_cause: str | None
    strikes: int
    strikes_left_s: float | None
    restore_after_s: float | None
    standing: Standing


DEFAULTS = Provider(provider_id="")  # for a provider that no upstream names


def file_limit(provider: Provider) -> int | None:
    """The limit that the file states: a number, AUTO, or None."""
    return AUTO if provider.learn_limit else provider.limit


def file_cooldown_s(provider: Provider) -> float:
    """The cooldown that the file states: seconds, or AUTO_S."""
    return AUTO_S if provider.learn_cooldown else provider.cooldown_s


def start(provider: Provider, record: ProviderRecord | None, wall_ms: int) -> Start:
    """Merge the configuration with the record of an earlier process."""
    standing = Standing(file_limit=file_limit(provider), file_cooldown_s=file_cooldown_s(provider))
    limit, cooldown_s = provider.limit, provider.cooldown_s
    reduced_from: int | None = None
    evidence: tuple[RateLimit, ...] = ()
    pause_left_s = pause_cause = strikes_left_s = restore_after_s = None
    strikes = 0
    if record is not None:
        if record.limit_by != "file" and record.file_limit == standing.file_limit:
            limit, reduced_from, evidence = record.limit, record.auto_reduced_from, record.evidence
            standing.limit_by, restore_after_s = record.limit_by, record.restore_after_s
        if record.cooldown_by != "file" and record.file_cooldown_s == standing.file_cooldown_s:
            cooldown_s, standing.cooldown_by = record.cooldown_s, record.cooldown_by
        if record.paused_until_ms is not None and record.paused_until_ms > wall_ms:
            longest_s = OPERATOR_PAUSE_MAX_S if record.pause_cause == OPERATOR else provider.pause.max_s
            pause_left_s = min((record.paused_until_ms - wall_ms) / 1000, longest_s)
            pause_cause = record.pause_cause
        if record.strikes_until_ms is not None and 0 < record.strikes_until_ms - wall_ms <= DAY_MS:
            strikes, strikes_left_s = record.strikes, (record.strikes_until_ms - wall_ms) / 1000
    return Start(
        limit=limit,
        learns_limit=provider.learn_limit and standing.limit_by != "api",
        cooldown_s=cooldown_s,
        learns_cooldown=provider.learn_cooldown and standing.cooldown_by != "api",
        auto_reduced_from=reduced_from,
        evidence=evidence,
        pause_left_s=pause_left_s,
        pause_cause=pause_cause,
        strikes=strikes,
        strikes_left_s=strikes_left_s,
        restore_after_s=restore_after_s,
        standing=standing,
    )


def record(snapshot: Snapshot, standing: Standing, to_wall_ms: Callable[[float], int]) -> ProviderRecord:
    """What is kept of a provider."""
    paused_until_at, strikes_until_at = snapshot.paused_until_at, snapshot.strikes_until_at
    return ProviderRecord(
        provider_id=snapshot.provider_id,
        limit=snapshot.limit,
        limit_by=standing.limit_by,
        file_limit=standing.file_limit,
        cooldown_s=snapshot.cooldown_s,
        cooldown_by=standing.cooldown_by,
        file_cooldown_s=standing.file_cooldown_s,
        auto_reduced_from=snapshot.auto_reduced_from,
        evidence=snapshot.evidence if snapshot.auto_reduced else (),
        paused_until_ms=None if paused_until_at is None else to_wall_ms(paused_until_at),
        pause_cause=snapshot.pause_cause,
        strikes=snapshot.strikes,
        strikes_until_ms=None if strikes_until_at is None else to_wall_ms(strikes_until_at),
        restore_after_s=snapshot.restore_after_s,
    )


def policy(provider: Provider, *, max_waiting: int, max_wait_s: float) -> Policy:
    """The part of the configuration that the scheduler reads."""
    return Policy(
        auto_reduce=provider.auto_reduce,
        auto_restore_s=provider.auto_restore_s,
        strikes=provider.strikes,
        pause=PausePolicy(default_s=provider.pause.default_s, min_s=provider.pause.min_s, max_s=provider.pause.max_s),
        slot_timeout_s=provider.slot_timeout_s,
        max_hold_s=provider.max_hold_s,
        max_waiting=max_waiting,
        max_wait_s=max_wait_s,
        gate_interval_s=None if provider.usage is None else provider.usage.interval_s,
        gate_age_s=0.0 if provider.usage is None else provider.usage.age_s,
        absorb=provider.absorb,
    )
