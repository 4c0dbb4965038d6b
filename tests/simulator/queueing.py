# The proxy's side of a run: how its queue for the provider is configured.

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from proxy.core.model import PausePolicy, Policy
from proxy.core.scheduler import Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class Queueing:
    """As in the configuration file. `limit` None with `learn_limit` is `limit: auto`."""

    limit: int | None = 4
    learn_limit: bool = False
    cooldown_s: float = 0.35
    learn_cooldown: bool = False  # cooldown: auto, which begins with `cooldown_s`
    gate_s: float | None = None  # the interval of the usage polls
    gate_age_s: float = 0.0  # how old the proxy is told that their number may be
    absorb: int = 0
    auto_reduce: bool = True
    auto_restore_s: float | None = None
    strikes: int | None = None
    pause_default_s: float = 30.0
    pause_min_s: float = 0.0


def scheduler(queueing: Queueing, stars: AbstractSet[str]) -> Scheduler:
    """Its queue."""
    policy = Policy(
        auto_reduce=queueing.auto_reduce,
        auto_restore_s=queueing.auto_restore_s,
        strikes=queueing.strikes,
        pause=PausePolicy(default_s=queueing.pause_default_s, min_s=queueing.pause_min_s),
        gate_interval_s=queueing.gate_s,
        gate_age_s=queueing.gate_age_s,
        absorb=queueing.absorb,
    )
    return Scheduler(
        "api.example.com",
        policy,
        stars,
        limit=queueing.limit,
        cooldown_s=queueing.cooldown_s,
        learns_limit=queueing.learn_limit,
        learns_cooldown=queueing.learn_cooldown,
    )
