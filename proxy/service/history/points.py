# What was seen as the points of a plot. Pure.
#
# Rule 1: a point says what was seen, not what was likely: a step without a minute is no point.
# Rule 2: percentiles are of all durations of the step, not of the minutes' percentiles.

from collections.abc import Sequence
from dataclasses import dataclass

from proxy.store import Minute, Span

_ROUNDING_MS = 1e-6  # 13,499.999999999998 is 13,500, and 0.95 of a wait on the spot still none


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What went on in the step that begins at `at`. Means are over the time that was seen; percentiles are None where
    there were no durations, and `limit`, the last one in force, where there was no limit."""

    at: int
    limit: int | None
    in_flight_max: int
    in_flight_mean: float
    queued_max: int
    queued_mean: float
    oldest_wait_ms_max: int
    granted: int
    completed: int
    wait_ms_p50: int | None
    wait_ms_p95: int | None
    first_byte_ms_p50: int | None
    first_byte_ms_p95: int | None
    rate_limited: int
    reduced: int
    paused_ms: int


def point(minute: Minute, step_ms: int) -> Point:
    """Of all that was seen in one step of `step_ms`."""
    return Point(
        at=minute.at,
        limit=minute.limit,
        in_flight_max=minute.in_flight_max,
        in_flight_mean=_mean(minute.in_flight_ms, minute.seen_ms),
        queued_max=minute.queued_max,
        queued_mean=_mean(minute.queued_ms, minute.seen_ms),
        oldest_wait_ms_max=minute.oldest_wait_ms,
        granted=minute.granted,
        completed=minute.completed,
        wait_ms_p50=percentile(minute.waits, 0.5),
        wait_ms_p95=percentile(minute.waits, 0.95),
        first_byte_ms_p50=percentile(minute.first_bytes, 0.5),
        first_byte_ms_p95=percentile(minute.first_bytes, 0.95),
        rate_limited=minute.rate_limited,
        reduced=minute.reduced,
        paused_ms=min(minute.paused_ms, step_ms),
    )


def percentile(spans: Sequence[Span], share: float) -> int | None:
    """The duration in ms that `share` of all are not longer than; None if there are none. `spans`: the shortest first.
    As exact as they are: within one, durations are taken to be spread evenly; one without a bound above counts as its
    bound below."""
    rank, reached = share * sum(span.number for span in spans), 0
    for low_ms, high_ms, number in spans:
        if number and reached + number >= rank:
            width_ms = 0.0 if high_ms is None else high_ms - low_ms
            return int(low_ms + width_ms * (rank - reached) / number + _ROUNDING_MS)
        reached += number
    return None


def _mean(sum_ms: int, seen_ms: int) -> float:
    return round(sum_ms / seen_ms, 2) if seen_ms else 0.0
