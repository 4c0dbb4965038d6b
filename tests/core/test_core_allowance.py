# What a provider says is left in its bucket of requests: no more go before another answer says that they may.

from desk import Desk


def few(count: int = 1, limit: int = 4) -> Desk:
    """`a` is answered while `b` to `f` wait or go: `count` more are taken within 10 s."""
    desk = Desk(limit)
    desk.ask("a")
    desk.left("a", count, 10.0)
    return desk


def test_as_many_go_as_are_left_and_the_others_wait() -> None:
    desk = few(2)
    assert [desk.ask(name)[0] for name in "bcd"] == ["b granted", "c granted", "d queued"]


def test_next_answer_has_the_last_word() -> None:
    desk = few(1)
    desk.crowd("b c d")
    assert desk.left("b", 1, 9.0) == ["c granted"]
    assert desk.left("c", 40, 60.0) == ["d granted"], "it is full again"


def test_answer_that_was_sent_before_says_nothing_new() -> None:
    desk = few(1)
    desk.crowd("b c")
    desk.left("b", 1, 10.0)
    assert desk.left("a", 3, 10.0) == []
    assert desk.ask("d") == ["d queued"]


def test_end_of_the_window_lets_them_go() -> None:
    desk = few(1)
    desk.crowd("b c d")
    assert desk.deadline == 10.0
    assert desk.at(10.0) == ["c granted", "d granted"]


def test_before_the_end_of_the_window_the_timer_lets_nobody_go() -> None:
    desk = few(1)
    desk.crowd("b c d")
    assert desk.at(9.9) == []


def test_what_was_let_go_meanwhile_counts() -> None:
    desk = Desk(4)
    desk.crowd("a b c")
    desk.left("a", 1, 10.0)  # b, or c, is one too many already
    assert desk.ask("d") == ["d queued"]


def test_nobody_is_left_who_could_say_more() -> None:
    desk = few(1)
    desk.crowd("b c")
    desk.release("a")
    assert desk.release("b") == ["b released", "c granted"]


def test_where_slots_rest_one_that_is_free_waits_for_none_of_them() -> None:
    desk = Desk(3, cooldown_s=5.0)
    desk.ask("a")
    desk.left("a", 1, 10.0)
    desk.crowd("b c")
    desk.release("a")
    assert desk.release("b") == ["b released", "c granted"]


def test_as_many_as_the_limit_hold_nobody_back() -> None:
    desk = few(4)
    assert [desk.ask(name)[0] for name in "bcd"] == ["b granted", "c granted", "d granted"]


def test_as_many_as_the_limit_are_no_news_later_either() -> None:
    desk = few(4)
    assert desk.scheduler.snapshot(0.0).few_left_until_at is None
    desk.crowd("b c d e f")
    desk.release("a")
    assert desk.release("b") == ["b released", "f granted"]


def test_late_answer_of_a_slot_that_was_given_back_says_nothing() -> None:
    desk = Desk(4)
    desk.crowd("a b")
    desk.release("a")
    desk.left("a", 1, 10.0)
    assert desk.ask("c") == ["c granted"]


def test_window_that_is_too_far_away_is_not_waited_for() -> None:
    desk = Desk(4, cap=5.0)
    desk.ask("a")
    desk.left("a", 1, 10.0)
    assert [desk.ask(name)[0] for name in "bc"] == ["b granted", "c granted"]


def test_without_a_limit_it_holds_nothing() -> None:
    desk = Desk(None)
    desk.ask("a")
    desk.left("a", 1, 10.0)
    assert [desk.ask(name)[0] for name in "bc"] == ["b granted", "c granted"]


def test_limit_removed_by_hand_lets_everybody_go() -> None:
    desk = few(1)
    desk.crowd("b c d")
    assert desk.limit(None) == ["limit None by api", "c granted", "d granted"]
