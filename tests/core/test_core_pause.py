"""Pauses, and the probe after them (spec §7.2, §7.6)."""

import pytest
from desk import Desk

from proxy.core.model import PausePolicy, RateLimit
from proxy.core.pause import _NEXT, Event, Pause, State, pause_s

POLICY = PausePolicy(default_s=30.0, min_s=5.0, max_s=120.0)


@pytest.mark.parametrize(
    ("kind", "status", "stated_ms", "seconds"),
    [
        ("rate", 429, 20_000, 20.0),
        ("concurrency", 429, 20_000, 20.0),
        ("rate", 503, 20_000, 20.0),
        ("none", 429, 20_000, 20.0),  # a 429 of unknown kind
        ("rate", 429, None, 30.0),
        ("concurrency", 429, None, 30.0),
        ("none", 429, None, 30.0),
        ("rate", 429, 1, 5.0),
        ("rate", 429, 600_000, 120.0),
        ("overload", 529, 20_000, 20.0),
        ("overload", 429, 20_000, 20.0),
        ("overload", 529, 1, 0.001),  # the floor is for our own overshoot
        ("overload", 529, 90_000, 60.0),
        ("overload", 529, 0, 1.0),
        ("overload", 529, None, 0.0),
        ("overload", 429, None, 0.0),
        ("quota", 429, 20_000, 0.0),
        ("quota", 402, None, 0.0),
        ("none", 200, 20_000, 0.0),
    ],
)
def test_pause_is_the_stated_wait_within_its_bounds(
    kind: str, status: int, stated_ms: int | None, seconds: float
) -> None:
    assert pause_s(POLICY, RateLimit(0, status, kind, stated_ms, 1)) == seconds


def test_wait_of_zero_pauses_for_a_second() -> None:
    assert pause_s(PausePolicy(), RateLimit(0, 429, "rate", 0, 1)) == 1.0
    assert pause_s(POLICY, RateLimit(0, 429, "rate", 0, 1)) == 5.0


def test_overload_never_pauses_longer_than_the_longest_pause() -> None:
    assert pause_s(PausePolicy(max_s=10.0), RateLimit(0, 529, "overload", 90_000, 1)) == 10.0


HOW_IT_MOVES = {
    (State.OPEN, Event.BYPASS): State.OPEN,
    (State.BY_HAND, Event.END): State.OPEN,
    (State.PAUSED, Event.END): State.DUE,
    (State.DUE, Event.SEND): State.PROBING,
    (State.DUE, Event.BYPASS): State.OPEN,
    (State.PROBING, Event.BYPASS): State.PROBING,
    (State.PROBING, Event.ANSWER): State.OPEN,
    (State.PROBING, Event.LEAVE): State.DUE,
}
ALWAYS = {Event.HOLD: State.BY_HAND, Event.REFUSE: State.PAUSED, Event.LIFT: State.OPEN}


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("state", State)
def test_every_state_and_event_leads_where_the_table_says_or_is_a_bug(state: State, event: Event) -> None:
    expected = ALWAYS.get(event) or HOW_IT_MOVES.get((state, event))
    assert _NEXT.get((state, event)) is expected


def test_end_of_a_pause_that_is_not_in_force_is_a_bug() -> None:
    with pytest.raises(KeyError):
        Pause().end()


# --- the pause ---


def test_nothing_is_granted_while_paused_and_requests_in_flight_go_on() -> None:
    desk = Desk(limit=3)
    desk.crowd("a b")
    assert desk.refuse("a", "rate", 20.0)[-1] == "paused until 20: rate"
    assert desk.ask("c") == ["c queued"]
    assert desk.release("a") == ["a released"]
    assert desk.release("b") == ["b released"]
    assert desk.deadline == 20.0
    assert desk.at(19.9) == []
    assert desk.at(20.0) == ["resumed: elapsed", "c granted"]


def test_pause_is_lengthened_by_another_429_and_never_shortened() -> None:
    desk = Desk(limit=3)
    desk.crowd("a b c")
    desk.refuse("a", "rate", 60.0)
    desk.now = 0.05
    assert desk.refuse("b", "rate", 1.0) == ["b refused by the provider: rate"]
    assert desk.scheduler.paused_until_at == 60.0
    assert desk.refuse("c", "concurrency", 90.0)[1:] == ["paused until 90.05: concurrency"]
    assert desk.scheduler.pause_cause == "concurrency"


def test_late_success_does_not_lift_the_pause() -> None:
    desk = Desk(limit=2)
    desk.crowd("a b c")
    desk.refuse("a", "rate", 60.0)
    assert desk.answer("b") == []
    assert desk.release("b") == ["b released"]
    assert desk.scheduler.paused_until_at == 60.0


def test_overload_without_a_wait_neither_pauses_nor_reduces() -> None:
    desk = Desk(limit=2)
    desk.crowd("a b c")
    for _ in range(10):
        assert desk.refuse("a", "overload", status=529) == ["a refused by the provider: overload"]
    assert desk.scheduler.limit == 2
    assert desk.release("a") == ["a released", "c granted"]


def test_overload_with_a_wait_pauses_and_does_not_reduce() -> None:
    desk = Desk(limit=2)
    desk.ask("a")
    assert desk.refuse("a", "overload", 90.0, status=529)[1:] == ["paused until 60: overload"]
    assert desk.scheduler.limit == 2


def test_quota_neither_pauses_nor_reduces() -> None:
    desk = Desk(limit=2)
    desk.crowd("a b c")
    assert desk.refuse("a", "quota", 60.0) == ["a refused by the provider: quota"]
    assert desk.scheduler.limit == 2
    assert desk.release("a") == ["a released", "c granted"]


# --- by hand ---


def test_pause_by_hand_replaces_a_longer_one_in_force() -> None:
    desk = Desk(limit=2)
    desk.ask("a")
    desk.refuse("a", "rate", 60.0)
    assert desk.pause(5.0) == ["paused until 5: operator"]
    assert desk.scheduler.paused_until_at == 5.0


def test_429_lengthens_a_pause_by_hand_but_never_shortens_it() -> None:
    desk = Desk(limit=3)
    desk.crowd("a b")
    desk.pause(50.0)
    desk.refuse("a", "rate", 10.0)
    assert (desk.scheduler.paused_until_at, desk.scheduler.pause_cause) == (50.0, "operator")
    desk.refuse("b", "rate", 100.0)
    assert (desk.scheduler.paused_until_at, desk.scheduler.pause_cause) == (100.0, "rate")


def test_resume_ends_the_pause_now_and_grants_what_fits() -> None:
    desk = Desk(limit=2)
    desk.pause(600.0)
    desk.crowd("a b c")
    assert desk.resume() == ["resumed: operator", "a granted", "b granted"]
    assert desk.resume() == []
    assert desk.deadline == 600.0  # c's patience; the pause is gone


def test_after_a_pause_by_hand_nobody_goes_alone() -> None:
    desk = Desk(limit=3)
    desk.pause(10.0)
    desk.crowd("a b c")
    assert desk.at(10.0) == ["resumed: elapsed", "a granted", "b granted", "c granted"]


# --- the probe ---


def probing(limit: int = 3, **facts: object) -> Desk:
    """`limit` slots, one of them with the probe `p` that was sent at 10; `b c d` wait behind it."""
    desk = Desk(limit=limit + 1, **facts)  # type: ignore[arg-type]
    desk.ask("first")
    desk.refuse("first", "rate", 10.0)  # one less from here on
    desk.release("first")
    desk.crowd("p b c d")
    desk.at(9.0)
    assert desk.at(10.0)[:2] == ["resumed: elapsed", "p granted"]
    return desk


def test_after_a_pause_the_first_waiter_goes_alone() -> None:
    desk = probing()
    assert desk.scheduler.held == 1
    assert desk.line == ["b", "c", "d"]


def test_others_follow_when_the_probes_answer_begins_without_a_rate_limit() -> None:
    desk = probing()
    assert desk.answer("p") == ["b granted", "c granted"]
    assert desk.answer("p") == []
    assert desk.release("p") == ["p released", "d granted"]


def test_others_follow_after_a_second_without_an_answer() -> None:
    desk = probing()
    assert desk.deadline == 11.0
    assert desk.at(10.99) == []
    assert desk.at(11.0) == ["b granted", "c granted"]
    assert desk.answer("p") == []


def test_probe_that_meets_a_limit_again_pauses_again_and_the_next_one_is_a_probe() -> None:
    desk = probing()
    assert desk.refuse("p", "rate", 10.0)[1:] == ["reduced to 2 from 4", "paused until 20: rate"]
    assert desk.release("p") == ["p released"]
    assert desk.at(20.0) == ["resumed: elapsed", "b granted"]


@pytest.mark.parametrize(("kind", "status"), [("quota", 429), ("overload", 529)])
def test_probe_that_is_refused_for_something_else_lets_the_others_follow(kind: str, status: int) -> None:
    desk = probing()
    assert desk.refuse("p", kind, status=status)[1:] == ["b granted", "c granted"]


def test_answer_of_another_request_does_not_let_them_follow() -> None:
    desk = Desk(limit=4)
    desk.crowd("before first")
    desk.refuse("first", "rate", 10.0)
    desk.release("first")
    desk.crowd("p b")
    desk.at(10.0)
    assert desk.answer("before") == []
    assert desk.refuse("before", "quota") == ["before refused by the provider: quota"]
    assert desk.release("before") == ["before released"]
    assert desk.line == ["b"]


@pytest.mark.parametrize("reached", [True, False])
def test_probe_that_leaves_without_an_answer_hands_its_role_to_the_next(reached: bool) -> None:
    desk = probing(cooldown_s=0.5)
    assert desk.release("p", reached=reached) == ["p released", "b granted"]
    assert desk.scheduler.held == 1
    assert desk.deadline == (10.5 if reached else 11.0)
    assert desk.answer("b")[:1] == ["c granted"]


def test_reclaimed_probe_hands_its_role_to_the_next() -> None:
    desk = probing()
    assert desk.reclaim("p") == ["p reclaimed: operator", "p released", "b granted"]
    assert desk.scheduler.held == 1


def test_probe_whose_time_was_up_hands_nothing_on_when_it_leaves() -> None:
    desk = probing()
    desk.at(11.0)
    assert desk.release("p") == ["p released", "d granted"]
    assert desk.ask("e") == ["e queued"]
    assert desk.release("b") == ["b released", "e granted"]
    assert desk.scheduler.held == 3


def test_pause_during_a_probe_ends_the_probe() -> None:
    desk = probing()
    desk.pause(5.0)
    assert desk.deadline == 15.0
    assert desk.answer("p") == []
    assert desk.at(15.0) == ["resumed: elapsed", "b granted", "c granted"]


def test_resume_by_hand_of_a_rate_limits_pause_sends_a_probe_first() -> None:
    desk = Desk(limit=4)
    desk.ask("first")
    desk.refuse("first", "rate", 60.0)
    desk.release("first")
    desk.crowd("a b")
    assert desk.resume() == ["resumed: operator", "a granted"]
    assert desk.answer("a") == ["b granted"]


def test_newcomer_with_a_free_place_and_no_queue_passes_a_probe() -> None:
    desk = Desk(limit=4)
    desk.ask("first")
    desk.refuse("first", "rate", 10.0)
    desk.release("first")
    desk.ask("p")
    desk.at(10.0)
    assert desk.ask("new") == ["new granted"]
    assert desk.answer("new") == []
    assert desk.deadline == 11.0  # p is the probe still


def test_after_a_pause_that_nobody_waited_for_newcomers_pass_together() -> None:
    desk = Desk(limit=4)
    desk.ask("first")
    desk.refuse("first", "rate", 10.0)
    desk.release("first")
    assert desk.at(10.0) == ["resumed: elapsed"]
    assert [desk.ask(name)[0] for name in "abcd"] == ["a granted", "b granted", "c granted", "d queued"]
    assert desk.release("a") == ["a released", "d granted"]
    desk.crowd("e f")
    assert desk.release("b") == ["b released", "e granted"]
    assert desk.release("c") == ["c released", "f granted"]


def test_first_waiter_after_the_pause_is_the_probe_even_if_it_came_later() -> None:
    desk = Desk(limit=3)
    desk.crowd("a b c")
    desk.refuse("a", "rate", 10.0)  # limit 2, three in flight
    desk.at(10.0)
    desk.crowd("d e")
    desk.release("a")
    assert desk.release("b") == ["b released", "d granted"]
    assert desk.release("c") == ["c released"]
    assert desk.answer("d") == ["e granted"]


def test_pause_max_of_zero_means_no_pause() -> None:
    desk = Desk(limit=3, cap=0.0)
    desk.crowd("a b c d")
    assert desk.refuse("a", "rate", 30.0) == ["a refused by the provider: rate", "reduced to 2 from 3"]
    desk.release("a")
    assert desk.release("b") == ["b released", "d granted"]


# --- what was kept from an earlier process ---


def test_kept_pause_of_a_rate_limit_goes_on_and_is_followed_by_a_probe() -> None:
    desk = Desk(limit=2, paused_until_at=5.0, pause_cause="concurrency")
    desk.crowd("a b")
    assert desk.line == ["a", "b"]
    assert desk.at(5.0) == ["resumed: elapsed", "a granted"]


def test_kept_pause_by_hand_goes_on_and_is_not_followed_by_a_probe() -> None:
    desk = Desk(limit=2, paused_until_at=5.0, pause_cause="operator")
    desk.crowd("a b")
    assert desk.at(5.0) == ["resumed: elapsed", "a granted", "b granted"]


def test_kept_pause_without_a_limit_holds_only_if_it_was_by_hand() -> None:
    assert Desk(limit=None, paused_until_at=5.0, pause_cause="rate").ask("a") == ["a granted"]
    assert Desk(limit=None, paused_until_at=5.0, pause_cause="operator").ask("a") == ["a queued"]


# --- exhausted buckets (§7.6) ---


def test_exhausted_bucket_holds_the_queue_until_its_reset_without_reducing() -> None:
    desk = Desk(limit=4)
    desk.ask("a")
    assert desk.exhausted(12.0) == ["paused until 12: exhausted"]
    assert desk.scheduler.limit == 4
    assert desk.ask("b") == ["b queued"]
    assert desk.at(12.0) == ["resumed: elapsed", "b granted"]


@pytest.mark.parametrize("wait_s", [0.0, -1.0, 600.1])
def test_reset_that_is_over_or_beyond_the_longest_pause_holds_nothing(wait_s: float) -> None:
    desk = Desk(limit=4, cap=600.0)
    assert desk.exhausted(wait_s) == []
    assert desk.ask("a") == ["a granted"]


def test_reset_at_exactly_the_longest_pause_holds() -> None:
    assert Desk(cap=600.0).exhausted(600.0) == ["paused until 600: exhausted"]


def test_exhausted_bucket_only_lengthens_a_pause() -> None:
    desk = Desk(limit=4)
    desk.exhausted(12.0)
    assert desk.exhausted(5.0) == []
    assert desk.exhausted(20.0) == ["paused until 20: exhausted"]


def test_after_an_exhausted_bucket_the_first_waiter_goes_alone() -> None:
    desk = Desk(limit=4)
    desk.exhausted(12.0)
    desk.crowd("a b")
    assert desk.at(12.0) == ["resumed: elapsed", "a granted"]


def test_repr_of_a_pause_says_until_when_and_why() -> None:
    pause = Pause()
    assert repr(pause) == "<Pause open>"
    pause.begin(12.5, "rate")
    assert repr(pause) == "<Pause until 12.500 for rate>"
    pause.end()
    assert repr(pause) == "<Pause probe due>"
