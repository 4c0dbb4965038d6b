# The minute that runs: what looks at it add up to, whatever the clocks do meanwhile.

from collections import defaultdict

import pytest

from proxy.core.model import Snapshot
from proxy.service.counts import Tally
from proxy.service.histogram import BUCKETS_S
from proxy.service.history.points import percentile
from proxy.service.history.recorder import Recorder
from proxy.store import MINUTE_MS, Minute, Span

AT = 1_700_000_040_000  # a minute begins


def snapshot(provider_id: str = "p", **changed: object) -> Snapshot:
    values: dict[str, object] = {
        "limit": 4,
        "held": 0,
        "cooling": 0,
        "queued": 0,
        "paused_until_at": None,
        "pause_cause": None,
        "cooldown_s": 0.35,
        "auto_reduced_from": None,
        "notice": None,
        "oldest_wait_s": None,
        "last_rate_limit": None,
        "evidence": (),
        "gate": None,
    }
    return Snapshot(provider_id=provider_id, **{**values, **changed})  # type: ignore[arg-type]


def counts(**by_seconds: int) -> tuple[int, ...]:
    """How many in the bucket that ends at so many milliseconds: `ms_10=3`."""
    found = [0] * len(BUCKETS_S)
    for name, number in by_seconds.items():
        found[BUCKETS_S.index(int(name.removeprefix("ms_")) / 1000)] = number
    return tuple(found)


class Bench:
    """A recorder with a clock of each kind that a test turns on."""

    def __init__(self, wall_ms: int = AT) -> None:
        self.tallies: defaultdict[str, Tally] = defaultdict(Tally)
        self.now, self.wall_ms = 1000.0, wall_ms
        self.recorder = Recorder(self.tallies.__getitem__, self.now, wall_ms)
        self.over: list[Minute] = []

    def look(self, *snapshots: Snapshot) -> None:
        self.over += self.recorder.look(snapshots, self.now, self.wall_ms)

    def go_on(self, seconds: float, *snapshots: Snapshot) -> None:
        """A second at a time, and a look after each."""
        while seconds > 0:
            step_s = min(1.0, seconds)
            self.now += step_s
            self.wall_ms += round(1000 * step_s)
            self.look(*snapshots)
            seconds -= step_s

    def present(self, provider_id: str = "p") -> Minute:
        minute = self.recorder.present(provider_id)
        assert minute is not None
        return minute


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_means_are_over_the_time_that_a_state_lasted(bench: Bench) -> None:
    bench.look(snapshot(held=2, cooling=1, queued=5, oldest_wait_s=7.0))
    bench.go_on(10, snapshot(held=2, cooling=1, queued=5, oldest_wait_s=17.0))
    bench.look(snapshot(held=1))
    bench.go_on(20, snapshot(held=1))
    minute = bench.present()
    assert (minute.seen_ms, minute.in_flight_max, minute.in_flight_ms) == (30_000, 3, 3 * 10_000 + 20_000)
    assert (minute.queued_max, minute.queued_ms, minute.oldest_wait_ms) == (5, 50_000, 17_000)
    assert not bench.over


def test_minute_is_over_when_the_wall_says_so_and_the_next_begins_with_what_is(bench: Bench) -> None:
    bench.look(snapshot(held=4, queued=9, oldest_wait_s=60.0))
    bench.go_on(60, snapshot(held=1, limit=3))
    (first,) = bench.over
    assert (first.at, first.limit, first.seen_ms) == (AT, 3, 60_000)
    assert (first.in_flight_max, first.in_flight_ms) == (4, 4000 + 59_000)
    bench.go_on(60, snapshot(held=1, limit=3))
    second = bench.over[1]
    assert (second.at, second.in_flight_max, second.in_flight_ms) == (AT + MINUTE_MS, 1, 60_000)
    assert (second.queued_max, second.oldest_wait_ms) == (0, 0)


def test_counters_are_told_as_differences(bench: Bench) -> None:
    bench.look(snapshot(oldest_wait_s=10.0))
    bench.tallies["p"] = Tally(
        waits=counts(ms_1=3, ms_10000=1), first_bytes=counts(ms_500=2), completed=2, rate_limited=1, reduced=1
    )
    bench.go_on(60, snapshot(oldest_wait_s=10.0))
    bench.tallies["p"] = bench.tallies["p"]._replace(waits=counts(ms_1=3, ms_10000=2), completed=5)
    bench.go_on(60, snapshot(oldest_wait_s=10.0))
    first, second = bench.over
    assert (first.granted, first.completed, first.rate_limited, first.reduced) == (4, 2, 1, 1)
    assert first.waits == (Span(0.0, 1.0, 3), Span(7500.0, 10_000.0, 1))
    assert first.first_bytes == (Span(250.0, 500.0, 2),)
    assert (second.granted, second.completed, second.rate_limited, second.reduced) == (1, 3, 0, 0)
    assert (second.waits, second.first_bytes) == ((Span(7500.0, 10_000.0, 1),), ())


def test_wait_over_the_last_bound_has_no_upper_one(bench: Bench) -> None:
    bench.tallies["p"] = Tally(waits=(*[0] * (len(BUCKETS_S) - 1), 1))
    bench.look(snapshot())
    assert bench.present().waits == (Span(600_000.0, None, 1),)


@pytest.mark.parametrize(
    ("seen_s", "waits", "longest_ms", "last"),
    [
        pytest.param(73.084, counts(ms_60000=3, ms_90000=5), 73_084, Span(60_000.0, 73_084.0, 5), id="seen"),
        pytest.param(200.0, counts(ms_90000=5), 200_000, Span(60_000.0, 90_000.0, 5), id="one waits for longer still"),
        pytest.param(59.6, counts(ms_90000=5), 60_600, Span(60_000.0, 60_600.0, 5), id="until the next look"),
        pytest.param(20.0, counts(ms_90000=5), 60_000, Span(60_000.0, 60_000.0, 5), id="not seen for what it was"),
        pytest.param(0.0, counts(ms_500=5), 500, Span(250.0, 500.0, 5), id="between two looks"),
        pytest.param(0.0, counts(ms_1=5), 0, Span(0.0, 1.0, 5), id="on the spot"),
        pytest.param(700.0, (*[0] * (len(BUCKETS_S) - 1), 1), 700_000, Span(600_000.0, 700_000.0, 1), id="for ever"),
    ],
)
def test_no_percentile_of_waits_is_above_the_longest(
    bench: Bench, seen_s: float, waits: tuple[int, ...], longest_ms: int, last: Span
) -> None:
    bench.look(snapshot(queued=1, oldest_wait_s=seen_s))
    bench.tallies["p"] = Tally(waits=waits)
    minute = bench.recorder.present("p")
    assert minute is not None
    assert (minute.oldest_wait_ms, minute.waits[-1]) == (longest_ms, last)
    most_ms = percentile(minute.waits, 1.0)
    assert most_ms is not None
    assert most_ms <= max(longest_ms, 1)


def test_what_fell_between_two_looks_was_in_flight_all_the_same(bench: Bench) -> None:
    bench.look(snapshot())
    bench.tallies["p"] = Tally(waits=counts(ms_1=7))
    bench.go_on(60, snapshot())
    assert (bench.over[0].in_flight_max, bench.over[0].in_flight_ms) == (1, 0)


def test_pause_counts_until_its_end_even_if_nobody_looks_just_then(bench: Bench) -> None:
    bench.look(snapshot(paused_until_at=bench.now + 2.5))
    bench.go_on(2, snapshot(paused_until_at=1002.5))
    bench.go_on(8, snapshot())
    assert bench.present().paused_ms == 2500


def test_provider_that_comes_later_is_recorded_from_then_on(bench: Bench) -> None:
    bench.look(snapshot())
    bench.go_on(30, snapshot())
    bench.look(snapshot("q", held=1))
    bench.go_on(30, snapshot(), snapshot("q", held=1))
    assert {minute.provider_id: minute.in_flight_ms for minute in bench.over} == {"p": 0, "q": 30_000}
    assert bench.recorder.present("r") is None


def test_idle_provider_is_not_asked_for_until_the_minute_ends(bench: Bench) -> None:
    assert bench.recorder.is_idle("p")
    bench.look(snapshot())
    assert bench.recorder.is_idle("p")
    for busy in (snapshot(held=1), snapshot(queued=1), snapshot(paused_until_at=2000.0)):
        bench.look(busy)
        assert not bench.recorder.is_idle("p")
    assert not bench.recorder.is_over(AT + MINUTE_MS - 1)
    assert bench.recorder.is_over(AT + MINUTE_MS)


def test_machine_that_slept_has_seen_nothing_meanwhile(bench: Bench) -> None:
    """Whether the monotonic clock slept too or went on: the states of before are not stretched over the night."""
    for monotonic_s in (1.0, 8 * 3600.0):
        bench = Bench()
        bench.look(snapshot(held=4))
        bench.go_on(10, snapshot(held=4))
        bench.now += monotonic_s
        bench.wall_ms += 8 * 3600 * 1000
        bench.look(snapshot(held=1))
        (evening,) = bench.over
        assert evening.at == AT
        assert evening.seen_ms <= 12_000
        assert evening.in_flight_ms == 4 * evening.seen_ms
        morning = bench.present()
        assert (morning.at, morning.seen_ms) == (AT + 8 * 3600 * 1000, 0)


def test_clock_that_is_set_back_ends_the_minute_and_takes_nothing_away(bench: Bench) -> None:
    bench.look(snapshot(held=1))
    bench.go_on(90, snapshot(held=1))
    bench.wall_ms -= 3600 * 1000
    bench.go_on(1, snapshot(held=1))
    first, second = bench.over
    assert (first.at, second.at) == (AT, AT + MINUTE_MS)
    assert (second.seen_ms, second.in_flight_ms) == (31_000, 31_000)
    assert bench.present().at == AT - 3600 * 1000 + MINUTE_MS
    bench.go_on(30, snapshot(held=1))
    assert all(minute.seen_ms >= 0 and minute.in_flight_ms >= 0 for minute in bench.over)


def test_monotonic_clock_that_stumbles_takes_nothing_away(bench: Bench) -> None:
    bench.look(snapshot(held=2))
    bench.now -= 5.0
    bench.look(snapshot(held=2))
    assert (bench.present().seen_ms, bench.present().in_flight_ms) == (0, 0)


def test_everything_is_every_provider_as_far_as_it_goes(bench: Bench) -> None:
    bench.look(snapshot(held=1), snapshot("q"))
    bench.go_on(5, snapshot(held=1))
    assert [(each.provider_id, each.in_flight_ms, each.seen_ms) for each in bench.recorder.everything()] == [
        ("p", 5000, 5000),
        ("q", 0, 5000),
    ]
    assert repr(bench.recorder) == f"<Recorder 2 providers, 5 s of the minute from {AT} seen>"
