# The arithmetic of a row: medians with their spread, compared with what stands beside them in the same round.
#
# Rule 1: a comparison is made round by round, between neighbours in time, and its median is told: what the machine did
#         in one round it did to both.
# Rule 2: nothing here measures anything.

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

AT_ITS_END = 0.9  # of its core: a front that has so little time to spare is measured as it should be
PACE_KEPT = 0.98  # of a pace: less is another work than the one that is told of

IN_KERNEL = "  of it in the kernel"  # the label of a row that tells how much of the row before it that is

Compared = Literal["times", "cheaper", "added", "itself"]


_COMPARE: dict[Compared, Callable[[float, float], float]] = {
    "times": lambda mine, other: mine / other,
    "cheaper": lambda mine, other: other / mine,
    "added": lambda mine, other: mine - other,
}


@dataclass(frozen=True, slots=True)
class Spread:
    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that `share` of all do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Medians of all rounds: shares of a core in use by the front, by the load and by strangers. `kept` is the share of
    the pace that the load was to keep, None where it went as fast as the front let it."""

    front: float
    load: float
    strangers: float
    kept: float | None = None

    @property
    def was_held_up(self) -> bool:
        """By the load, which had more to do than a front with time to spare; or by what kept it from its pace."""
        return self.load > self.front < AT_ITS_END if self.kept is None else self.kept < PACE_KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`values` are one a round, by front. What `must` and `goal` bound is `compared`: Slotgate's as a multiple of
    `base`'s ("times"), the other way round ("cheaper"), how far above it ("added"), or by itself. `lost` counts units
    that did not arrive whole. `size` is a scale row's place on its axis; `watched` how the work went, by front."""

    key: str
    label: str
    unit: str
    values: dict[str, list[float]]
    compared: Compared = "itself"
    base: str = "haproxy"
    must: float | None = None
    goal: float | None = None
    at_least: bool = False
    lost: int | None = None
    size: int | None = None
    watched: dict[str, Watched] = field(default_factory=dict)

    def comparison(self) -> Spread | None:
        """None where the base was not measured."""
        ours = self.values.get("slotgate", [])
        if self.compared == "itself":
            return spread(ours) if ours else None
        theirs = self.values.get(self.base, [])
        if not ours or not theirs:
            return None
        compare = _COMPARE[self.compared]
        return spread([compare(mine, other) for mine, other in zip(ours, theirs, strict=True)])

    def verdict(self) -> str:
        """goal, must or missed; empty without a bound or without a figure."""
        found = self.comparison()
        if found is None or (self.must is None and self.goal is None):
            return ""
        return "goal" if self._within(found, self.goal) else "must" if self._within(found, self.must) else "missed"

    def _within(self, found: Spread, bound: float | None) -> bool:
        return bound is not None and (found.median >= bound if self.at_least else found.median <= bound)
