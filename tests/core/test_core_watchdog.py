"""Slots that are stuck are taken back (spec §9)."""

import pytest
from desk import Desk

from proxy.core.model import Reclaimed


def test_slot_without_progress_for_the_slot_timeout_is_reclaimed() -> None:
    desk = Desk(slot_timeout_s=300.0)
    desk.crowd("a b")
    assert desk.watch(299.9) == []
    assert desk.watch(300.0) == ["a reclaimed: silent", "a released", "b granted"]


def test_slot_that_makes_progress_is_left_alone_however_slow_it_is() -> None:
    desk = Desk(slot_timeout_s=300.0)
    desk.ask("a")
    for now in range(250, 5000, 250):
        desk.slots["a"].progress_at = float(now)
        assert desk.watch(float(now)) == []


def test_silence_is_measured_from_the_last_progress() -> None:
    desk = Desk(slot_timeout_s=300.0)
    desk.ask("a")
    desk.slots["a"].progress_at = 100.0
    assert desk.watch(399.0) == []
    desk.watch(410.0)
    assert desk.effects[0] == Reclaimed(desk.slots["a"], "silent", 310.0)


def test_slot_held_over_the_cap_is_reclaimed_although_it_moves() -> None:
    desk = Desk(slot_timeout_s=300.0, max_hold_s=60.0)
    desk.crowd("a b")
    desk.slots["a"].progress_at = 59.0
    assert desk.watch(59.0) == []
    assert desk.watch(60.0) == ["a reclaimed: max_hold", "a released", "b granted"]
    assert desk.effects[0] == Reclaimed(desk.slots["a"], "max_hold", 60.0)


def test_reclaim_comes_before_what_follows_from_it_for_each_slot() -> None:
    desk = Desk(limit=2, slot_timeout_s=300.0)
    desk.crowd("a b c d")
    assert desk.watch(300.0) == [
        "a reclaimed: silent",
        "a released",
        "c granted",
        "b reclaimed: silent",
        "b released",
        "d granted",
    ]


def test_only_what_is_overdue_is_reclaimed() -> None:
    desk = Desk(limit=2, slot_timeout_s=300.0)
    desk.ask("a")
    desk.now = 100.0
    desk.ask("b")
    assert desk.watch(300.0) == ["a reclaimed: silent", "a released"]


def test_reclaimed_slot_rests() -> None:
    desk = Desk(cooldown_s=5.0, slot_timeout_s=300.0)
    desk.crowd("a b")
    assert desk.watch(300.0) == ["a reclaimed: silent", "a released"]
    assert desk.at(305.0) == ["b granted"]


@pytest.mark.parametrize("now", [1e3, 1e9])
def test_without_timeouts_nothing_is_reclaimed(now: float) -> None:
    desk = Desk(slot_timeout_s=None, max_hold_s=None)
    desk.ask("a")
    assert desk.watch(now) == []


def test_cooling_slots_are_not_reclaimed() -> None:
    desk = Desk(cooldown_s=1e6, slot_timeout_s=300.0)
    desk.ask("a")
    desk.release("a")
    assert desk.watch(1e5) == []


def test_reclaimed_without_a_limit_too() -> None:
    desk = Desk(limit=None, slot_timeout_s=300.0)
    desk.ask("a")
    assert desk.watch(300.0) == ["a reclaimed: silent", "a released"]


def test_operator_reclaims_one_slot_and_says_how_long_it_was_held() -> None:
    desk = Desk(limit=2)
    desk.crowd("a b c")
    desk.now = 12.0
    assert desk.reclaim("b") == ["b reclaimed: operator", "b released", "c granted"]
    assert desk.effects[0] == Reclaimed(desk.slots["b"], "operator", 12.0)
