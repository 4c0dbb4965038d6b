"""Ways out of the queue without a slot (spec §6.4)."""

import pytest
from desk import Desk


def test_client_that_disconnects_leaves_at_once_and_is_never_granted() -> None:
    desk = Desk()
    desk.ask("a")
    desk.ask("b")
    desk.ask("c")
    desk.now = 4.0
    assert desk.cancel("b") == ["b left"]
    assert desk.effects[0].waited_s == 4.0
    assert desk.release("a") == ["a released", "c granted"]


def test_leaving_twice_and_leaving_after_the_grant_do_nothing() -> None:
    desk = Desk()
    desk.crowd("a b")
    assert desk.cancel("a") == []
    desk.cancel("b")
    assert desk.cancel("b") == []
    assert desk.release("a") == ["a released"]


def test_waiter_cancelled_in_the_moment_of_its_grant_gives_the_slot_on() -> None:
    desk = Desk(cooldown_s=60.0)
    desk.crowd("a b c")
    desk.release("a", reached=False)
    assert desk.release("b", reached=False) == ["b released", "c granted"]


def test_full_queue_refuses_one_more() -> None:
    desk = Desk(max_waiting=2)
    desk.crowd("a b c")
    assert desk.ask("d") == ["d refused: queue_full"]
    desk.cancel("c")
    assert desk.ask("e") == ["e queued"]


def test_refused_requests_change_nothing() -> None:
    desk = Desk(max_waiting=0)
    desk.ask("a")
    for number in range(100):
        assert desk.ask(f"r{number}") == [f"r{number} refused: queue_full"]
    desk.release("a")
    assert desk.ask("b") == ["b granted"]
    assert desk.ask("c") == ["c refused: queue_full"]


def test_longest_wait_ends_with_queue_timeout() -> None:
    desk = Desk(max_wait_s=600.0)
    desk.ask("a")
    desk.now = 5.0
    desk.ask("b")
    assert desk.deadline == 605.0
    assert desk.at(604.9) == []
    assert desk.at(605.0) == ["b refused: queue_timeout"]
    assert desk.deadline is None
    assert desk.release("a") == ["a released"]


def test_slot_that_is_free_in_the_last_moment_is_still_given() -> None:
    desk = Desk(cooldown_s=1.0, max_wait_s=10.0)
    desk.crowd("a b c")
    desk.now = 9.0
    desk.release("a")
    assert desk.at(10.0) == ["b granted", "c refused: queue_timeout"]


def test_patience_that_ends_with_the_pause_has_its_chance_first() -> None:
    desk = Desk(max_wait_s=10.0)
    desk.pause(10.0)
    desk.crowd("a b")
    assert desk.at(10.0) == ["resumed: elapsed", "a granted", "b refused: queue_timeout"]


def test_pause_that_outlasts_the_patience_of_waiters_refuses_them_as_soon_as_it_is_known() -> None:
    desk = Desk(limit=1, max_wait_s=20.0)
    desk.ask("a")
    desk.ask("early")
    desk.now = 10.0
    desk.ask("late")
    assert desk.refuse("a", "rate", 15.0) == [
        "a refused by the provider: rate",
        "paused until 25: rate",
        "early refused: paused",
    ]
    assert desk.line == ["late"]


def test_newcomer_whose_patience_the_pause_outlasts_is_refused_at_once() -> None:
    desk = Desk(max_wait_s=20.0)
    desk.pause(20.5)
    assert desk.ask("a") == ["a refused: paused"]
    desk.now = 0.5
    assert desk.ask("b") == ["b queued"]


def test_shorter_patience_after_a_reload_counts_for_those_who_wait() -> None:
    desk = Desk(max_wait_s=600.0)
    desk.crowd("a b")
    desk.now = 30.0
    desk.ask("c")
    assert desk.policy(max_wait_s=20.0) == ["b refused: queue_timeout"]
    assert desk.deadline == 50.0


def test_shorter_patience_after_a_reload_counts_against_the_pause_in_force() -> None:
    desk = Desk(max_wait_s=600.0)
    desk.crowd("a b")
    desk.pause(100.0)
    assert desk.policy(max_wait_s=50.0) == ["b refused: paused"]


def test_shorter_queue_after_a_reload_evicts_nobody() -> None:
    desk = Desk(max_waiting=10)
    desk.crowd("a b c d")
    assert desk.policy(max_waiting=1) == []
    assert desk.line == ["b", "c", "d"]
    assert desk.ask("e") == ["e refused: queue_full"]


def test_dropped_waiter_is_refused_and_the_others_stay() -> None:
    desk = Desk()
    desk.crowd("a b c")
    assert desk.drop("b") == ["b refused: dropped"]
    assert desk.drop("b") == []
    assert desk.line == ["c"]


@pytest.mark.parametrize("code", ["draining", "dropped"])
def test_end_of_a_drain_refuses_everybody_in_order(code: str) -> None:
    desk = Desk()
    desk.ask("a")
    desk.ask("young", started=2)
    desk.ask("old", started=1)
    assert desk.drop_all(code) == [f"old refused: {code}", f"young refused: {code}"]
    assert desk.release("a") == ["a released"]
    assert desk.deadline is None
