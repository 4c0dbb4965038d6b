# Minutes put together to the points of a plot. Pure.
#
# Rule 1: a point says what was seen, not what was likely: a step without a minute is no point.
# Rule 2: percentiles are of all durations of the step, not of the minutes' percentiles.

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

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


def points(minutes: Iterable[Minute], step_ms: int) -> list[Point]:
    """Of one provider's minutes, in the order of time, the points of every `step_ms` (counted from the epoch)."""
    return [
        _point(at, list(group), step_ms) for at, group in groupby(minutes, lambda each: each.at - each.at % step_ms)
    ]


def percentile(spans: Iterable[Span], share: float) -> int | None:
    """The duration in ms that `share` of all are not longer than; None if there are none. As exact as the spans are:
    within one, durations are taken to be spread evenly; one without a bound above counts as its bound below."""
    numbers: Counter[tuple[float, float]] = Counter()
    for low_ms, high_ms, number in spans:
        numbers[low_ms, low_ms if high_ms is None else high_ms] += number
    rank, reached = share * numbers.total(), 0
    for (low_ms, high_ms), number in sorted(numbers.items()):
        if number and reached + number >= rank:
            return int(low_ms + (high_ms - low_ms) * (rank - reached) / number + _ROUNDING_MS)
        reached += number
    return None


def _point(at: int, minutes: Sequence[Minute], step_ms: int) -> Point:
    seen_ms = sum(minute.seen_ms for minute in minutes)
    waits = [span for minute in minutes for span in minute.waits]
    first_bytes = [span for minute in minutes for span in minute.first_bytes]
    return Point(
        at=at,
        limit=minutes[-1].limit,
        in_flight_max=max(minute.in_flight_max for minute in minutes),
        in_flight_mean=_mean(sum(minute.in_flight_ms for minute in minutes), seen_ms),
        queued_max=max(minute.queued_max for minute in minutes),
        queued_mean=_mean(sum(minute.queued_ms for minute in minutes), seen_ms),
        oldest_wait_ms_max=max(minute.oldest_wait_ms for minute in minutes),
        granted=sum(minute.granted for minute in minutes),
        completed=sum(minute.completed for minute in minutes),
        wait_ms_p50=percentile(waits, 0.5),
        wait_ms_p95=percentile(waits, 0.95),
        first_byte_ms_p50=percentile(first_bytes, 0.5),
        first_byte_ms_p95=percentile(first_bytes, 0.95),
        rate_limited=sum(minute.rate_limited for minute in minutes),
        reduced=sum(minute.reduced for minute in minutes),
        paused_ms=min(sum(minute.paused_ms for minute in minutes), step_ms),
    )


def _mean(sum_ms: int, seen_ms: int) -> float:
    return round(sum_ms / seen_ms, 2) if seen_ms else 0.0
