# How long a provider goes on counting what has ended, learned from its polls (cooldown: auto).

import random

import pytest
from desk import Desk

from proxy.core.lag import LAG_MAX_S, LAG_MIN_S, Lag


def polls_of(lag: Lag, *, ended: list[float], at: list[float], needs_s: float) -> None:
    """`ended` requests are counted for `needs_s`; polls look at these moments."""
    moments = sorted([(when, "end") for when in ended] + [(when, "poll") for when in at])
    for now, what in moments:
        if what == "end":
            lag.ended(now)
        else:
            counted = sum(when <= now < when + needs_s for when in ended)
            lag.polled(counted, counted, now)


def test_nothing_is_learned_from_a_provider_that_forgets_in_time() -> None:
    lag = Lag(0.35)
    polls_of(lag, ended=[0.0], at=[0.4], needs_s=0.1)
    assert not lag.learned
    assert lag.may_be_counted(0.0) == 0
    assert lag.next_look_at(0.0) is None


def test_request_that_is_counted_longer_than_thought_raises_the_estimate_a_step() -> None:
    lag = Lag(0.35)
    polls_of(lag, ended=[0.0], at=[0.36, 1.36], needs_s=0.7)
    assert lag.learned
    assert lag.estimate_s == pytest.approx(0.35 * 1.15)


def test_estimate_never_steps_beyond_what_was_seen() -> None:
    lag = Lag(0.35)
    polls_of(lag, ended=[0.0], at=[0.36, 0.37], needs_s=0.365)
    assert lag.estimate_s == pytest.approx(0.37)


@pytest.mark.parametrize(("seen_at", "estimate_s"), [(1.05, 0.998), (0.6, 0.998), (0.5, 0.8), (0.2, 0.8)])
def test_request_forgotten_within_the_estimate_lowers_it_by_half_of_it_much(seen_at: float, estimate_s: float) -> None:
    lag = Lag(1.0)
    polls_of(lag, ended=[0.0], at=[seen_at], needs_s=0.1)
    assert lag.estimate_s == pytest.approx(estimate_s)


def test_poll_that_comes_much_later_says_nothing() -> None:
    lag = Lag(0.35)
    polls_of(lag, ended=[0.0], at=[60.0], needs_s=0.1)
    assert lag.estimate_s == 0.35


def test_latest_ends_are_those_that_are_still_counted() -> None:
    lag = Lag(0.35)
    polls_of(lag, ended=[0.0, 0.5, 1.0], at=[1.1], needs_s=0.7)  # the first is forgotten, two are not
    polls_of(lag, ended=[], at=[2.0], needs_s=0.7)
    assert lag.learned


def test_what_is_counted_for_longer_than_the_bound_was_somebody_elses() -> None:
    lag = Lag(0.35)
    polls_of(lag, ended=[0.0], at=[1.0, 3.0, 5.0, 5.5, 6.0], needs_s=100.0)
    polls_of(lag, ended=[], at=[7.0], needs_s=0.0)
    assert not lag.learned


def test_count_of_what_is_not_forgotten_follows_the_estimate() -> None:
    lag = Lag(0.25)
    lag.raise_()
    for at in (0.0, 0.4, 0.8):
        lag.ended(at)
    assert [lag.may_be_counted(now) for now in (0.9, 1.0, 1.5, 1.8)] == [3, 2, 1, 0]


def test_it_is_looked_again_when_the_estimate_is_over_and_then_ever_more_rarely() -> None:
    lag = Lag(0.25)
    lag.raise_()
    lag.ended(10.0)
    looks = []
    now = 10.0
    while now < 11.0:
        now = lag.next_look_at(now) or 0.0
        looks.append(round(now - 10.0, 3))
    assert looks == [0.5, 0.575, 0.661, 0.76, 0.875, 1.006]


def test_estimate_stays_within_its_bounds() -> None:
    assert (Lag(0.0).estimate_s, Lag(600.0).estimate_s) == (LAG_MIN_S, LAG_MAX_S)
    lag = Lag(4.0)
    lag.raise_()
    assert lag.estimate_s == LAG_MAX_S


def test_estimate_settles_at_a_high_quantile_of_what_the_provider_needs() -> None:
    chance = random.Random(7)
    lag, now, seen = Lag(0.35), 0.0, []
    for turn in range(3000):
        needs_s = chance.uniform(0.6, 0.9)
        lag.ended(now)
        for poll_at in (now + lag.estimate_s, now + lag.estimate_s + 1.0):  # at the rest's end, and an interval later
            counted = int(poll_at < now + needs_s)
            lag.polled(counted, counted, poll_at)
        now += 10.0
        if turn > 500:
            seen.append(lag.estimate_s)
    assert 0.84 < sum(seen) / len(seen) < 0.93


def test_request_that_ended_after_the_poll_began_is_none_of_its_business() -> None:
    lag = Lag(1.0)
    lag.ended(1.05)
    lag.polled(0, 0, 1.0)
    assert lag.estimate_s == 1.0


def test_each_request_teaches_once() -> None:
    lag = Lag(1.0)
    lag.ended(0.0)
    for at in (0.9, 0.95):
        lag.polled(0, 0, at)
    assert lag.estimate_s == pytest.approx(0.998)


def test_what_a_poll_may_have_counted_or_not_is_not_known_to_be_counted() -> None:
    lag = Lag(1.0)
    lag.ended(0.0)
    lag.polled(0, 1, 1.5)
    lag.polled(0, 0, 1.6)
    assert not lag.learned


def test_what_was_last_counted_well_within_the_estimate_raises_nothing() -> None:
    lag = Lag(1.0)
    polls_of(lag, ended=[0.0], at=[0.9, 1.05], needs_s=0.95)
    assert lag.estimate_s == pytest.approx(0.998)


def test_it_is_looked_when_the_first_may_be_forgotten() -> None:
    lag = Lag(0.25)
    lag.raise_()
    assert lag.next_look_at(0.0) is None
    lag.ended(0.0)
    lag.ended(0.3)
    assert lag.next_look_at(0.3) == 0.5


# --- in the queue ---


def gated(limit: int = 2, *, cooldown_s: float = 0.35, learns: bool = True) -> Desk:
    return Desk(limit, cooldown_s=cooldown_s, learns_cooldown=learns, gate_interval_s=1.0)


def test_learned_cooldown_is_what_slots_rest_for() -> None:
    desk = gated(1)
    desk.crowd("a b")
    desk.release("a")
    assert desk.at(0.36) == ["poll for b"]
    desk.polled(1)
    assert desk.at(1.36) == ["poll for b"]
    assert desk.polled(0) == ["cooldown 0.4025 by learned", "b granted"]
    assert desk.scheduler.snapshot(1.4).lag_s == pytest.approx(0.4025)


def test_small_moves_of_a_learned_cooldown_are_not_told() -> None:
    desk = gated(1, cooldown_s=1.0)
    desk.crowd("a b")
    desk.release("a")
    desk.at(1.0)
    assert desk.polled(0) == ["b granted"]
    assert desk.scheduler.cooldown_s == pytest.approx(0.998)


def test_cooldown_set_by_hand_is_not_learned() -> None:
    desk = gated(1)
    desk.cooldown(0.5)
    desk.crowd("a b")
    desk.release("a")
    desk.at(0.51)
    desk.polled(1)
    desk.at(1.51)
    assert desk.polled(0) == ["b granted"]
    assert desk.scheduler.cooldown_s == 0.5


def test_fixed_cooldown_stays_but_the_lag_is_known_and_the_next_poll_comes_when_it_is_over() -> None:
    desk = gated(1, learns=False)
    desk.crowd("a b c")
    desk.release("a")
    desk.at(0.36)
    desk.polled(1)
    desk.at(1.36)
    assert desk.polled(0) == ["b granted"]
    assert desk.scheduler.cooldown_s == 0.35
    desk.now = 10.0
    desk.release("b")
    assert desk.at(10.36) == ["poll for c"]
    desk.polled(1)
    assert desk.deadline == pytest.approx(10.4025)


def test_newcomer_does_not_take_a_place_that_the_provider_still_counts() -> None:
    desk = gated(1, learns=False)
    desk.crowd("a b")
    desk.release("a")
    desk.at(0.36)
    desk.polled(1)
    desk.at(1.36)
    desk.polled(0)
    desk.now = 10.0
    desk.release("b")
    desk.at(10.36)
    assert desk.ask("c") == ["c queued", "poll for c"]
    assert desk.polled(0) == ["c granted"]


def test_refused_request_leaves_nothing_that_is_counted() -> None:
    desk = gated(1, learns=False)
    desk.crowd("a b")
    desk.refuse("a", "quota")
    desk.release("a")
    desk.at(0.36)
    desk.polled(1)
    desk.at(1.36)
    desk.polled(0)
    assert desk.scheduler.snapshot(2.0).lag_s is None


def test_request_that_never_left_is_not_counted_either() -> None:
    desk = gated(1, learns=False)
    desk.crowd("a b")
    desk.release("a", reached=False)
    desk.polled(1)
    desk.at(1.0)
    desk.polled(1)
    desk.at(2.0)
    desk.polled(0)
    assert desk.scheduler.snapshot(2.0).lag_s is None


def polled_early() -> Desk:
    """`a` ended at 10 s and rests for 1 s, `c` is held; since 10.3 s, when `b` left unsent, a poll runs for `d`."""
    desk = gated(3, cooldown_s=1.0)
    desk.crowd("a b c d e")
    desk.now = 10.0
    desk.release("a")
    desk.now = 10.3
    assert desk.release("b", reached=False) == ["b released", "poll for d"]
    return desk


def test_request_is_forgotten_that_a_poll_leaves_out_beside_what_is_held() -> None:
    assert polled_early().polled(1) == ["cooldown 0.8 by learned", "d granted"]


def test_poll_that_may_not_have_seen_a_request_says_nothing_of_one_that_ended() -> None:
    desk = polled_early()
    assert desk.polled(None, "timed out") == ["d granted"]
    desk.now = 10.35
    desk.release("c", reached=False)
    assert desk.polled(1) == ["e granted"], "a, or d"


def test_what_others_use_all_the_time_is_not_taken_for_what_has_ended() -> None:
    desk = gated(2)
    desk.crowd("a b c")
    desk.now = 20.0
    assert desk.limit(3)[-1] == "poll for c"
    for at in (21.0, 22.0, 23.0):
        desk.polled(4)
        assert desk.at(at) == ["poll for c"]
    desk.polled(4)
    desk.now = 23.1
    desk.release("a")
    told = []
    for at in (23.5, 24.5, 25.5, 26.5, 27.5):
        desk.at(at)
        told += desk.polled(3)
    assert told == ["cooldown 0.4025 by learned"]


def test_small_moves_after_a_told_one_are_not_told() -> None:
    desk = gated(1)
    desk.crowd("a b c")
    desk.release("a")
    desk.at(0.36)
    desk.polled(1)
    desk.at(1.36)
    assert desk.polled(0) == ["cooldown 0.4025 by learned", "b granted"]
    desk.now = 10.0
    desk.release("b")
    assert desk.at(10.41) == ["poll for c"]
    assert desk.polled(0) == ["c granted"]
    assert desk.scheduler.cooldown_s == pytest.approx(0.4025 * 0.998)


def test_what_is_learned_begins_anew_within_its_bounds() -> None:
    desk = gated(1, cooldown_s=0.0)
    assert desk.scheduler.cooldown_s == LAG_MIN_S
    desk.crowd("a b")
    desk.release("a")
    desk.at(0.06)
    desk.polled(1)
    desk.at(1.06)
    desk.polled(0)
    assert desk.scheduler.cooldown_s > LAG_MIN_S
    desk.scheduler.set_cooldown(0.5, "file", learns=True)
    now = desk.scheduler.snapshot(2.0)
    assert (now.cooldown_s, now.lag_s) == (0.5, None)


# --- a refusal right after a slot was used again ---


def recycled(*, learns: bool = True) -> Desk:
    desk = Desk(2, cooldown_s=0.5, learns_cooldown=learns)
    desk.crowd("a b c")
    desk.release("a")
    assert desk.at(0.5) == ["c granted"]
    return desk


def test_refusal_right_after_a_reuse_makes_slots_rest_longer_and_lowers_nothing() -> None:
    desk = recycled()
    assert desk.refuse("c", "concurrency", 1.0) == [
        "c refused by the provider: concurrency",
        "cooldown 1 by learned",
        "paused until 1.5: concurrency",
    ]
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (2, None)


def test_rest_of_the_burst_lowers_nothing_either() -> None:
    desk = recycled()
    desk.refuse("c", "concurrency", 1.0)
    desk.refuse("b", "concurrency", 1.0)
    assert desk.scheduler.limit == 2


def test_next_refusal_is_the_limits() -> None:
    desk = recycled()
    desk.refuse("c", "concurrency", 1.0)
    desk.release("c")
    desk.crowd("d e")
    desk.at(1.5)
    desk.answer("d")
    desk.release("b")
    desk.at(2.5)
    desk.refuse("e", "concurrency", 1.0)
    assert (desk.scheduler.limit, desk.scheduler.auto_reduced_from) == (1, 2)


@pytest.mark.parametrize(("at", "limit"), [(600.4, 1), (601.0, 2)])
def test_reuse_explains_the_next_refusal_after_ten_minutes_again(at: float, limit: int) -> None:
    desk = recycled()
    desk.refuse("c", "concurrency", 1.0)
    desk.release("b")
    desk.release("c")
    desk.at(5.0)
    desk.now = at - 1.0
    desk.crowd("d e")
    desk.release("d")
    desk.ask("f")
    assert desk.at(at) == ["f granted"]
    desk.refuse("f", "concurrency", 1.0)
    assert desk.scheduler.limit == limit


@pytest.mark.parametrize(("kind", "learns"), [("rate", True), ("concurrency", False)])
def test_other_refusals_and_fixed_cooldowns_lower_the_limit_at_once(kind: str, learns: bool) -> None:
    desk = recycled(learns=learns)
    desk.refuse("c", kind, 1.0)
    assert (desk.scheduler.limit, desk.scheduler.cooldown_s) == (1, 0.5)


def test_refusal_long_after_the_reuse_is_the_limits() -> None:
    desk = recycled()
    desk.now = 2.6
    desk.refuse("c", "concurrency", 1.0)
    assert desk.scheduler.limit == 1


def test_refusal_below_full_load_is_the_limits() -> None:
    desk = Desk(3, cooldown_s=0.5, learns_cooldown=True)
    desk.crowd("a b")
    desk.release("a")
    desk.at(0.5)
    desk.refuse("b", "concurrency", 1.0)
    assert desk.scheduler.limit == 2


def test_cooldown_that_cannot_be_longer_leaves_the_refusal_to_the_limit() -> None:
    desk = Desk(2, cooldown_s=4.8, learns_cooldown=True)
    desk.crowd("a b c")
    desk.release("a")
    desk.at(4.8)
    desk.refuse("c", "concurrency", 1.0)
    assert desk.scheduler.limit == 1


def test_fixed_cooldown_learns_nothing_from_a_refusal() -> None:
    desk = recycled(learns=False)
    desk.refuse("c", "concurrency", 1.0)
    assert desk.scheduler.snapshot(0.5).lag_s is None


def test_refusal_within_two_seconds_of_the_reuse_is_the_cooldowns() -> None:
    desk = Desk(2, cooldown_s=0.5, learns_cooldown=True)
    desk.crowd("a b c")
    desk.now = 99.5
    desk.release("a")
    desk.at(100.0)
    desk.now = 101.9
    assert "cooldown 1 by learned" in desk.refuse("c", "concurrency", 1.0)


def test_slot_whose_request_never_left_was_not_used_again() -> None:
    desk = Desk(2, cooldown_s=0.5, learns_cooldown=True)
    desk.crowd("a b c")
    desk.release("a", reached=False)
    desk.refuse("c", "concurrency", 1.0)
    assert (desk.scheduler.limit, desk.scheduler.cooldown_s) == (1, 0.5)


def test_without_a_limit_too_a_slot_may_have_been_used_again_too_soon() -> None:
    desk = Desk(None, cooldown_s=0.5, learns_limit=True, learns_cooldown=True)
    desk.crowd("a b")
    desk.release("a")
    desk.ask("c")
    assert "cooldown 1 by learned" in desk.refuse("c", "concurrency", 1.0)
