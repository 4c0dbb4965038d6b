# The strike ledger: refusals for concurrency are counted by the day, and each doubles the shortest pause.

import pytest
from desk import Desk

from proxy.core.model import PausePolicy
from proxy.core.strikes import DAY_MS, Strikes

NOON_MS = 20_000 * DAY_MS + DAY_MS // 2
UMANS = PausePolicy(default_s=30.0, min_s=5.0, max_s=600.0)


def after(count: int, policy: PausePolicy = UMANS, allowed: int | None = 10) -> float:
    strikes = Strikes()
    for _ in range(count):
        strikes.add(0.0, NOON_MS)
    return strikes.floor_s(policy, allowed, 0.0)


@pytest.mark.parametrize(
    ("count", "floor_s"), [(0, 0), (1, 5), (2, 10), (3, 20), (7, 320), (8, 600), (10, 600), (11, 600), (5000, 600)]
)
def test_each_strike_doubles_the_shortest_pause(count: int, floor_s: float) -> None:
    assert after(count) == floor_s


def test_last_strike_that_is_borne_pauses_for_the_longest_pause() -> None:
    assert [after(count, allowed=3) for count in (1, 2, 3)] == [5, 10, 600]


def test_doubling_begins_at_a_second_where_there_is_no_floor() -> None:
    assert [after(count, PausePolicy()) for count in (1, 2, 3)] == [1, 2, 4]


def test_where_nobody_counts_there_is_no_floor() -> None:
    assert after(9, allowed=None) == 0


def test_day_ends_at_midnight_utc() -> None:
    strikes = Strikes()
    strikes.add(100.0, NOON_MS)
    assert strikes.until_at == 100.0 + 43_200
    assert (strikes.today(43_299.0), strikes.today(43_300.0)) == (1, 0)
    strikes.add(43_300.0, NOON_MS + DAY_MS // 2)
    assert (strikes.today(43_300.0), strikes.until_at) == (1, 43_300.0 + 86_400)


def test_strikes_of_one_day_add_up_whenever_they_come() -> None:
    strikes = Strikes()
    strikes.add(100.0, NOON_MS)
    strikes.add(3700.0, NOON_MS + 3_600_000)
    assert strikes.today(3700.0) == 2


def test_machine_that_slept_over_midnight_begins_anew() -> None:
    strikes = Strikes()
    strikes.add(100.0, NOON_MS)
    strikes.add(101.0, NOON_MS + DAY_MS)
    assert strikes.today(101.0) == 1


def test_strikes_of_an_earlier_process_go_on() -> None:
    strikes = Strikes(4, 60.0)
    strikes.add(10.0, NOON_MS)
    assert strikes.today(10.0) == 5


def test_day_of_a_strike_ends_by_the_walls_clock() -> None:
    desk = Desk(4)
    desk.now = 100.0
    desk.ask("a")
    desk.refuse("a", "concurrency", at=NOON_MS)
    assert desk.scheduler.snapshot(desk.now).strikes_until_at == 100.0 + 43_200


def test_burst_of_refusals_is_as_many_strikes_and_the_pause_only_grows() -> None:
    desk = Desk(4, floor=5.0, strikes=10)
    desk.crowd("a b c d")
    told = [desk.refuse(name, "concurrency", 1.0, at=NOON_MS) for name in "abcd"]
    assert [sentences[-1] for sentences in told] == [
        "paused until 5: concurrency",
        "paused until 10: concurrency",
        "paused until 20: concurrency",
        "paused until 40: concurrency",
    ]
    assert (desk.scheduler.snapshot(0.0).strikes, desk.scheduler.snapshot(0.0).strikes_allowed) == (4, 10)


@pytest.mark.parametrize("kind", ["rate", "quota", "overload", "none"])
def test_other_refusals_are_no_strikes(kind: str) -> None:
    desk = Desk(4, floor=5.0, strikes=10)
    desk.ask("a")
    desk.refuse("a", kind, 1.0, at=NOON_MS)
    assert desk.scheduler.snapshot(0.0).strikes == 0


def test_strikes_lengthen_no_pause_for_rate() -> None:
    desk = Desk(4, floor=5.0, strikes=10, strikes_today=6, strikes_until_at=1000.0)
    desk.ask("a")
    assert desk.refuse("a", "rate", 7.0, at=NOON_MS)[-1] == "paused until 7: rate"


def test_strikes_count_also_where_no_limit_is_set() -> None:
    desk = Desk(None, strikes=10)
    desk.ask("a")
    desk.refuse("a", "concurrency", at=NOON_MS)
    assert desk.scheduler.snapshot(0.0).strikes == 1


# --- quota ---


def test_used_up_quota_is_shown_until_an_answer_shows_otherwise() -> None:
    desk = Desk(2)
    desk.crowd("a b")
    desk.refuse("a", "quota", 7200.0)
    assert desk.scheduler.snapshot(0.0).quota is not None
    desk.answer("b")  # it had been sent before
    assert desk.scheduler.snapshot(0.0).quota is not None
    desk.release("a")
    desk.ask("c")
    desk.scheduler.answered(desk.slots["c"], 0.0, success=False)  # a 404 shows nothing
    assert desk.scheduler.snapshot(0.0).quota is not None
    desk.answer("c")
    assert desk.scheduler.snapshot(0.0).quota is None


def test_used_up_quota_changes_nothing_for_the_others() -> None:
    desk = Desk(1)
    desk.crowd("a b")
    assert desk.refuse("a", "quota", 7200.0) == ["a refused by the provider: quota"]
    assert desk.release("a") == ["a released", "b granted"]
    assert (desk.scheduler.limit, desk.scheduler.notice) == (1, None)
