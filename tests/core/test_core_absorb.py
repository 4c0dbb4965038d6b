"""An absorbed refusal goes back to its own place (spec §7.5)."""

from desk import Desk

from proxy.core.model import Left


def test_absorbed_request_goes_back_to_its_own_place_before_younger_prompts() -> None:
    desk = Desk()
    desk.ask("a", started=1)
    desk.ask("older", started=0)
    desk.ask("younger", started=2)
    desk.refuse("a", "rate", 5.0)
    assert desk.requeue("a") == ["a released", "a queued"]
    assert desk.line == ["older", "a", "younger"]
    assert desk.at(5.0) == ["resumed: elapsed", "older granted"]


def test_absorbed_request_is_before_later_arrivals_of_the_same_prompt() -> None:
    desk = Desk()
    desk.crowd("a b")
    desk.refuse("a", "rate", 5.0)
    desk.requeue("a")
    assert desk.line == ["a", "b"]


def test_absorbed_request_competes_for_the_slot_it_gives_back() -> None:
    desk = Desk()
    desk.crowd("a b")
    assert desk.requeue("a") == ["a released", "a queued", "a granted"]
    assert desk.line == ["b"]


def test_slot_of_an_absorbed_request_rests() -> None:
    desk = Desk(cooldown_s=0.5)
    desk.ask("a")
    assert desk.requeue("a") == ["a released", "a queued"]
    assert desk.scheduler.cooling == 1
    assert desk.at(0.5) == ["a granted"]


def test_absorbed_request_takes_another_free_slot_while_its_own_rests() -> None:
    desk = Desk(limit=2, cooldown_s=0.5)
    desk.ask("a")
    desk.refuse("a", "overload", status=529)
    assert desk.requeue("a") == ["a released", "a queued", "a granted"]
    assert (desk.scheduler.held, desk.scheduler.cooling) == (1, 1)


def test_full_queue_does_not_refuse_an_absorbed_request() -> None:
    desk = Desk(max_waiting=1)
    desk.crowd("a b")
    desk.refuse("a", "rate", 5.0)
    assert desk.requeue("a") == ["a released", "a queued"]


def test_absorbed_request_waits_anew_with_its_whole_patience() -> None:
    desk = Desk(max_wait_s=60.0)
    desk.ask("a")
    desk.now = 50.0
    desk.refuse("a", "rate", 40.0)
    desk.requeue("a")
    assert desk.deadline == 90.0
    assert desk.at(90.0) == ["resumed: elapsed", "a granted"]
    assert desk.effects[1].waited_s == 40.0


def test_absorbed_request_that_would_wait_in_vain_is_refused() -> None:
    desk = Desk(max_wait_s=60.0)
    desk.ask("a")
    desk.refuse("a", "rate", 61.0)
    assert desk.requeue("a") == ["a released", "a refused: paused"]
    assert desk.scheduler.in_flight == 0


def test_absorbing_a_slot_that_was_reclaimed_does_nothing() -> None:
    desk = Desk()
    desk.ask("a")
    desk.reclaim("a")
    assert desk.requeue("a") == []
    assert desk.line == []


def test_absorbed_request_that_leaves_the_queue_is_gone() -> None:
    desk = Desk(cooldown_s=0.5)
    desk.ask("a")
    desk.requeue("a")
    assert desk.cancel("a") == ["a left"]
    assert desk.at(0.5) == []


def test_absorbed_refusals_without_a_limit_go_again_at_once() -> None:
    desk = Desk(limit=None)
    desk.ask("a")
    desk.refuse("a", "rate", 60.0)
    assert desk.requeue("a") == ["a released", "a queued", "a granted"]


# --- a rest before the place counts again ---


def resting() -> Desk:
    """`a` was refused and rests until 0.5; `b` came later, `c` earlier."""
    desk = Desk(1)
    desk.ask("a", started=1)
    assert desk.requeue("a", rest_s=0.5) == ["a released"]
    return desk


def test_resting_request_waits_but_its_place_does_not_count_yet() -> None:
    desk = resting()
    assert (desk.line, desk.scheduler.snapshot(0.0).queued, desk.deadline) == (["a"], 1, 0.5)
    assert desk.ask("b", started=2) == ["b granted"]


def test_rested_request_stands_in_its_own_place() -> None:
    desk = resting()
    desk.crowd("b", started=2)
    desk.ask("c", started=0)
    desk.ask("d", started=3)
    assert desk.at(0.5) == ["a queued"]
    assert desk.line == ["c", "a", "d"]


def test_rested_request_goes_at_once_where_there_is_room() -> None:
    assert resting().at(0.5) == ["a queued", "a granted"]


def test_client_that_leaves_during_the_rest_leaves_the_queue() -> None:
    desk = resting()
    assert desk.cancel("a") == ["a left"]
    assert (desk.at(0.5), desk.line) == ([], [])


def test_resting_request_can_be_dropped_and_is_told_at_the_end() -> None:
    assert resting().drop("a") == ["a refused: dropped"]
    assert resting().drop_all("draining") == ["a refused: draining"]


def test_resting_request_meets_the_pause_that_has_begun_meanwhile() -> None:
    desk = resting()
    desk.pause(60.0)
    assert desk.at(0.5) == ["a queued"]
    assert desk.line == ["a"]


def test_rest_counts_as_waiting() -> None:
    desk = Desk(1)
    desk.now = 5.0
    desk.ask("a")
    desk.now = 7.0
    desk.requeue("a", rest_s=0.5)
    desk.now = 7.25
    desk.cancel("a")
    assert desk.effects == [Left(desk.tickets["a"], 0.25)]
