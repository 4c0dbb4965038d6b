"""The poll of the provider's own count before a waiter is granted (spec §8)."""

import pytest
from desk import Desk

from proxy.core.gate import Gate
from proxy.core.model import GateReading
from proxy.core.slots import ON_ITS_WAY_S


def gated(limit: int = 1, **facts: object) -> Desk:
    return Desk(limit=limit, gate_interval_s=1.0, **facts)  # type: ignore[arg-type]


def full(names: str = "a b c", limit: int = 1) -> Desk:
    """Slots full, then one released: a poll is under way for the first waiter."""
    desk = gated(limit)
    desk.crowd(names)
    desk.release("a")
    return desk


def test_newcomer_with_a_free_place_and_no_queue_is_not_polled_for() -> None:
    assert gated().ask("a") == ["a granted"]


def test_free_slot_starts_a_poll_for_the_first_waiter() -> None:
    desk = gated()
    desk.crowd("a b c")
    assert desk.release("a") == ["a released", "poll for b"]


def test_poll_uses_the_credentials_of_the_waiter_who_is_first_then() -> None:
    desk = gated()
    desk.ask("a")
    desk.ask("young", workspace="v", started=9)
    desk.ask("old", workspace="w", started=1)
    desk.star("v")
    assert desk.release("a") == ["a released", "poll for young"]


def test_count_below_the_limit_grants_one() -> None:
    desk = full(limit=1)
    assert desk.polled(0) == ["b granted"]


def test_count_at_the_limit_grants_nobody() -> None:
    desk = full(limit=1)
    assert desk.polled(1) == []
    assert desk.line == ["b", "c"]


@pytest.mark.parametrize("error", ["timed out", "no number at usage.x"])
def test_no_information_grants_as_without_a_gate_one_per_poll(error: str) -> None:
    desk = gated(2)
    desk.crowd("a b c d e")
    desk.release("a")
    desk.release("b")
    assert desk.polled(None, error) == ["c granted", "poll for d"]
    assert desk.polled(None, error) == ["d granted"]


def test_no_information_lets_go_whatever_the_poll_before_has_counted() -> None:
    desk = full()
    assert desk.polled(1) == []
    desk.at(1.0)
    assert desk.polled(None, "timed out")[0] == "b granted"


def test_one_poll_grants_at_most_one_and_is_followed_at_once_while_room_remains() -> None:
    desk = gated(3)
    desk.crowd("a b c d e f g")
    for name in "abc":
        desk.release(name)
    assert desk.polled(0) == ["d granted", "poll for e"]
    assert desk.polled(1) == ["e granted", "poll for f"]
    assert desk.polled(2) == ["f granted"]


def test_grant_goes_to_whoever_is_first_when_the_poll_ends() -> None:
    desk = full("a b c")
    desk.ask("vip", workspace="v", started=99)
    desk.star("v")
    assert desk.polled(0) == ["vip granted"]


def test_waiter_whose_poll_runs_may_leave_and_the_next_is_granted() -> None:
    desk = full()
    desk.cancel("b")
    assert desk.polled(0) == ["c granted"]


def test_poll_that_nobody_waits_for_any_more_grants_nobody() -> None:
    desk = full("a b")
    desk.cancel("b")
    assert desk.polled(0) == []
    assert desk.ask("c") == ["c granted"]


def test_while_a_poll_runs_nobody_is_granted_by_the_fast_path() -> None:
    desk = full("a b", limit=1)
    desk.cancel("b")
    assert desk.ask("c") == ["c queued"]
    assert desk.polled(0) == ["c granted"]


def test_newcomer_during_a_poll_whose_waiter_left_waits_for_its_end() -> None:
    desk = gated(3)
    desk.crowd("a b c d")
    assert desk.limit(5)[-1] == "poll for d"
    desk.cancel("d")
    assert desk.ask("e") == ["e queued"]
    assert desk.polled(3) == ["e granted"]


def test_slot_whose_rest_started_the_poll_counts_as_in_flight_until_it_ends() -> None:
    desk = gated(cooldown_s=0.5)
    desk.crowd("a b")
    desk.release("a")
    assert desk.at(0.5) == ["poll for b"]
    snapshot = desk.scheduler.snapshot(0.5)
    assert (snapshot.held, snapshot.cooling, snapshot.in_flight) == (0, 1, 1)
    assert [slot.ticket.path for slot in desk.scheduler.slots()] == ["a"]
    desk.polled(1)
    assert desk.scheduler.in_flight == 0


@pytest.mark.parametrize("reached", [True, False])
def test_slot_without_a_rest_that_started_the_poll_counts_until_it_ends(reached: bool) -> None:
    desk = gated(cooldown_s=0.0 if reached else 9.0)
    desk.crowd("a b")
    desk.release("a", reached=reached)
    assert desk.scheduler.in_flight == 1
    desk.polled(0)
    assert desk.scheduler.in_flight == 1  # b's own


def test_slot_that_goes_to_rest_is_no_reason_for_a_poll() -> None:
    desk = gated(2, cooldown_s=0.5)
    desk.crowd("a b c")
    desk.release("a", reached=False)
    desk.polled(2)  # room here, but the provider is full
    assert desk.release("b") == ["b released"]
    assert desk.at(0.5) == ["poll for c"]


def test_triggers_during_a_poll_cause_one_more_afterwards() -> None:
    desk = gated(3)
    desk.crowd("a b c d")
    assert desk.release("a") == ["a released", "poll for d"]
    assert desk.release("b") == ["b released"]
    assert desk.release("c") == ["c released"]
    assert desk.limit(2) == ["limit 2 by api"]
    assert desk.polled(9) == ["poll for d"]
    assert desk.polled(9) == []


def test_trigger_without_room_during_a_poll_counts_when_the_polls_own_slot_makes_room() -> None:
    desk = gated(2)
    desk.crowd("a b c")
    desk.release("a")
    desk.limit(1)  # a's slot is still counted, b's is held
    desk.release("b")
    assert desk.polled(5) == ["poll for c"]


def test_limit_change_starts_a_poll() -> None:
    desk = gated(1)
    desk.crowd("a b")
    assert desk.limit(2) == ["limit 2 by api", "poll for b"]


def test_limit_change_without_room_starts_none() -> None:
    desk = gated(2)
    desk.crowd("a b c")
    assert desk.limit(1) == ["limit 1 by api"]


def test_end_of_a_pause_starts_a_poll() -> None:
    desk = gated()
    desk.pause(5.0)
    desk.ask("a")
    assert desk.at(5.0) == ["resumed: elapsed", "poll for a"]


def test_answer_of_the_probe_starts_a_poll() -> None:
    desk = gated(3)
    desk.ask("first")
    desk.refuse("first", "rate", 5.0)
    desk.release("first")
    desk.crowd("p b")
    desk.at(5.0)
    assert desk.polled(0) == ["p granted"]  # alone: no poll at once
    assert desk.answer("p") == ["poll for b"]


def test_every_interval_while_someone_waits_and_there_is_room() -> None:
    desk = full()
    desk.now = 0.25
    desk.polled(1)
    assert desk.deadline == 1.0
    assert desk.at(0.9) == []
    assert desk.at(1.0) == ["poll for b"]
    desk.now = 1.25
    desk.polled(1)
    assert desk.deadline == 2.0


def test_poll_that_took_longer_than_the_interval_is_followed_at_once() -> None:
    desk = full()
    desk.now = 3.0
    desk.polled(1)
    assert desk.deadline == 3.0
    assert desk.at(3.0) == ["poll for b"]


def test_interval_does_not_ask_while_a_poll_runs() -> None:
    desk = full()
    assert desk.deadline == 600.0
    assert desk.at(5.0) == []
    assert desk.polled(1) == []  # no trigger came meanwhile; the interval alone asks again
    assert desk.deadline == 5.0


def test_while_a_poll_runs_the_timer_waits_for_no_other_even_if_there_is_room() -> None:
    desk = gated(2)
    desk.crowd("a b c")
    desk.release("a")
    desk.release("b")
    assert desk.deadline == 600.0


def test_without_room_or_waiters_the_interval_asks_nothing() -> None:
    desk = gated()
    desk.crowd("a b")
    assert desk.deadline == 600.0
    assert desk.at(50.0) == []
    desk.cancel("b")
    desk.release("a")
    assert desk.deadline is None


def test_paused_during_the_poll_grants_nobody() -> None:
    desk = full()
    desk.pause(5.0)
    assert desk.polled(0) == []
    assert desk.at(5.0) == ["resumed: elapsed", "poll for b"]


def test_lowered_limit_during_the_poll_counts_at_its_end() -> None:
    desk = gated(2)
    desk.crowd("a b c")
    desk.release("a")
    desk.limit(1)
    assert desk.polled(1) == []
    assert desk.line == ["c"]


def test_polls_never_overlap() -> None:
    desk = gated(3)
    desk.crowd("a b c d e f")
    polls = 0
    for name in "abc":
        polls += sum(effect.startswith("poll") for effect in desk.release(name))
    polls += sum(effect.startswith("poll") for effect in desk.limit(5))
    polls += sum(effect.startswith("poll") for effect in desk.at(30.0))
    assert polls == 1


def test_answer_to_a_poll_that_does_not_run_is_a_bug() -> None:
    with pytest.raises(ValueError, match="no poll"):
        gated().polled(0)


def test_gate_that_is_configured_no_more_lets_everybody_go_that_fits() -> None:
    desk = gated(2)
    desk.crowd("a b c d")
    desk.release("a")
    desk.release("b")
    assert desk.policy() == ["c granted"]  # a's slot counts until its poll ends
    assert desk.polled(9) == ["d granted"]


def test_last_poll_of_a_gate_that_is_configured_no_more_frees_its_slot_whatever_it_says() -> None:
    desk = gated()
    desk.crowd("a b")
    desk.release("a")
    assert desk.policy() == []
    assert desk.polled(9) == ["b granted"]


def test_poll_of_a_gate_that_is_configured_no_more_holds_no_newcomer() -> None:
    desk = gated(2)
    desk.crowd("a b c")
    desk.release("a")
    desk.cancel("c")
    desk.release("b")
    desk.policy()
    assert desk.ask("d") == ["d granted"]
    assert desk.ask("e") == ["e queued"]  # a's slot counts until its poll ends
    assert desk.polled(9) == ["e granted"]


def test_gate_that_is_new_asks_from_the_next_free_slot_on() -> None:
    desk = Desk(limit=1)
    desk.crowd("a b")
    assert desk.policy(gate_interval_s=1.0) == []
    assert desk.release("a") == ["a released", "poll for b"]


def test_shorter_interval_after_a_reload_counts_at_once() -> None:
    desk = Desk(limit=1, gate_interval_s=60.0)
    desk.crowd("a b")
    desk.release("a")
    desk.polled(1)
    assert desk.deadline == 60.0
    assert desk.policy(gate_interval_s=2.0) == ["poll for b"]
    desk.polled(1)
    assert desk.deadline == 2.0


def test_without_a_limit_there_is_no_gate() -> None:
    desk = Desk(limit=None, gate_interval_s=1.0)
    desk.pause(1.0)
    desk.crowd("a b")
    assert desk.at(1.0) == ["resumed: elapsed", "a granted", "b granted"]


# --- what it last said ---


def test_last_reading_is_kept_with_its_time() -> None:
    desk = full()
    desk.now = 0.5
    desk.polled(1)
    assert desk.scheduler.snapshot(9.0).gate == GateReading(1, 0.5, None)


def test_failure_keeps_the_last_good_number_and_says_why_it_is_stale() -> None:
    desk = full()
    desk.polled(1)
    desk.at(1.0)
    desk.polled(None, "timed out")
    assert desk.scheduler.snapshot(9.0).gate == GateReading(1, 0.0, "timed out")


def test_failure_before_any_number_is_never_read_as_zero() -> None:
    desk = full()
    desk.polled(None, "timed out")
    assert desk.scheduler.snapshot(9.0).gate == GateReading(None, 0.0, "timed out")


def test_good_number_after_a_failure_clears_the_reason() -> None:
    gate = Gate()
    for reading in (GateReading(None, 1.0, "HTTP 500"), GateReading(3, 2.0, None)):
        gate.start(0.0, 1.0, None)
        gate.finish(reading)
    assert gate.reading == GateReading(3, 2.0, None)


def test_provider_that_never_told_is_said_to_be_silent_as_of_the_latest_poll() -> None:
    gate = Gate()
    for at in (1.0, 2.0):
        gate.start(at, 1.0, None)
        gate.finish(GateReading(None, at, f"error of {at}"))
    assert gate.reading == GateReading(None, 2.0, "error of 2.0")


def test_repr_of_a_gate_says_what_it_saw() -> None:
    gate = Gate()
    assert repr(gate) == "<Gate idle nothing seen>"
    gate.start(0.0, 1.0, None)
    gate.finish(GateReading(3, 2.0, None))
    assert repr(gate) == "<Gate idle saw 3>"
    gate.start(0.0, 1.0, None)
    gate.finish(GateReading(None, 3.0, "HTTP 500"))
    gate.start(0.0, 1.0, None)
    assert repr(gate) == "<Gate polling saw 3, then HTTP 500>"


# --- what is under way while a poll counts ---


def two_free(observed: int, **facts: object) -> Desk:
    """Two of four slots are free, two wait, and the poll that runs will say `observed`."""
    desk = Desk(4, gate_interval_s=1.0, **facts)  # type: ignore[arg-type]
    desk.crowd("a b c d e f")
    desk.now = 5.0
    desk.release("a")
    desk.polled(9)
    assert desk.release("b") == ["b released", "poll for e"]
    assert desk.polled(observed) == ["e granted", "poll for f"]
    return desk


def test_poll_that_follows_a_grant_counts_what_may_not_have_arrived() -> None:
    desk = two_free(3)
    desk.now = 5.1
    assert desk.polled(3) == [], "one of ours that has ended, two that are held, and e on its way"
    assert desk.deadline == 5.0 + ON_ITS_WAY_S
    desk.at(5.0 + ON_ITS_WAY_S)
    assert desk.polled(3) == ["f granted"], "now it would count e"


def test_poll_that_has_counted_what_was_granted_is_believed() -> None:
    desk = two_free(2)
    desk.now = 5.1
    assert desk.polled(3) == ["f granted"]


def test_there_is_room_for_both_though_the_first_may_not_have_arrived() -> None:
    desk = two_free(1)
    desk.now = 5.1
    assert desk.polled(1) == ["f granted"]


def test_answer_that_begins_says_that_its_request_has_arrived() -> None:
    desk = two_free(3)
    desk.now = 5.05
    assert desk.polled(3) == []
    assert desk.answer("e") == ["poll for f"]
    assert desk.polled(3) == ["f granted"]


def test_old_number_does_not_count_a_request_because_it_is_answered() -> None:
    desk = two_free(3, gate_age_s=1.0)
    assert desk.answer("e") == []
    desk.now = 5.5
    assert desk.polled(3) == []
    assert desk.deadline == 6.0
    desk.at(6.0)
    desk.now = 6.1
    assert desk.polled(3) == []
    assert desk.deadline == 5.0 + 1.0 + ON_ITS_WAY_S


def test_answer_lifts_no_doubt_of_an_old_number() -> None:
    desk = two_free(3, gate_age_s=1.0)
    desk.now = 5.5
    assert desk.polled(3) == []
    assert desk.answer("e") == []


def test_answer_asks_for_nothing_where_a_poll_left_no_doubt() -> None:
    desk = gated(3)
    desk.crowd("a b c d")
    desk.now = 5.0
    desk.release("a")
    assert desk.polled(3) == []
    assert desk.answer("b") == []


def test_answer_before_the_first_poll_of_all_asks_for_nothing() -> None:
    desk = gated(2)
    desk.crowd("a b c")
    assert desk.answer("a") == []


def test_poll_without_information_leaves_the_next_to_the_interval_whatever_was_in_doubt() -> None:
    desk = two_free(3)
    desk.now = 5.1
    assert desk.polled(3) == []
    assert desk.at(5.0 + ON_ITS_WAY_S) == ["poll for f"]
    desk.pause(60.0)
    assert desk.polled(None, "timed out") == []
