"""Who is granted, and in which order (spec §6.2)."""

import pytest
from desk import Desk


def test_newcomer_is_granted_at_once_when_a_slot_is_free_and_nobody_waits() -> None:
    desk = Desk(limit=2)
    assert desk.ask("a") == ["a granted"]
    assert desk.ask("b") == ["b granted"]
    assert desk.ask("c") == ["c queued"]


def test_newcomer_waits_while_a_cooling_slot_fills_the_limit() -> None:
    desk = Desk(limit=1, cooldown_s=1.0)
    desk.ask("a")
    desk.release("a")
    assert desk.ask("b") == ["b queued"]


def test_nobody_barges_a_newcomer_waits_behind_a_waiter_even_if_a_slot_is_free() -> None:
    desk = Desk(limit=2, gate_interval_s=1.0)
    desk.crowd("a b c")
    desk.release("a")
    desk.polled(2)  # the provider says: full
    assert desk.scheduler.in_flight == 1
    assert desk.ask("d") == ["d queued"]


def test_older_prompt_goes_first() -> None:
    desk = Desk()
    desk.ask("holder")
    desk.ask("young", started=300)
    desk.ask("old", started=100)
    desk.ask("middle", started=200)
    assert desk.release("holder") == ["holder released", "old granted"]
    assert desk.release("old") == ["old released", "middle granted"]
    assert desk.release("middle") == ["middle released", "young granted"]


def test_same_prompt_start_goes_by_arrival_whatever_the_workspace() -> None:
    desk = Desk()
    desk.ask("holder")
    desk.ask("first", workspace="z", started=7)
    desk.ask("second", workspace="a", started=7)
    assert desk.release("holder")[1:] == ["first granted"]
    assert desk.release("first")[1:] == ["second granted"]


def test_two_hundred_equal_prompts_go_in_arrival_order() -> None:
    desk = Desk()
    names = [f"r{number}" for number in range(200)]
    desk.ask("holder")
    desk.crowd(" ".join(names))
    assert desk.line == names
    served, last = [], "holder"
    for _ in names:
        last = desk.release(last)[1].removesuffix(" granted")
        served.append(last)
    assert served == names


def test_starred_waiter_overtakes_older_normal_one() -> None:
    desk = Desk()
    desk.star("vip")
    desk.ask("holder")
    desk.ask("old", workspace="normal", started=1)
    desk.ask("young", workspace="vip", started=999)
    assert desk.release("holder")[1:] == ["young granted"]


def test_star_set_while_waiting_moves_the_workspace_at_once() -> None:
    desk = Desk()
    desk.ask("holder")
    desk.ask("old", workspace="normal", started=1)
    desk.ask("young", workspace="vip", started=999)
    assert desk.line == ["old", "young"]
    desk.star("vip")
    assert desk.line == ["young", "old"]
    assert desk.release("holder")[1:] == ["young granted"]


def test_star_taken_while_waiting_moves_the_workspace_back_at_once() -> None:
    desk = Desk()
    desk.star("vip")
    desk.ask("holder")
    desk.ask("old", workspace="normal", started=1)
    desk.ask("young", workspace="vip", started=999)
    desk.unstar("vip")
    assert desk.release("holder")[1:] == ["old granted"]


def test_among_starred_workspaces_age_decides() -> None:
    desk = Desk()
    desk.star("x")
    desk.star("y")
    desk.ask("holder")
    desk.ask("young", workspace="x", started=2)
    desk.ask("old", workspace="y", started=1)
    assert desk.release("holder")[1:] == ["old granted"]


def test_higher_limit_grants_as_many_as_now_fit() -> None:
    desk = Desk(limit=1)
    desk.crowd("a b c d")
    assert desk.limit(3) == ["limit 3 by api", "b granted", "c granted"]


def test_lower_limit_evicts_nobody_and_grants_nobody_until_it_fits() -> None:
    desk = Desk(limit=3)
    desk.crowd("a b c d")
    assert desk.limit(1) == ["limit 1 by api"]
    assert desk.scheduler.held == 3
    assert desk.release("a") == ["a released"]
    assert desk.release("b") == ["b released"]
    assert desk.release("c") == ["c released", "d granted"]


def test_without_a_limit_every_request_is_granted_at_once_and_still_counted() -> None:
    desk = Desk(limit=None)
    for name in "abcde":
        assert desk.ask(name) == [f"{name} granted"]
    assert desk.scheduler.in_flight == 5


def test_limit_set_later_starts_from_the_truth() -> None:
    desk = Desk(limit=None)
    desk.crowd("a b c")
    desk.limit(2)
    assert desk.ask("d") == ["d queued"]
    assert desk.release("a") == ["a released"]
    assert desk.release("b") == ["b released", "d granted"]


@pytest.mark.parametrize("kind", ["concurrency", "rate", "quota", "overload"])
def test_without_a_limit_rate_limits_are_recorded_but_hold_nothing(kind: str) -> None:
    desk = Desk(limit=None)
    desk.ask("a")
    assert desk.refuse("a", kind, 20.0, at=5) == [f"a refused by the provider: {kind}"]
    seen = desk.scheduler.snapshot(desk.now).last_rate_limit
    assert (seen.at, seen.kind, seen.retry_after_ms, seen.in_flight) == (5, kind, 20_000, 1)
    assert desk.scheduler.snapshot(desk.now).evidence == ()
    assert desk.exhausted(5.0) == []
    assert desk.ask("b") == ["b granted"]


def test_without_a_limit_a_pause_by_hand_holds_and_its_end_grants_everybody() -> None:
    desk = Desk(limit=None)
    desk.pause(10.0)
    assert desk.ask("a") == ["a queued"]
    assert desk.ask("b") == ["b queued"]
    assert desk.at(10.0) == ["resumed: elapsed", "a granted", "b granted"]


def test_removing_the_limit_ends_the_pause_and_grants_every_waiter() -> None:
    desk = Desk(limit=1)
    desk.crowd("a b c")
    desk.refuse("a", "rate", 60.0)
    assert desk.limit(None) == ["limit None by api", "resumed: unlimited", "b granted", "c granted"]
    assert desk.scheduler.paused_until_at is None


def test_removing_the_limit_ends_a_pause_by_hand_too() -> None:
    desk = Desk(limit=1)
    desk.pause(60.0)
    desk.ask("a")
    assert desk.limit(None) == ["limit None by api", "resumed: unlimited", "a granted"]


def test_removing_the_limit_ends_a_probe() -> None:
    desk = Desk(limit=2)
    desk.crowd("a x b c")
    desk.refuse("a", "rate", 5.0)
    desk.release("a")
    desk.release("x")
    assert desk.at(5.0) == ["resumed: elapsed", "b granted"]
    assert desk.limit(None) == ["limit None by api", "c granted"]
    assert desk.deadline is None


def test_a_limit_that_was_never_there_is_not_removed_so_a_pause_by_hand_stays() -> None:
    desk = Desk(limit=None)
    desk.pause(60.0)
    assert desk.limit(None, "file") == ["limit None by file"]
    assert desk.ask("a") == ["a queued"]


def test_without_a_limit_a_newcomer_does_not_wait_for_a_poll_that_still_runs() -> None:
    desk = Desk(limit=1, gate_interval_s=1.0)
    desk.crowd("a b")
    assert desk.release("a") == ["a released", "poll for b"]
    assert desk.limit(None) == ["limit None by api", "b granted"]
    assert desk.ask("c") == ["c granted"]
    assert desk.polled(0) == []


def test_wait_is_counted_from_the_queueing_to_the_grant() -> None:
    desk = Desk()
    desk.ask("a")
    desk.now = 2.0
    desk.ask("b")
    desk.now = 5.0
    desk.release("a")
    assert desk.effects[1].waited_s == 3.0
    assert desk.effects[0].held_s == 5.0
