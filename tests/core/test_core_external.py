# Others who use the same account: what the provider counts beyond our own requests.

import pytest
from desk import Desk

from proxy.core.gate import Gate, Ours
from proxy.core.model import GateReading


def gate(*observed: int, ours: int = 4) -> Gate:
    """One whose polls, a second apart, saw these counts while `ours` were in flight."""
    made = Gate()
    for at, count in enumerate(observed):
        made.start(float(at), 1.0, None)
        made.ours = Ours(held=ours, in_flight=ours)
        made.finish(GateReading(count, float(at), None))
    return made


def test_use_by_others_is_what_is_counted_beyond_our_own() -> None:
    assert gate(6, 6, 6).external(2.0) == 2
    assert gate(4, 4, 4).external(2.0) == 0
    assert gate(0, 0, 0).external(2.0) == 0


def test_nobody_has_told_before_the_first_poll() -> None:
    assert Gate().external(0.0) is None


def test_one_sample_that_lags_holds_nobody_back() -> None:
    assert gate(4, 8, 4).external(2.0) == 0


def test_three_polls_are_believed_and_no_earlier_one() -> None:
    assert gate(4, 7, 7).external(2.0) == 0
    assert gate(4, 7, 7, 7).external(3.0) == 3


@pytest.mark.parametrize(("age_s", "external"), [(15.0, 4), (15.1, None)])
def test_what_others_used_is_forgotten_after_a_while(age_s: float, external: int | None) -> None:
    assert gate(8).external(age_s) == external


def test_how_fresh_it_is_counts_from_the_poll() -> None:
    made = Gate()
    made.start(1000.0, 1.0, None)
    made.finish(GateReading(3, 1000.0, None))
    assert (made.external(1015.0), made.external(1016.0)) == (3, None)


def test_poll_without_information_says_nothing_about_others() -> None:
    made = gate(6, 6)
    made.start(2.0, 1.0, None)
    made.finish(GateReading(None, 2.0, "timed out"))
    assert made.external(2.0) == 2


# --- in the queue ---


def seen(observed: int, limit: int = 4) -> Desk:
    """We had `limit` in flight while a poll saw `observed`, at 0 s; then all ours ended."""
    desk = Desk(limit, gate_interval_s=1.0)
    names = [f"h{number}" for number in range(limit)]
    desk.crowd(" ".join([*names, "w"]))
    assert desk.limit(limit + 1)[-1] == "poll for w"
    assert desk.polled(observed) == []
    desk.limit(limit)
    desk.cancel("w")
    for name in names:
        desk.release(name)
    return desk


def test_newcomers_count_with_the_others() -> None:
    desk = seen(6)
    assert [desk.ask(name)[0] for name in "abc"] == ["a granted", "b granted", "c queued"]


def test_newcomer_held_back_by_others_is_let_go_by_the_next_poll() -> None:
    desk = seen(8)
    desk.now = 4.0
    assert desk.ask("a") == ["a queued", "poll for a"]
    assert desk.polled(3) == ["a granted"]


def test_newcomer_that_comes_within_an_interval_is_polled_for_at_its_end() -> None:
    desk = seen(8)
    desk.now = 0.25
    assert desk.ask("a") == ["a queued"]
    assert desk.deadline == 1.0
    assert desk.at(1.0) == ["poll for a"]


def test_slot_whose_release_started_the_poll_is_ours_until_it_ends() -> None:
    desk = Desk(1, gate_interval_s=1.0)
    desk.crowd("a b")
    assert desk.release("a") == ["a released", "poll for b"]
    desk.polled(1)
    assert desk.scheduler.snapshot(0.0).external == 0


def test_without_a_gate_nothing_is_asked_or_known() -> None:
    desk = Desk(1)
    desk.ask("a")
    desk.release("a")
    assert desk.ask("b") == ["b granted"]
    assert desk.scheduler.snapshot(0.0).external is None
