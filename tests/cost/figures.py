# What a unit of work costs, and whether it has grown.
#
# Rule 1: medians over the units: what happens now and then (a sweep, a look at the configuration) is no unit's.
# Rule 2: opcodes tell how much Python there is, calls how much of it is calling, writes how often the system is called
#         to send something. Each may grow by GROWTH.

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .meter import Counts

GROWTH = 0.15
COUNTED = ("opcodes", "calls", "writes")
TOLD = 0.01  # of all opcodes: functions with less are not kept one by one
GREW_MOST = 8  # functions that a failure names


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of one kind of work, for one unit. `functions` are opcodes of those that have a share worth telling."""

    opcodes: float
    calls: float
    writes: float
    functions: dict[str, float]


def figures(units: Sequence[Counts]) -> Figures:
    opcodes = statistics.median(unit.opcodes.total() for unit in units)
    names = {name for unit in units for name in unit.opcodes}
    functions = Counter({name: statistics.median(unit.opcodes[name] for unit in units) for name in names})
    return Figures(
        opcodes=opcodes,
        calls=statistics.median(unit.calls.total() for unit in units),
        writes=statistics.median(unit.writes for unit in units),
        functions={name: count for name, count in functions.most_common() if count >= TOLD * opcodes},
    )


def told(found: Figures) -> str:
    return ", ".join(f"{getattr(found, what):,.0f} {what}" for what in COUNTED)


def growth(now: float, before: float) -> float:
    return now / before - 1


def grown(now: Figures, before: Figures) -> str:
    """What is too dear, and where it grew; empty if nothing is."""
    said = [
        f"{getattr(before, what):,.0f} → {getattr(now, what):,.0f} {what} ({share:+.0%}; {GROWTH:.0%} are allowed)"
        for what in COUNTED
        if (share := growth(getattr(now, what), getattr(before, what))) > GROWTH
    ]
    if not said:
        return ""
    who = _who_grew(now, before)
    return "\n".join([*said, *(["Opcodes of the functions that grew most:", *who] if who else [])])


def cheaper(now: Figures, before: Figures) -> str:
    """What has become so much cheaper that its ceiling holds nothing any more; empty if nothing has."""
    return ", ".join(
        f"{getattr(before, what):,.0f} → {getattr(now, what):,.0f} {what}"
        for what in COUNTED
        if growth(getattr(now, what), getattr(before, what)) < -GROWTH
    )


def _who_grew(now: Figures, before: Figures) -> list[str]:
    """By how much at least: one that was not kept may have had nearly its share."""
    unkept = int(TOLD * before.opcodes)
    more = Counter({name: count - before.functions.get(name, unkept) for name, count in now.functions.items()})
    return [
        f"  {by:+6,.0f}  {name} ({_kept(before, name, unkept)} → {now.functions[name]:,.0f})"
        for name, by in more.most_common(GREW_MOST)
        if by > 0
    ]


def _kept(before: Figures, name: str, unkept: int) -> str:
    return f"{before.functions[name]:,.0f}" if name in before.functions else f"at most {unkept:,}"
