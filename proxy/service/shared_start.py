# What a provider begins with at a server that knows nothing of it, as a replica says that. Pure.

from typing import Any

from proxy.config import Provider
from proxy.core.model import Kind, Policy, Snapshot
from proxy.replicas import script
from proxy.replicas.script import Standing
from proxy.service import standing as standings

POLL_PATIENCE_S = 30.0  # for the poll of a replica that hangs, and does not die


def shared_start(provider: Provider, start: standings.Start) -> dict[str, Any]:
    """By the file, and by the record of an earlier process."""
    return {
        "limit": start.limit,
        "original": start.auto_reduced_from,
        "evidence": [script.told(seen) for seen in start.evidence],
        "learns_limit": start.learns_limit,
        "cooldown_s": start.cooldown_s,
        "learns_cooldown": start.learns_cooldown,
        "pause_left_s": start.pause_left_s,
        "pause_cause": start.pause_cause,
        "strikes": start.strikes,
        "strikes_left_s": start.strikes_left_s,
        "restore_after_s": start.restore_after_s,
        "file": {
            "limit_said": _or_false(standings.file_limit(provider)),
            "limit": _or_false(provider.limit),
            "learns_limit": provider.learn_limit,
            "cooldown_said": standings.file_cooldown_s(provider),
            "cooldown_s": provider.cooldown_s,
            "learns_cooldown": provider.learn_cooldown,
        },
    }


def shared_policy(policy: Policy) -> dict[str, Any]:
    """With what matters among replicas alone."""
    return {**script.policy(policy), "gate_patience_s": POLL_PATIENCE_S}


def in_force(
    standing: Standing, seen: Snapshot | None, *, cause: str | None, ahead_s: float, now: float
) -> dict[str, Any]:
    """By what this replica has heard: how it stands, and what was `seen` when somebody looked last. `cause`: of a pause
    of which nobody has looked; `ahead_s`: of the clock of `now` and the snapshot, to the server's."""
    paused_until = standing.paused_until
    known = {
        "limit": standing.limit,
        "cooldown_s": standing.cooldown_s,
        "pause_left_s": None if paused_until is None else paused_until + ahead_s - now,
        "pause_cause": cause or Kind.RATE.value,
    }
    if seen is None:
        return known
    strikes_until_at = seen.strikes_until_at
    return {
        **known,
        "original": seen.auto_reduced_from,
        "evidence": [script.told(one) for one in seen.evidence],
        "learns_limit": seen.learns_limit,
        "learns_cooldown": seen.learns_cooldown,
        "pause_cause": seen.pause_cause or Kind.RATE.value,
        "strikes": seen.strikes,
        "strikes_left_s": None if strikes_until_at is None else strikes_until_at - now,
        "restore_after_s": seen.restore_after_s,
    }


def _or_false(limit: int | None) -> int | bool:
    return False if limit is None else limit  # None is not sent
