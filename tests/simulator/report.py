# What a run shows: figures for machines, a table for people.

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from .simulation import Simulation


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def figures(run: Simulation) -> dict[str, Any]:
    """Everything that was measured; seconds where nothing else is said."""
    meter, account, setup = run.meter, run.account, run.setup
    waits = [wait for each in meter.waits.values() for wait in each]
    proxy = run.proxy
    return {
        "way": setup.way,
        "agents": setup.load.agents,
        "slots": run.slots,
        "seed": setup.seed,
        "calls": meter.calls,
        "given_up": meter.given_up,
        "refused": _counted(str(one.reason) for one in meter.refused),
        "refused_total": len(meter.refused),
        "refused_that_had_waited": sum(one.waited for one in meter.refused),
        "read_as": _counted(f"{one.reason} as {one.read_as}" for one in meter.refused if one.read_as),
        "own_refusals": dict(meter.own),
        "strikes": account.strikes.count,
        "strikes_most_in_a_day": account.strikes.most_in_a_day,
        "lockouts": account.strikes.lockouts,
        "peak_at_provider": account.seen.peak,
        "makespan": round(run.clock.elapsed_s, 1),
        "ideal": round(run.ideal_s, 1),
        "makespan_of_ideal": round(run.clock.elapsed_s / run.ideal_s, 3),
        "in_use_of_what_cooldown_allows": round(meter.in_use, 4),
        "in_use_of_what_provider_allows": round(meter.of_possible, 4),
        "paused_share": round(meter.paused_s / meter.waiting_s, 4) if meter.waiting_s else 0.0,
        "wait": _waits(waits),
        "wait_by_agent": {str(agent): _waits(each) for agent, each in sorted(meter.waits.items())},
        "inversions": meter.inversions,
        "over_limit_grants": meter.over,
        "polls": account.seen.polls,
        "limit_at_end": None if proxy is None else proxy.scheduler.limit,
        "cooldown_at_end": None if proxy is None else round(proxy.scheduler.cooldown_s, 3),
        "scheduler_calls": None if proxy is None else proxy.steps,
        "scheduler_calls_a_minute": None if proxy is None else round(60 * proxy.steps / run.cpu_s),
        "events": [{"at": round(event.at, 1), "what": event.what} for event in meter.events],
    }


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _waits(values: list[float]) -> dict[str, float]:
    return {
        "mean": round(sum(values) / len(values), 2) if values else 0.0,
        "p95": round(percentile(values, 0.95), 2),
        "longest": round(max(values, default=0.0), 2),
    }


_LINES = {
    "calls": "calls answered",
    "given_up": "  errors that an agent saw",
    "refused_total": "refused by the provider",
    "refused": "",
    "refused_that_had_waited": "  calls that had waited",
    "read_as": "  read as",
    "own_refusals": "refused by the proxy",
    "strikes": "strikes",
    "strikes_most_in_a_day": "  most in 24 hours",
    "lockouts": "  lock-outs",
    "makespan": "makespan, s",
    "makespan_of_ideal": "  of the ideal",
    "in_use_of_what_cooldown_allows": "slots in use while anyone waits",
    "in_use_of_what_provider_allows": "  of what the provider would take",
    "paused_share": "  time paused, of that",
    "wait": "waits: mean, p95, longest, s",
    "inversions": "overtaken for over 50 ms",
    "over_limit_grants": "grants over the limit",
    "polls": "usage polls",
    "limit_at_end": "limit at the end",
    "cooldown_at_end": "cooldown at the end, s",
    "scheduler_calls_a_minute": "calls of the scheduler a minute",
}
_SHARES = {"makespan_of_ideal", "in_use_of_what_cooldown_allows", "in_use_of_what_provider_allows", "paused_share"}


def table(runs: Sequence[dict[str, Any]]) -> str:
    """The runs side by side, and the agents of the first."""
    rows = [("", [run["way"] for run in runs])]
    for key, title in _LINES.items():
        cells = [_cell(key, run[key]) for run in runs]
        deepest = max(map(len, cells))
        rows += [
            (title if not at else "", [cell[at] if at < len(cell) else "" for cell in cells]) for at in range(deepest)
        ]
    lines = [f"{title:<36}" + "".join(f"{cell:>28}" for cell in cells) for title, cells in rows]
    first = runs[0]
    lines.append(f"\nwaits by agent ({first['way']})")
    lines += [f"{agent:>36}{_cell('wait', waits)[0]:>28}" for agent, waits in first["wait_by_agent"].items()]
    return "\n".join(lines)


def _cell(key: str, value: Any) -> list[str]:
    """As lines."""
    if value is None:
        return ["–"]
    if key == "wait":
        return [" ".join(f"{value[name]:>8,.1f}" for name in ("mean", "p95", "longest"))]
    if isinstance(value, dict):
        return [f"{name} {count:,}" for name, count in value.items()]
    return [f"{value:.1%}" if key in _SHARES else f"{value:,}"]
