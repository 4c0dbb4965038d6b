# The words about what a provider does just now: each says why, and the page says the same.

from pathlib import Path
from typing import Any

import pytest

import proxy.web
from proxy.cli.states import roughly, states
from proxy.cli.waiting import PHASES
from proxy.core.model import Phase
from proxy.service.words import CAUSES

NOW = 1_800_000_000_000
CALM: dict[str, Any] = {
    "limit": 3,
    "inFlight": 3,
    "queued": 0,
    "paused": False,
    "autoReduced": False,
    "lastRateLimit": None,
    "gate": None,
}
PAUSED = {"paused": True, "pausedUntil": NOW + 56_000}


def seen(kind: str, ago_ms: int, retry_after_ms: int | None = None) -> dict[str, Any]:
    return {"at": NOW - ago_ms, "status": 429, "kind": kind, "retryAfterMs": retry_after_ms}


def gate(observed: int | None, error: str | None = None) -> dict[str, Any]:
    return {"gate": {"observed": observed, "at": NOW - 100, "error": error}}


OVERLOADED = {"lastRateLimit": seen("overload", 12_000)}
REFUSED = {"lastRateLimit": seen("rate", 30_000)}


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (-5, "0s"),
        (56_000, "56s"),
        (119_000, "119s"),
        (120_000, "2m"),
        (1_760_000, "29m"),
        (7_200_000, "2h"),
        (169_200_000, "47h"),
        (172_800_000, "2d"),
    ],
)
def test_a_time_is_short_at_any_length(ms: int, words: str) -> None:
    assert roughly(ms) == words


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (CALM, []),
        ({**CALM, "queued": 6, **gate(3)}, []),  # all in use: the other columns say so
        ({**CALM, **PAUSED, "pauseCause": "operator"}, ["paused for 56s (by hand)"]),
        ({**CALM, **PAUSED, "pauseCause": "exhausted"}, ["paused for 56s (no requests left in this window)"]),
        ({**CALM, **PAUSED, "pauseCause": "overload", **OVERLOADED}, ["paused for 56s (overloaded)"]),
        ({**CALM, **PAUSED, "pauseCause": "new"}, ["paused for 56s (new)"]),
        ({**CALM, **PAUSED}, ["paused for 56s"]),
        ({**CALM, "restoreAt": NOW + 1_760_000}, ["one step up in 29m"]),
        ({**CALM, "quota": seen("quota", 300_000)}, ["quota used up 5m ago"]),
        ({**CALM, "quota": seen("quota", 300_000, 10_800_000)}, ["quota used up 5m ago (retry after 3h)"]),
        ({**CALM, "strikes": {"today": 1, "allowed": 10}}, ["1 of 10 strikes today"]),
        ({**CALM, "strikes": {"today": 2, "allowed": None}}, []),
        ({**CALM, "externalUse": 2}, ["others use 2"]),
        ({**CALM, **OVERLOADED}, ["overloaded 12s ago"]),
        ({**CALM, "lastRateLimit": seen("overload", 59_999)}, ["overloaded 60s ago"]),
        ({**CALM, "lastRateLimit": seen("overload", 60_000)}, []),
        ({**CALM, **REFUSED}, []),
    ],
)
def test_what_is_going_on_is_told_with_its_reason(entry: dict[str, Any], words: list[str]) -> None:
    assert states(entry, NOW) == words


def waiting(code: str, words: str) -> dict[str, Any]:
    return {**CALM, "queued": 6, "waitsFor": {"code": code, "words": words}}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (waiting("gate", "the provider counts 3 of 3"), ["the provider counts 3 of 3"]),
        ({**waiting("gate", "as the API says"), "externalUse": 2}, ["as the API says", "others use 2"]),
        ({**waiting("rest", "it rests"), **OVERLOADED}, ["overloaded 12s ago", "it rests"]),
        (waiting("slot", "all 3 slots are in use"), []),  # the other columns say so
        (
            {**waiting("pause", "paused for another 56 s"), **PAUSED, "pauseCause": "rate"},
            ["paused for 56s (too fast)"],
        ),
        ({**CALM, "waitsFor": None}, []),
        ({**waiting("slot", ""), "expectedWaitMs": 125_000}, ["a newcomer would wait 2m"]),
    ],
)
def test_who_waits_is_told_why_in_the_words_of_the_api(entry: dict[str, Any], words: list[str]) -> None:
    assert states(entry, NOW) == words


def test_the_page_has_the_same_words() -> None:
    script = Path(proxy.web.__file__).with_name("pages").joinpath("words.js").read_text("utf-8")
    for cause, words in CAUSES.items():
        assert f'{cause}: "{words}"' in script
    for phase, words in PHASES.items():
        assert f'{phase}: "{words}"' in script


def test_every_phase_has_words() -> None:
    assert set(PHASES) == {phase.value for phase in Phase}
