# What a provider starts with: the configuration, or what was decided since (spec §13). Pure.
#
# Rule: the latest human action wins. What an API call or a rate limit set stands until the file's own value changes;
#       so each record says what the file said when it was made.

from dataclasses import dataclass

from proxy.config import Provider
from proxy.core.model import PausePolicy, Policy, RateLimit, Snapshot
from proxy.core.pause import OPERATOR
from proxy.store import ProviderRecord

AUTO = 0  # `limit: auto` among the limits a file can state
OPERATOR_PAUSE_MAX_S = 86_400.0  # what the admin API accepts; more in a state file is a clock that was wrong


@dataclass(slots=True, kw_only=True)
class Standing:
    """Who set what of one provider: "file", "api" or "auto", and what the file says."""

    limit_by: str = "file"
    file_limit: int | None = None
    cooldown_by: str = "file"
    file_cooldown_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a provider's scheduler starts with; the pause is what is left of it, in seconds."""

    limit: int | None
    cooldown_s: float
    auto_reduced_from: int | None
    evidence: tuple[RateLimit, ...]
    pause_left_s: float | None
    pause_cause: str | None
    standing: Standing


DEFAULTS = Provider(provider_id="")  # for a provider that no upstream names


def file_limit(provider: Provider) -> int | None:
    """The limit that the file states: a number, AUTO, or None."""
    return AUTO if provider.learn_limit else provider.limit


def start(provider: Provider, record: ProviderRecord | None, wall_ms: int) -> Start:
    """Merge the configuration with the record of an earlier process."""
    standing = Standing(file_limit=file_limit(provider), file_cooldown_s=provider.cooldown_s)
    limit, cooldown_s = provider.limit, provider.cooldown_s
    reduced_from: int | None = None
    evidence: tuple[RateLimit, ...] = ()
    pause_left_s = pause_cause = None
    if record is not None:
        if record.limit_by != "file" and record.file_limit == standing.file_limit:
            limit, reduced_from, evidence = record.limit, record.auto_reduced_from, record.evidence
            standing.limit_by = record.limit_by
        if record.cooldown_by != "file" and record.file_cooldown_s == standing.file_cooldown_s:
            cooldown_s, standing.cooldown_by = record.cooldown_s, record.cooldown_by
        if record.paused_until_ms is not None and record.paused_until_ms > wall_ms:
            longest_s = OPERATOR_PAUSE_MAX_S if record.pause_cause == OPERATOR else provider.pause.max_s
            pause_left_s = min((record.paused_until_ms - wall_ms) / 1000, longest_s)
            pause_cause = record.pause_cause
    return Start(
        limit=limit,
        cooldown_s=cooldown_s,
        auto_reduced_from=reduced_from,
        evidence=evidence,
        pause_left_s=pause_left_s,
        pause_cause=pause_cause,
        standing=standing,
    )


def record(snapshot: Snapshot, standing: Standing, paused_until_ms: int | None) -> ProviderRecord:
    """What is kept of a provider."""
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
        paused_until_ms=paused_until_ms,
        pause_cause=snapshot.pause_cause,
    )


def policy(provider: Provider, *, max_waiting: int, max_wait_s: float) -> Policy:
    """The part of the configuration that the scheduler reads."""
    return Policy(
        learn_limit=provider.learn_limit,
        auto_reduce=provider.auto_reduce,
        pause=PausePolicy(default_s=provider.pause.default_s, min_s=provider.pause.min_s, max_s=provider.pause.max_s),
        slot_timeout_s=provider.slot_timeout_s,
        max_hold_s=provider.max_hold_s,
        max_waiting=max_waiting,
        max_wait_s=max_wait_s,
        gate_interval_s=None if provider.usage is None else provider.usage.interval_s,
        absorb=provider.absorb,
    )
