# What a replica takes for the server's time: never further off than the quickest answer was long.

import random

import pytest

from proxy.replicas.server_clock import ServerClock

AHEAD_S = 1000.0


def answer(clock: ServerClock, *, at: float, there_s: float, back_s: float) -> None:
    """To a call at that time by the server's clock, so long on its way and back."""
    clock.heard(at + there_s, called_at=at + AHEAD_S, now=at + there_s + back_s + AHEAD_S)


def test_late_first_answer_is_made_good_by_a_quick_one() -> None:
    clock = ServerClock()
    answer(clock, at=0, there_s=0.001, back_s=0.2)
    answer(clock, at=1, there_s=0.001, back_s=0.001)
    assert clock.ahead_s == pytest.approx(AHEAD_S, abs=0.0011)


def test_quick_answer_stays_believed_however_late_others_come() -> None:
    clock, chance = ServerClock(), random.Random(1)
    answer(clock, at=0, there_s=0.001, back_s=0.001)
    believed = clock.ahead_s
    for at in range(1, 100):
        answer(clock, at=at, there_s=chance.uniform(0.002, 0.5), back_s=chance.uniform(0.002, 0.5))
    assert clock.ahead_s == believed, "one moment has two names"


@pytest.mark.parametrize("moved_s", [-3600.0, 3600.0])
def test_clock_that_was_set_is_followed(moved_s: float) -> None:
    clock = ServerClock()
    answer(clock, at=0, there_s=0.001, back_s=0.001)
    clock.heard(1 - moved_s, called_at=1 + AHEAD_S, now=1.002 + AHEAD_S)
    assert clock.ahead_s == pytest.approx(AHEAD_S + moved_s, abs=0.003)
