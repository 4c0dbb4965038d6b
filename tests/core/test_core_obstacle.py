# What the first in the queue waits for, state by state; the machine asks it at every step besides.

from desk import Desk

from proxy.core.obstacle import Code, Obstacle


def told(desk: Desk) -> Obstacle | None:
    return desk.scheduler.waits_for(desk.now)


def full(limit: int = 2, **settings: object) -> Desk:
    """Every slot is held, by `a`, `b`, and somebody waits."""
    desk = Desk(limit, **settings)  # type: ignore[arg-type]
    desk.crowd(" ".join("abcd"[:limit]))
    desk.ask("waits")
    return desk


def asked(observed: int | None, error: str | None = None, **settings: object) -> Desk:
    """One of two slots became free, and the poll for it has ended so."""
    desk = full(gate_interval_s=1.0, **settings)
    desk.at(5.0)
    desk.release("a")
    desk.ask("waits too")
    desk.polled(observed, error)
    return desk


def test_nobody_who_waits_waits_for_nothing() -> None:
    desk = Desk(1)
    assert told(desk) is None
    desk.ask("a")
    assert told(desk) is None


def test_slots_in_use_are_counted() -> None:
    assert told(full()) == Obstacle(code=Code.SLOT, count=2, limit=2)


def test_more_may_be_in_use_than_a_lowered_limit_allows() -> None:
    desk = full(4)
    desk.limit(1)
    assert told(desk) == Obstacle(code=Code.SLOT, count=4, limit=1)


def test_slot_that_rests_is_waited_for_and_not_the_others() -> None:
    desk = full(cooldown_s=3.0)
    desk.at(5.0)
    desk.release("b")
    assert told(desk) == Obstacle(code=Code.COOLDOWN, until_at=8.0)


def test_of_a_lowered_limit_as_many_must_have_rested_as_are_too_many() -> None:
    desk = full(4, cooldown_s=3.0)
    for name in "abc":
        desk.at(desk.now + 1.0)
        desk.release(name)
    desk.limit(3)
    assert told(desk) == Obstacle(code=Code.COOLDOWN, until_at=5.0)
    desk.limit(2)
    assert told(desk) == Obstacle(code=Code.COOLDOWN, until_at=6.0)
    desk.limit(1)
    assert told(desk) == Obstacle(code=Code.SLOT, count=1, limit=1)


def test_pause_comes_before_everything_with_its_cause() -> None:
    desk = full()
    desk.refuse("a", "concurrency", 20.0)
    assert told(desk) == Obstacle(code=Code.PAUSE, until_at=20.0, cause="concurrency")
    desk.pause(60.0)
    assert told(desk) == Obstacle(code=Code.PAUSE, until_at=60.0, cause="operator")


def test_pause_by_hand_holds_where_there_is_no_limit() -> None:
    desk = Desk(None)
    desk.pause(60.0)
    desk.ask("a")
    assert told(desk) == Obstacle(code=Code.PAUSE, until_at=60.0, cause="operator")


def test_after_a_pause_the_others_wait_for_the_one_that_goes_alone() -> None:
    desk = Desk(3, auto_reduce=False)
    desk.ask("a")
    desk.refuse("a", "rate", 20.0)
    desk.release("a")
    desk.crowd("b c")
    assert desk.at(20.0) == ["resumed: elapsed", "b granted"]
    assert told(desk) == Obstacle(code=Code.PROBE, until_at=21.0)
    desk.answer("b")
    assert told(desk) is None


def test_allowance_that_is_used_up_is_waited_for_beside_a_free_slot() -> None:
    desk = Desk(4)
    desk.ask("a")
    desk.left("a", 1, 10.0)
    desk.crowd("b c")
    assert told(desk) == Obstacle(code=Code.ALLOWANCE, until_at=10.0)


def test_one_that_was_refused_rests() -> None:
    desk = Desk(1)
    desk.ask("a")
    desk.requeue("a", 2.0)
    assert told(desk) == Obstacle(code=Code.REST, until_at=2.0)
    desk.ask("b")
    assert told(desk) == Obstacle(code=Code.REST, until_at=2.0), "b has gone meanwhile"
    desk.ask("c")
    assert told(desk) == Obstacle(code=Code.SLOT, count=1, limit=1), "c is the next"


def test_provider_is_asked() -> None:
    desk = full(gate_interval_s=1.0)
    desk.release("a")
    assert told(desk) == Obstacle(code=Code.GATE_ASKED)


def test_provider_that_counts_too_many_is_the_reason_also_while_it_is_asked_again() -> None:
    desk = asked(2)
    counts = Obstacle(code=Code.GATE, count=2, limit=2)
    assert told(desk) == counts
    assert desk.at(6.0) == ["poll for waits"]
    assert told(desk) == counts


def test_slot_that_became_free_is_news_that_the_provider_is_asked_about() -> None:
    desk = full(3, gate_interval_s=1.0)
    desk.at(5.0)
    desk.release("a")
    desk.polled(3)
    desk.release("b")
    assert desk.scheduler.held == 1
    assert told(desk) == Obstacle(code=Code.GATE_ASKED)


def test_count_below_the_limit_holds_back_while_it_may_have_missed_one() -> None:
    desk = Desk(4, gate_interval_s=1.0)
    desk.crowd("a b c d e f")
    desk.now = 5.0
    desk.release("a")
    desk.polled(9)
    desk.release("b")
    assert desk.polled(3) == ["e granted", "poll for f"]
    desk.now = 5.1
    assert desk.polled(3) == [], "e may not have arrived"
    assert told(desk) == Obstacle(code=Code.GATE, count=3, limit=4)


def test_limit_that_was_raised_makes_the_last_count_no_reason() -> None:
    desk = asked(2)
    desk.limit(3)
    assert told(desk) == Obstacle(code=Code.GATE_ASKED)


def test_provider_that_does_not_tell_is_named_with_the_error() -> None:
    desk = asked(None, "status 500")
    assert desk.line == ["waits too"]
    desk.at(5.5)
    desk.release("b")
    assert told(desk) == Obstacle(code=Code.GATE_UNKNOWN, cause="status 500")


def test_what_a_poll_said_long_ago_is_no_reason() -> None:
    desk = asked(None, "status 500")
    desk.at(9.0)
    desk.release("b")
    assert told(desk) == Obstacle(code=Code.GATE_ASKED)


def test_one_whom_only_earlier_polls_hold_back_is_told_when_the_provider_is_asked_next() -> None:
    desk = Desk(3, gate_interval_s=1.0)
    desk.ask("a")
    desk.pause(5.0)
    desk.ask("b")
    assert desk.at(5.0) == ["resumed: elapsed", "poll for b"]
    assert desk.polled(2) == ["b granted"]
    assert desk.ask("c") == ["c queued"], "somebody else has the third"
    assert told(desk) == Obstacle(code=Code.GATE_ASKED, until_at=6.0)


def test_poll_that_outlives_its_gate_keeps_its_slot() -> None:
    desk = full(gate_interval_s=1.0)
    desk.release("a")
    desk.policy()
    assert told(desk) == Obstacle(code=Code.GATE_ASKED)
