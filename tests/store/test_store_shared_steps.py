# What several replicas saw of one provider: what is of the provider is taken once, what is their own is added up.

import pytest

from proxy.store import MINUTE_MS, Minute, Span, steps
from proxy.store.shared_steps import shared_steps

NOW = 1_700_000_040_000
TEN = 10 * MINUTE_MS
START = NOW - NOW % TEN


def seen(
    replica: str, at: int = NOW, limit: int | None = 4, seen_ms: int = 60_000, **values: object
) -> tuple[str, Minute]:
    return replica, Minute(provider_id="p", at=at, limit=limit, seen_ms=seen_ms, **values)  # type: ignore[arg-type]


def numbers(minute: Minute, *names: str) -> list[object]:
    return [getattr(minute, name) for name in names]


def test_nothing_seen_is_no_step() -> None:
    assert shared_steps([], MINUTE_MS) == []


@pytest.mark.parametrize("step_ms", [MINUTE_MS, TEN])
def test_one_replica_alone_is_what_its_own_steps_are(minute, step_ms: int) -> None:
    minutes = [minute(NOW), minute(NOW, limit=2, seen_ms=9), minute(NOW + MINUTE_MS), minute(NOW + TEN, granted=3)]
    assert shared_steps([("a", each) for each in minutes], step_ms) == steps(minutes, step_ms)


def test_counts_are_added_and_the_greatest_is_kept() -> None:
    own = {"granted": 3, "completed": 2, "rate_limited": 1, "reduced": 1}
    other = {"granted": 30, "completed": 20, "rate_limited": 10, "reduced": 0}
    (step,) = shared_steps(
        [
            seen("a", in_flight_max=4, queued_max=1, oldest_wait_ms=10, **own),
            seen("b", in_flight_max=3, queued_max=5, oldest_wait_ms=9, **other),
        ],
        MINUTE_MS,
    )
    assert numbers(step, *own) == [33, 22, 11, 1]
    assert numbers(step, "in_flight_max", "queued_max", "oldest_wait_ms") == [4, 5, 10]


def test_means_are_told_by_who_saw_the_most() -> None:
    means = ("seen_ms", "in_flight_ms", "queued_ms", "paused_ms")
    (step,) = shared_steps(
        [
            seen("a", seen_ms=20_000, in_flight_ms=80_000, queued_ms=900_000, paused_ms=20_000),
            seen("b", seen_ms=60_000, in_flight_ms=120_000, queued_ms=60_000, paused_ms=30_000),
            seen("c", seen_ms=59_999, in_flight_ms=240_000, queued_ms=70_000, paused_ms=40_000),
        ],
        MINUTE_MS,
    )
    assert numbers(step, *means) == [60_000, 120_000, 60_000, 30_000]


def test_who_saw_the_most_is_asked_of_the_whole_step() -> None:
    """b saw more of each minute that it saw at all; a saw more of the ten."""
    (step,) = shared_steps(
        [
            *(seen("a", START + number * MINUTE_MS, seen_ms=50_000, in_flight_ms=50_000) for number in range(10)),
            *(seen("b", START + number * MINUTE_MS, seen_ms=60_000, in_flight_ms=240_000) for number in range(3)),
        ],
        TEN,
    )
    assert numbers(step, "at", "seen_ms", "in_flight_ms") == [START, 500_000, 500_000]


def test_spans_of_all_are_added_up() -> None:
    (step,) = shared_steps(
        [
            seen("a", waits=(Span(0, 1, 2), Span(5, None, 1)), first_bytes=(Span(1, 2, 3),)),
            seen("b", waits=(Span(0, 1, 40),)),
        ],
        MINUTE_MS,
    )
    assert (step.waits, step.first_bytes) == ((Span(0, 1, 42), Span(5, None, 1)), (Span(1, 2, 3),))


@pytest.mark.parametrize(("last", "limit"), [(3, 3), (None, None)])
def test_limit_is_the_one_that_was_said_last(last: int | None, limit: int | None) -> None:
    found = shared_steps([seen("b", limit=9, seen_ms=60_000), seen("a", limit=last, seen_ms=1)], MINUTE_MS)
    assert [step.limit for step in found] == [limit]


def test_each_replica_may_have_steps_that_others_have_not() -> None:
    found = shared_steps([seen("a", granted=1), seen("b", NOW + TEN, granted=2), seen("c", granted=4)], MINUTE_MS)
    assert [(step.at, step.granted) for step in found] == [(NOW, 5), (NOW + TEN, 2)]
