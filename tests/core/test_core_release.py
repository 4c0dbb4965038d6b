"""Holding a slot, giving it back, and its rest (spec §6.3)."""

import pytest
from desk import Desk

from proxy.core.model import Phase


def test_second_release_frees_nobody_elses_slot() -> None:
    desk = Desk()
    desk.crowd("a b c")
    late = desk.slots["a"]
    assert desk.release("a") == ["a released", "b granted"]
    assert desk.scheduler.release(late, desk.now) == []
    assert desk.scheduler.held == 1


def test_release_after_a_reclaim_does_nothing() -> None:
    desk = Desk()
    desk.crowd("a b c")
    assert desk.reclaim("a") == ["a reclaimed: operator", "a released", "b granted"]
    assert desk.release("a") == []
    assert desk.reclaim("a") == []
    assert desk.line == ["c"]


def test_late_release_of_an_absorbed_try_does_not_end_the_next_try_of_the_same_request() -> None:
    desk = Desk()
    desk.ask("a")
    first_try = desk.slots["a"]
    assert desk.requeue("a") == ["a released", "a queued", "a granted"]
    assert desk.scheduler.release(first_try, desk.now) == []
    assert desk.scheduler.held == 1
    assert desk.scheduler.slot(first_try.id) is desk.slots["a"]


def test_released_slot_rests_and_counts_as_in_flight() -> None:
    desk = Desk(cooldown_s=0.35)
    desk.crowd("a b")
    assert desk.release("a") == ["a released"]
    snapshot = desk.scheduler.snapshot(desk.now)
    assert (snapshot.held, snapshot.cooling, snapshot.in_flight) == (0, 1, 1)
    assert desk.slots["a"].phase is Phase.COOLING


def test_end_of_the_rest_wakes_the_queue_at_that_moment() -> None:
    desk = Desk(cooldown_s=0.35)
    desk.crowd("a b")
    desk.now = 10.0
    desk.release("a")
    assert desk.deadline == 10.35
    assert desk.at(10.34) == []
    assert desk.at(10.35) == ["b granted"]
    assert desk.scheduler.cooling == 0


def test_each_slot_rests_by_its_own_timer() -> None:
    desk = Desk(limit=2, cooldown_s=1.0)
    desk.crowd("a b c d")
    desk.release("a")
    desk.now = 0.5
    desk.release("b")
    assert desk.deadline == 1.0
    assert desk.at(1.0) == ["c granted"]
    assert desk.deadline == 1.5
    assert desk.at(1.5) == ["d granted"]


def test_late_timer_frees_every_rested_slot_at_once() -> None:
    desk = Desk(limit=2, cooldown_s=1.0)
    desk.crowd("a b c d")
    desk.release("a")
    desk.release("b")
    assert desk.at(7.0) == ["c granted", "d granted"]


def test_request_that_never_reached_the_upstream_skips_the_rest() -> None:
    desk = Desk(cooldown_s=60.0)
    desk.crowd("a b")
    assert desk.release("a", reached=False) == ["a released", "b granted"]


def test_changed_cooldown_applies_to_slots_released_from_then_on() -> None:
    desk = Desk(limit=2, cooldown_s=10.0)
    desk.crowd("a b c d")
    desk.release("a")
    assert desk.cooldown(1.0) == ["cooldown 1 by api"]
    desk.release("b")
    assert desk.at(1.0) == ["c granted"]
    assert desk.deadline == 10.0


def test_cooldown_without_a_limit_rests_nothing_and_creates_no_limit() -> None:
    desk = Desk(limit=None, cooldown_s=0.0)
    desk.cooldown(5.0)
    desk.ask("a")
    assert desk.release("a") == ["a released"]
    assert desk.scheduler.in_flight == 0
    assert desk.scheduler.limit is None


def test_cooldown_set_without_a_limit_applies_when_a_limit_is_set() -> None:
    desk = Desk(limit=None, cooldown_s=0.0)
    desk.ask("a")
    desk.cooldown(5.0)
    desk.limit(1)
    desk.ask("b")
    assert desk.release("a") == ["a released"]
    assert desk.at(5.0) == ["b granted"]


def test_slots_that_rest_when_the_limit_goes_still_count_until_their_rest_ends() -> None:
    desk = Desk(limit=2, cooldown_s=1.0)
    desk.ask("a")
    desk.release("a")
    desk.limit(None)
    assert desk.scheduler.in_flight == 1
    desk.at(1.0)
    assert desk.scheduler.in_flight == 0


def test_slots_are_listed_held_first_and_cooling_by_the_end_of_their_rest() -> None:
    desk = Desk(limit=4, cooldown_s=5.0)
    desk.crowd("a b c d")
    desk.release("c")
    desk.cooldown(1.0)
    desk.release("b")
    assert [slot.ticket.path for slot in desk.scheduler.slots()] == ["a", "d", "b", "c"]
    assert desk.scheduler.slot(desk.tickets["a"].id) is desk.slots["a"]
    assert desk.scheduler.slot(desk.tickets["c"].id) is None


@pytest.mark.parametrize("cooldown_s", [0.0, 0.35])
def test_at_rest_as_many_as_the_limit_go_out_at_once(cooldown_s: float) -> None:
    desk = Desk(limit=3, cooldown_s=cooldown_s)
    desk.crowd("a b c d e")
    for name in "abc":
        desk.release(name)
    desk.at(1.0)
    for name in "de":
        desk.release(name)
    desk.at(2.0)
    assert [desk.ask(name) for name in "xyz"] == [["x granted"], ["y granted"], ["z granted"]]
    assert desk.ask("more") == ["more queued"]
