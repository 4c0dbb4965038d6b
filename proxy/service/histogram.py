# How often durations fell into which bucket.
#
# Rule: observing is on every request's path; sums over buckets, as Prometheus has them, are made by whoever reads.

import math
from bisect import bisect_left
from typing import Final

# Seconds: from a grant on the spot to the longest wait that clients bear. From half a second on, where people look, no
# bound is twice the one before: the history's percentiles are no finer. Their number costs a request nothing.
BUCKETS_S: Final[tuple[float, ...]] = (  # of no certain length: compiled, it would be made anew for each look
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 3.5, 5.0, 7.5),
    *(10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 450.0, 600.0, math.inf),
)
NOTHING = (0,) * len(BUCKETS_S)


class Series:
    """One provider's part of a histogram: how many there were in each of BUCKETS_S, and how long all were together."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = list(NOTHING)
        self.sum_s = 0.0


class Histogram:
    """How often a duration fell into each bucket, by provider."""

    __slots__ = ("series",)

    def __init__(self) -> None:
        self.series: dict[str, Series] = {}

    def observe(self, provider_id: str, seconds: float) -> None:
        series = self.series.get(provider_id)
        if series is None:
            series = self.series[provider_id] = Series()
        series.counts[bisect_left(BUCKETS_S, seconds)] += 1
        series.sum_s += seconds

    def counts(self, provider_id: str) -> tuple[int, ...]:
        """How many there were in each bucket so far."""
        series = self.series.get(provider_id)
        return NOTHING if series is None else tuple(series.counts)
