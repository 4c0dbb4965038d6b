# auto_restore: a reduced limit goes up again by itself, a step at a time.

from desk import Desk

from proxy.core.model import RateLimit

HALF_HOUR, DAY_S = 1800.0, 86_400.0


def reduced(by: int = 1, limit: int = 4, **start: object) -> Desk:
    """At 0 s, without anybody in flight or a pause."""
    desk = Desk(limit, cap=0.0, **{"auto_restore_s": HALF_HOUR, **start})  # type: ignore[arg-type]
    for number in range(by):
        refused(desk, f"r{number}")
    return desk


def refused(desk: Desk, name: str) -> list[str]:
    desk.ask(name)
    told = desk.refuse(name, "concurrency")
    desk.release(name)
    return told


def test_after_so_long_without_a_rate_limit_the_limit_goes_up_by_one() -> None:
    desk = reduced(by=2)
    assert desk.deadline == HALF_HOUR
    assert desk.at(HALF_HOUR - 1) == []
    assert desk.at(HALF_HOUR) == ["limit 3 by auto_restore"]
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (3, 4)
    assert desk.deadline == 2 * HALF_HOUR


def test_each_step_is_evidence() -> None:
    desk = reduced(by=2)
    desk.at(HALF_HOUR)
    seen = desk.scheduler.snapshot(HALF_HOUR).evidence[-1]
    assert (seen.at, seen.status, seen.kind, seen.in_flight) == (1_800_000, 0, "restored", 0)


def test_last_step_ends_the_reduction() -> None:
    desk = reduced()
    desk.at(HALF_HOUR)
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from, desk.scheduler.notice) == (4, None, None)
    assert desk.scheduler.snapshot(HALF_HOUR).evidence == ()
    assert desk.deadline is None


def test_step_lets_a_waiter_go() -> None:
    desk = reduced(limit=2)
    desk.crowd("a b")
    assert desk.at(HALF_HOUR) == ["limit 2 by auto_restore", "b granted"]


def test_every_rate_limit_begins_the_time_anew() -> None:
    desk = reduced(by=2)
    desk.at(1000.0)
    desk.ask("a")
    desk.refuse("a", "rate")
    assert desk.at(HALF_HOUR) == []
    assert desk.deadline == 1000.0 + HALF_HOUR


def test_overload_and_quota_do_not() -> None:
    desk = reduced()
    desk.ask("a")
    desk.refuse("a", "overload", status=529)
    desk.refuse("a", "quota")
    assert desk.deadline == HALF_HOUR


def test_refusal_soon_after_a_step_takes_it_back_and_doubles_the_time() -> None:
    desk = reduced()
    desk.at(HALF_HOUR)
    desk.now = HALF_HOUR + 60.0
    assert "reduced to 3 from 4" in refused(desk, "a")
    assert desk.deadline == desk.now + 2 * HALF_HOUR
    assert desk.scheduler.snapshot(desk.now).restore_after_s == 2 * HALF_HOUR


def test_burst_after_a_step_doubles_once() -> None:
    desk = reduced()
    desk.at(HALF_HOUR)
    desk.crowd("a b c")
    for name in "abc":
        desk.refuse(name, "concurrency")
    assert desk.scheduler.snapshot(desk.now).restore_after_s == 2 * HALF_HOUR


def test_step_that_held_brings_the_time_back_to_what_is_configured() -> None:
    desk = reduced(restore_after_s=4 * HALF_HOUR)
    desk.at(4 * HALF_HOUR)
    desk.now = 9 * HALF_HOUR
    refused(desk, "a")
    assert desk.deadline == 10 * HALF_HOUR


def test_time_is_never_longer_than_a_day() -> None:
    desk = reduced(restore_after_s=80_000.0)
    desk.at(80_000.0)
    refused(desk, "a")
    assert desk.scheduler.snapshot(desk.now).restore_after_s == 86_400.0


def test_without_the_option_nothing_goes_up() -> None:
    desk = reduced(auto_restore_s=None)
    assert desk.deadline is None
    assert desk.at(10 * HALF_HOUR) == []
    assert desk.scheduler.limit == 3


def test_reduction_of_an_earlier_process_goes_up_after_the_whole_time() -> None:
    desk = Desk(3, auto_reduced_from=4, auto_restore_s=HALF_HOUR)
    desk.at(7.0)
    assert desk.deadline == 7.0 + HALF_HOUR


def test_person_who_sets_the_limit_ends_it() -> None:
    desk = reduced(restore_after_s=4 * HALF_HOUR)
    desk.limit(2)
    assert desk.deadline is None
    refused(desk, "a")
    assert desk.deadline == HALF_HOUR


def test_option_that_a_reload_brings_counts_from_then() -> None:
    desk = reduced(auto_restore_s=None)
    desk.now = 100.0
    desk.policy(auto_restore_s=60.0)
    assert desk.deadline == 160.0
    desk.policy(auto_restore_s=60.0)
    assert desk.at(160.0) == ["limit 4 by auto_restore"]
    refused(desk, "a")
    desk.policy(auto_restore_s=None)
    assert desk.deadline is None


def test_no_step_is_tried_once_half_of_the_strikes_of_the_day_are_used() -> None:
    desk = reduced(strikes=4, strikes_today=1, strikes_until_at=2.5 * HALF_HOUR)
    assert desk.scheduler.snapshot(0.0).strikes == 2
    desk.scheduler._refusals.strikes.until_at = 2.5 * HALF_HOUR  # the day ends then
    assert desk.at(HALF_HOUR) == []
    assert desk.at(2 * HALF_HOUR) == []
    assert desk.at(3 * HALF_HOUR) == ["limit 4 by auto_restore"]


def test_step_is_tried_while_fewer_than_half_of_the_strikes_are_used() -> None:
    desk = reduced(strikes=10, strikes_today=3, strikes_until_at=DAY_S)
    assert desk.scheduler.snapshot(0.0).strikes == 4
    assert desk.at(HALF_HOUR) == ["limit 4 by auto_restore"]


def test_refusal_right_after_a_step_is_the_steps_and_not_the_cooldowns() -> None:
    desk = reduced(learns_cooldown=True, cooldown_s=0.5)
    desk.crowd("a b c")
    desk.at(HALF_HOUR - 0.5)
    desk.release("a")
    desk.at(HALF_HOUR)
    desk.crowd("d e")
    assert desk.scheduler.in_flight == desk.scheduler.limit == 4
    assert "reduced to 3 from 4" in desk.refuse("e", "concurrency")
    assert desk.scheduler.cooldown_s == 0.5


def test_reload_that_says_the_same_leaves_the_time_as_it_is() -> None:
    desk = reduced(restore_after_s=4 * HALF_HOUR)
    desk.now = 100.0
    desk.policy(auto_restore_s=HALF_HOUR)
    assert desk.deadline == 4 * HALF_HOUR


def test_step_of_another_configuration_doubles_nothing() -> None:
    desk = reduced()
    desk.at(HALF_HOUR)
    desk.policy(auto_restore_s=60.0)
    refused(desk, "a")
    assert desk.scheduler.snapshot(desk.now).restore_after_s == 60.0


def test_time_of_an_earlier_process_means_nothing_where_nobody_asks_for_it() -> None:
    desk = Desk(3, auto_reduced_from=4, restore_after_s=4 * HALF_HOUR)
    desk.at(7.0)
    assert (desk.deadline, desk.scheduler.snapshot(7.0).restore_after_s) == (None, None)


def test_strikes_put_off_a_step_only_when_it_is_due() -> None:
    desk = reduced(strikes=2)
    assert desk.at(100.0) == []
    assert desk.deadline == HALF_HOUR


def test_step_of_an_earlier_process_is_no_rate_limit() -> None:
    refusals = tuple(RateLimit(at, 429, "concurrency", None, 4) for at in (1, 2))
    step = RateLimit(3, 0, "restored", None, 3)
    desk = Desk(3, auto_reduced_from=5, evidence=(*refusals, step))
    assert desk.scheduler.last_rate_limit == refusals[1]
