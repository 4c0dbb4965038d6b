# How long waiters can expect to wait: by hand where it can be told exactly, and against seeded chance where it cannot.

import random
import statistics
import time
from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace

import pytest
from desk import Desk

from proxy.core.forecast import Expected


def used(limit: int | None = 1, hold_s: float = 10.0, **settings: object) -> Desk:
    """Slots have been held for `hold_s`, and now, at 0, nobody holds one."""
    desk = Desk(limit, **settings)  # type: ignore[arg-type]
    desk.now = -100.0
    desk.ask("before")
    desk.now += hold_s
    desk.finish("before")
    desk.at(0.0)
    return desk


def told(desk: Desk) -> list[Expected]:
    return desk.scheduler.expected_waits(desk.now, round(desk.now * 1000))


def waits(desk: Desk) -> dict[str, float | None]:
    return {one.ticket.path: one.wait_s for one in told(desk)}


def newcomer(desk: Desk) -> float | None:
    return desk.scheduler.newcomer_wait_s(desk.now, round(desk.now * 1000))


def test_before_any_slot_was_given_back_nobody_knows() -> None:
    desk = Desk(1)
    assert newcomer(desk) == 0.0, "a free slot is known"
    desk.crowd("a b")
    assert waits(desk) == {"b": None}
    assert newcomer(desk) is None


def test_next_waits_for_what_is_left_of_a_usual_hold_and_its_rest() -> None:
    desk = used(cooldown_s=1.0)
    desk.crowd("a b c")
    desk.at(4.0)
    assert waits(desk) == {"b": 7.0, "c": 18.0}
    assert newcomer(desk) == 29.0


def test_slots_side_by_side_serve_in_turn() -> None:
    desk = used(2)
    desk.ask("a")
    desk.at(4.0)
    desk.crowd("b c d e")
    assert waits(desk) == {"c": 6.0, "d": 10.0, "e": 16.0}


def test_slot_that_is_held_for_longer_than_usual_is_expected_soon_and_never_at_once() -> None:
    desk = used()
    desk.crowd("a b")
    desk.at(500.0)
    assert waits(desk) == {"b": 50.0}


def test_refusal_says_nothing_about_how_long_an_answer_takes() -> None:
    desk = Desk(1)
    desk.crowd("a b c")
    desk.at(0.1)
    desk.refuse("a")
    desk.release("a")
    desk.at(40.0)
    assert set(waits(desk).values()) == {None}


def test_slot_that_rests_is_known_to_the_moment() -> None:
    desk = Desk(1, cooldown_s=5.0)
    desk.crowd("a b c")
    desk.at(20.0)
    desk.finish("a")
    desk.at(22.0)
    assert waits(desk) == {"b": 3.0, "c": 28.0}


def test_lowered_limit_lets_the_first_that_end_go_by() -> None:
    desk = used(3)
    for name in "abc":
        desk.at(desk.now + 1.0)
        desk.ask(name)
    desk.ask("d")
    desk.limit(1)
    assert waits(desk) == {"d": 10.0}


def test_nobody_goes_in_a_pause_by_hand() -> None:
    desk = used(2)
    desk.pause(60.0)
    desk.crowd("a b c")
    assert waits(desk) == {"a": 60.0, "b": 60.0, "c": 70.0}
    assert newcomer(desk) == 70.0


def test_after_a_pause_of_the_provider_one_goes_alone() -> None:
    desk = used(3, auto_reduce=False)
    desk.ask("a")
    desk.refuse("a", "rate", 60.0)
    desk.at(10.0)
    desk.finish("a")
    desk.crowd("b c d")
    assert waits(desk) == {"b": 50.0, "c": 51.0, "d": 51.0}
    desk.at(60.0)
    assert waits(desk) == {"c": 1.0, "d": 1.0}


def test_without_a_limit_only_a_pause_is_waited_for() -> None:
    desk = Desk(None)
    assert newcomer(desk) == 0.0
    desk.pause(60.0)
    desk.crowd("a b")
    assert waits(desk) == {"a": 60.0, "b": 60.0}
    assert newcomer(desk) == 60.0


def test_others_go_while_one_rests() -> None:
    desk = used()
    desk.crowd("a b c")
    desk.at(10.0)
    desk.requeue("a", 3.0)
    assert waits(desk) == {"a": 10.0, "c": 20.0}, "it has kept its place, and is back when b is done"
    desk.at(20.0)
    desk.requeue("b", 15.0)
    assert waits(desk) == {"b": 20.0, "c": 10.0}, "c goes before"


def test_one_that_rests_goes_when_its_rest_is_over_though_a_slot_is_free() -> None:
    desk = used()
    desk.ask("a")
    desk.at(10.0)
    desk.requeue("a", 3.0)
    assert told(desk) == [(desk.tickets["a"], 3.0, 13.0)]


def test_what_others_use_is_used() -> None:
    desk = used(2, gate_interval_s=1.0)
    desk.crowd("a b c d")
    desk.at(10.0)
    desk.finish("a")
    desk.polled(3)
    assert waits(desk) == {"c": 1.0, "d": 11.0}
    for now in (11.0, 12.0, 13.0):
        desk.at(now)
        desk.polled(9)
    assert waits(desk) == {"c": None, "d": None}, "when they will be done is unknown"


def test_where_few_requests_are_left_an_answer_is_waited_for() -> None:
    desk = used(4)
    desk.crowd("a b")
    desk.left("a", 1, 30.0)
    desk.ask("c")
    assert newcomer(desk) == 10.0, "an answer ends then, if none begins before"
    desk.left("a", 1, 4.0)
    assert newcomer(desk) == 4.0, "the window is over before"


def test_star_moves_who_has_it() -> None:
    desk = used()
    desk.ask("a")
    desk.ask("b", workspace="plain")
    desk.ask("c", workspace="dear")
    assert waits(desk) == {"b": 10.0, "c": 20.0}
    desk.star("dear")
    assert waits(desk) == {"c": 10.0, "b": 20.0}


def test_who_comes_back_with_an_older_prompt_goes_first() -> None:
    """An agent whose calls take 10 s, with 2 s between them, and somebody with a prompt of his own."""
    desk = Desk(1)
    for call in range(40):
        desk.now = call * 12.0
        desk.ask(f"call {call}", started=0, conversation="agent")
        if call < 39:
            desk.now += 10.0
            desk.finish(f"call {call}")
    desk.now += 4.0
    desk.ask("once", started=round(desk.now * 1000))
    desk.ask("another", started=round(desk.now * 1000))
    assert waits(desk) == {"once": 6.0, "another": 26.0}, "each goes while the agent's tools work"


def test_who_is_too_far_back_to_be_played_comes_at_the_pace_that_agents_leave() -> None:
    desk = Desk(1, max_waiting=5000, max_wait_s=1e6)
    desk.now = 1000.0
    for prompt in range(32):
        for _ in range(4):  # calls of 10 s each, at once after one another: a quarter are the first of a prompt
            desk.ask(f"{prompt}", started=1_000_000 + 40_000 * prompt, conversation=f"{prompt}")
            desk.now += 10.0
            desk.finish(f"{prompt}")
    desk.ask("holds", started=round(desk.now * 1000), conversation="holds")
    for number in range(2000):
        desk.ask(f"n{number}", started=round(desk.now * 1000) + 1 + number, conversation=f"n{number}")
    said = waits(desk)
    one_s = 10.0 / (33 / 129)  # a prompt is a chain of so many calls
    assert said["n1999"] == pytest.approx(2000 * one_s, rel=0.01)
    assert said["n9"] == pytest.approx(10 * one_s, rel=0.2)


def test_one_that_rests_for_longer_than_is_played_goes_after_its_rest() -> None:
    desk = used(max_waiting=5000, max_wait_s=1e6)
    desk.ask("first")
    desk.crowd(" ".join(f"n{number}" for number in range(1100)))
    desk.at(10.0)
    desk.requeue("first", 1e6)
    assert waits(desk)["first"] == 1e6


def test_who_was_done_just_now_may_be_back() -> None:
    desk = Desk(2)
    desk.now = 1000.0
    for call in range(20):
        for agent in "ab":
            desk.ask(f"{agent}{call}", started=0, conversation=agent)
        desk.now += 10.0
        for agent in "ab":
            desk.finish(f"{agent}{call}")
        desk.now += 4.0
    desk.now -= 2.0
    desk.crowd("c d", started=round(desk.now * 1000))
    desk.ask("e", started=round(desk.now * 1000))
    assert waits(desk)["e"] == 20.0, "a and b have gone once more before"


def test_who_will_come_with_a_star_goes_before_all_without() -> None:
    desk = Desk(1, max_waiting=5000, max_wait_s=1e6)
    desk.star("dear")
    desk.now = 1000.0
    for number in range(20):  # each 20 s a call of 10 s
        desk.ask(f"{number}", workspace="dear", started=round(desk.now * 1000), conversation=f"{number}")
        desk.now += 10.0
        desk.finish(f"{number}")
        desk.now += 10.0
    started = round(desk.now * 1000)
    desk.ask("holds", started=started, conversation="holds")
    for number in range(1200):
        desk.ask(f"n{number}", started=started, conversation=f"n{number}")
    said = waits(desk)
    assert (said["n0"], said["n1"], said["n2"]) == (20.0, 40.0, 60.0), "one with a star before each of them"
    assert said["n1199"] == pytest.approx(1200 * 20.0, rel=0.07)
    desk.unstar("dear")
    assert waits(desk)["n2"] == 30.0


def test_however_many_come_with_a_star_the_others_are_told_a_number() -> None:
    desk = used(limit=1, hold_s=0.0)
    desk.star("w")
    desk.at(desk.now - 100.0)
    desk.ask("a", workspace="plain")
    desk.ask("b", workspace="plain")
    assert waits(desk) == {"b": 0.0}


# --- against chance ---------------------------------------------------------------------------------------------

DRAWS: dict[str, Callable[[random.Random], float]] = {
    "like one another": lambda chance: chance.uniform(8.0, 12.0),
    "of any length": lambda chance: chance.uniform(2.0, 20.0),
    "mostly short": lambda chance: chance.expovariate(1 / 10.0),
}


def errors(draw: Callable[[random.Random], float], limit: int, seed: int) -> tuple[list[float], float]:
    """At some moment of a busy queue of 40: how far off each one's estimate is, in turns (how often a slot becomes
    free); and the sum of them with their signs over the sum of the waits."""
    chance, desk = random.Random(seed), Desk(limit, cooldown_s=0.35, max_wait_s=1e6)
    ends: list[tuple[float, str]] = []
    arrived, desk.now = 0, 1000.0

    def up_to_the_next_end() -> None:
        nonlocal arrived
        while True:
            while len(desk.line) < 40:
                desk.ask(str(arrived), started=round(desk.now * 1000))
                arrived += 1
            known = {name for _, name in ends}
            for name in [name for name, slot in desk.slots.items() if slot.held and name not in known]:
                heappush(ends, (desk.now + draw(chance), name))
            if ends and desk.deadline is not None and ends[0][0] < desk.deadline:
                return
            desk.at(desk.deadline or desk.now)

    up_to_the_next_end()
    for _ in range(40 + 4 * limit):
        desk.now, name = heappop(ends)
        desk.finish(name)
        up_to_the_next_end()
    desk.now += chance.random() * (ends[0][0] - desk.now)
    said = [one.wait_s or 0.0 for one in told(desk)]
    free_at = [at + 0.35 - desk.now for at, _ in ends]
    heapify(free_at)
    truth = [heapreplace(free_at, free_at[0] + draw(chance) + 0.35) for _ in said]
    turn_s = 10.35 / limit
    off = [(one - true) / turn_s for one, true in zip(said, truth, strict=True)]
    return off, (sum(said) - sum(truth)) / sum(truth)


@pytest.mark.parametrize("limit", [1, 4, 16])
@pytest.mark.parametrize("kind", DRAWS)
def test_estimates_are_right_within_a_few_turns(kind: str, limit: int) -> None:
    """Nobody can know it much better: what comes next is chance, and the sum of many is as far off as the square root
    of their number."""
    runs = [errors(DRAWS[kind], limit, seed) for seed in range(40)]
    for place, allowed in ((0, 2.0), (4, 4.0), (38, 8.0)):
        assert statistics.median(abs(off[place]) for off, _ in runs) <= allowed, place
    assert abs(statistics.mean(bias for _, bias in runs)) <= 0.15


def test_ten_thousand_are_told_at_once() -> None:
    desk = used(50, cooldown_s=0.35, max_waiting=20_000)
    for number in range(10_050):
        desk.ask(str(number), workspace=f"w{number % 20}", started=number * 7919 % 1000)
    began = time.process_time()
    waiters = told(desk)
    taken_s = time.process_time() - began
    assert len(waiters) == 10_000
    assert taken_s < 0.5, "it takes a tenth of that, and far more only where it grows faster than n log n"
    last_s = waiters[-1].wait_s
    assert last_s is not None
    assert last_s == pytest.approx(10_000 / 50 * 10.35, rel=0.01), "who is not played one by one comes at the same pace"


def test_reading_it_changes_nothing() -> None:
    desk = used(2, cooldown_s=1.0)
    desk.crowd("a b c d")
    desk.requeue("a", 5.0)
    before: tuple[str, object] = (repr(desk.scheduler), desk.scheduler.snapshot(desk.now))
    first = waits(desk), newcomer(desk)
    assert (waits(desk), newcomer(desk)) == first
    assert (repr(desk.scheduler), desk.scheduler.snapshot(desk.now)) == before
