# The words about a queue: each of them once, as a person reads it.

import pytest

from proxy.core.model import Kind, Ticket
from proxy.core.obstacle import Code, Obstacle
from proxy.core.pause import OPERATOR
from proxy.service.words import CAUSES, lasting, place, rough, waits_for

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5.0, "0 s"),
        (0.0, "0 s"),
        (0.03, "0.1 s"),
        (0.42, "0.4 s"),
        (0.96, "1 s"),
        (28.0, "28 s"),
        (59.6, "1 min"),
        (115.0, "1 min 55 s"),
        (180.0, "3 min"),
        (599.7, "10 min"),
        (1760.0, "29 min"),
        (3599.0, "1 h"),
        (7500.0, "2 h 5 min"),
        (86_399.0, "1 d"),
        (187_200.0, "2 d 4 h"),
    ],
)
def test_length_of_time_has_two_units_at_most(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "1 s"),
        (8.2, "9 s"),
        (41.0, "45 s"),
        (85.0, "1 min 30 s"),
        (595.0, "10 min"),
        (4000.0, "1 h 7 min"),
    ],
)
def test_an_estimate_is_no_finer_than_it_can_be_true(seconds: float, words: str) -> None:
    assert rough(seconds) == words


@pytest.mark.parametrize(
    ("obstacle", "words"),
    [
        (Obstacle(code=Code.SLOT, count=4, limit=4), "all 4 slots are in use"),
        (Obstacle(code=Code.SLOT, count=2, limit=2), "both slots are in use"),
        (Obstacle(code=Code.SLOT, count=1, limit=1), "the only slot is in use"),
        (Obstacle(code=Code.SLOT, count=4, limit=1), "4 slots are in use, and the limit is 1 now"),
        (Obstacle(code=Code.COOLDOWN, until_at=102.0), "a slot rests for another 2 s"),
        (Obstacle(code=Code.COOLDOWN, until_at=100.3), "a slot rests for another moment"),
        (Obstacle(code=Code.COOLDOWN, until_at=99.9), "a slot rests for another moment"),
        (Obstacle(code=Code.PAUSE, until_at=129.0, cause="concurrency"), "paused for another 29 s: too many at once"),
        (Obstacle(code=Code.PAUSE, until_at=7300.0, cause="operator"), "paused for another 2 h: by hand"),
        (Obstacle(code=Code.PAUSE, until_at=129.0, cause="new"), "paused for another 29 s: new"),
        (Obstacle(code=Code.PAUSE, until_at=215.0, cause="rate"), "paused for another 1 min 55 s: too fast"),
        (
            Obstacle(code=Code.PROBE, until_at=101.0),
            "one goes ahead alone to see whether the provider takes requests again",
        ),
        (Obstacle(code=Code.GATE, count=4, limit=4), "the provider counts 4 of 4"),
        (Obstacle(code=Code.GATE, count=3, limit=4), "the provider counts 3 of 4, and may not know of the latest yet"),
        (Obstacle(code=Code.GATE_UNKNOWN, cause="status 500"), "the provider does not tell its count: status 500"),
        (Obstacle(code=Code.GATE_ASKED), "the provider is being asked"),
        (Obstacle(code=Code.GATE_ASKED, until_at=101.0), "the provider is asked again in a moment"),
        (Obstacle(code=Code.ALLOWANCE), "few requests are left in this window: an answer is awaited"),
        (Obstacle(code=Code.REST, until_at=103.0), "it rests after a refusal for another 3 s"),
    ],
)
def test_what_is_waited_for_is_said(obstacle: Obstacle, words: str) -> None:
    assert waits_for(obstacle, 100.0) == words


@pytest.mark.parametrize("code", Code)
def test_every_obstacle_has_words(code: Code) -> None:
    assert waits_for(Obstacle(code=code), 100.0)


def test_every_cause_of_a_pause_has_words() -> None:
    assert set(CAUSES) == {OPERATOR, "exhausted", Kind.CONCURRENCY, Kind.RATE, Kind.OVERLOAD}


@pytest.mark.parametrize(
    ("began_s_ago", "waiting_s", "starred", "rests_s", "words"),
    [
        (240.0, 12.0, False, None, "prompt began 4 min ago"),
        (240.0, 12.0, True, None, "starred, prompt began 4 min ago"),
        (12.0, 12.0, False, None, "arrived 12 s ago"),
        (12.9, 12.0, True, None, "starred, arrived 12 s ago"),
        (13.5, 12.0, False, None, "prompt began 14 s ago"),
        (-0.5, 0.1, False, None, "arrived just now"),
        (240.0, 12.0, True, 3.0, "rests after a refusal for another 3 s"),
        (240.0, 12.0, False, 0.0, "rests after a refusal for another moment"),
    ],
)
def test_place_has_its_reason(
    began_s_ago: float, waiting_s: float, starred: bool, rests_s: float | None, words: str
) -> None:
    began_ms = NOW_MS - round(began_s_ago * 1000)
    ticket = Ticket(id=1, workspace="w", conversation=None, prompt_started_at=began_ms, path="/")
    assert place(ticket, starred=starred, rests_s=rests_s, waiting_s=waiting_s, now_ms=NOW_MS) == words
