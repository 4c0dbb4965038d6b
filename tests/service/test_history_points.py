# Minutes become points: sums, means over what was seen, percentiles over all durations.

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from proxy.service.histogram import BUCKETS_S
from proxy.service.history.points import Point, percentile, point
from proxy.store import MINUTE_MS, Minute, Span, steps

AT = 1_700_000_040_000 - 1_700_000_040_000 % (10 * MINUTE_MS)  # ten minutes begin


def minute(number: int, **changed: object) -> Minute:
    values: dict[str, object] = {"seen_ms": 60_000, "limit": 4}
    return Minute(provider_id="p", at=AT + number * MINUTE_MS, **{**values, **changed})  # type: ignore[arg-type]


def points(minutes: Sequence[Minute], step_ms: int) -> list[Point]:
    return [point(each, step_ms) for each in steps(minutes, step_ms)]


def test_a_minute_is_a_point() -> None:
    (point,) = points(
        [
            minute(
                0,
                in_flight_max=4,
                in_flight_ms=200_000,
                queued_max=7,
                queued_ms=20_000,
                oldest_wait_ms=31_000,
                granted=12,
                completed=11,
                rate_limited=2,
                reduced=1,
                paused_ms=30_000,
                waits=(Span(0.0, 1.0, 10), Span(10_000.0, 15_000.0, 2)),
                first_bytes=(Span(500.0, 750.0, 11),),
            )
        ],
        MINUTE_MS,
    )
    assert (point.at, point.limit, point.in_flight_max, point.in_flight_mean) == (AT, 4, 4, 3.33)
    assert (point.queued_max, point.queued_mean, point.oldest_wait_ms_max) == (7, 0.33, 31_000)
    assert (point.granted, point.completed, point.rate_limited, point.reduced, point.paused_ms) == (
        12,
        11,
        2,
        1,
        30_000,
    )
    assert (point.wait_ms_p50, point.wait_ms_p95) == (0, 13_500)
    assert (point.first_byte_ms_p50, point.first_byte_ms_p95) == (625, 737)


def test_steps_are_counted_from_the_epoch_and_gaps_stay_gaps() -> None:
    made = points([minute(8), minute(9), minute(10), minute(35)], 10 * MINUTE_MS)
    assert [point.at for point in made] == [AT, AT + 10 * MINUTE_MS, AT + 30 * MINUTE_MS]
    assert points([], MINUTE_MS) == []


def test_mean_of_a_step_is_over_what_was_seen_of_it() -> None:
    (point,) = points([minute(1, in_flight_ms=180_000), minute(2, seen_ms=30_000, in_flight_ms=0)], 10 * MINUTE_MS)
    assert point.in_flight_mean == 2.0
    (unseen,) = points([minute(1, seen_ms=0, in_flight_max=3)], MINUTE_MS)
    assert (unseen.in_flight_mean, unseen.in_flight_max) == (0.0, 3)


def test_what_two_processes_saw_of_one_minute_adds_up() -> None:
    before = minute(3, seen_ms=40_000, granted=5, in_flight_max=4, in_flight_ms=40_000, limit=4)
    after = minute(3, seen_ms=20_000, granted=1, in_flight_max=1, in_flight_ms=20_000, limit=None)
    (point,) = points([before, after], MINUTE_MS)
    assert (point.granted, point.in_flight_max, point.in_flight_mean, point.limit) == (6, 4, 1.0, None)


def test_pause_is_not_longer_than_its_step() -> None:
    """A clock that was set back lets a minute be seen twice."""
    (point,) = points([minute(3, paused_ms=60_000), minute(3, paused_ms=60_000)], MINUTE_MS)
    assert point.paused_ms == MINUTE_MS


def test_durations_of_a_step_are_all_of_its_minutes_whatever_their_bounds() -> None:
    first = minute(1, waits=(Span(100.0, 200.0, 25), Span(200.0, 400.0, 25), Span(600_000.0, None, 1)))
    second = minute(2, waits=(Span(0.0, 1.0, 1), Span(100.0, 200.0, 25), Span(200.0, 300.0, 25)))
    (both,) = steps([first, second], 10 * MINUTE_MS)
    assert both.waits == (
        *(Span(0.0, 1.0, 1), Span(100.0, 200.0, 50), Span(200.0, 300.0, 25), Span(200.0, 400.0, 25)),
        Span(600_000.0, None, 1),
    )
    assert point(both, 10 * MINUTE_MS).wait_ms_p50 == 200


def test_no_duration_has_no_percentile() -> None:
    (point,) = points([minute(0)], MINUTE_MS)
    assert (point.wait_ms_p50, point.wait_ms_p95, point.first_byte_ms_p50, point.first_byte_ms_p95) == (None,) * 4


@pytest.mark.parametrize(
    ("spans", "share", "expected"),
    [
        ([Span(0.0, 1.0, 100)], 0.5, 0),
        ([Span(100.0, 250.0, 1)], 0.5, 175),
        ([Span(100.0, 200.0, 50), Span(200.0, 400.0, 50)], 0.5, 200),
        ([Span(100.0, 200.0, 50), Span(200.0, 400.0, 50)], 0.95, 380),
        ([Span(600_000.0, None, 3)], 0.95, 600_000),
        ([Span(0.0, 1.0, 9), Span(600_000.0, None, 1)], 0.95, 600_000),
        ([Span(0.0, 1.0, 0)], 0.5, None),
    ],
)
def test_percentile_is_interpolated_within_its_span(spans: Sequence[Span], share: float, expected: int | None) -> None:
    assert percentile(spans, share) == expected


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_percentile_is_off_by_less_than_the_width_of_a_bucket(share: float) -> None:
    chance = random.Random(3)
    waits_s = sorted(chance.lognormvariate(3.0, 1.0) for _ in range(2000))
    bounds = [0.0, *BUCKETS_S]
    spans = [
        Span(low * 1000, None if high == float("inf") else high * 1000, sum(low < wait <= high for wait in waits_s))
        for low, high in pairwise(bounds)
    ]
    exact_ms = waits_s[int(share * len(waits_s))] * 1000
    found_ms = percentile(spans, share)
    assert found_ms is not None
    assert abs(found_ms - exact_ms) < exact_ms * 0.5
