# The words about what a provider does just now: each says why, and the page says the same.

from pathlib import Path
from typing import Any

import pytest

import proxy.web
from proxy.cli.states import KINDS, states
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


def gate(observed: int | None, error: str | None = None, ago_ms: int = 100) -> dict[str, Any]:
    return {"gate": {"observed": observed, "at": NOW - ago_ms, "error": error}}


OVERLOADED = {"lastRateLimit": seen("overload", 12_000)}
REFUSED = {"lastRateLimit": seen("rate", 30_000)}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (CALM, []),
        ({**CALM, **gate(3)}, []),  # nobody asks for it
        ({**CALM, "queued": 6, **gate(3)}, ["the provider counted 3, just now"]),
        (
            {**CALM, **gate(2, "status 500", 57_000)},
            ["the provider does not tell its count: status 500 (it was 2, 57 s ago)"],
        ),
        ({**CALM, **gate(None, "no number")}, ["the provider does not tell its count: no number"]),
        ({**CALM, **PAUSED, "pauseCause": "operator"}, ["paused for 56 s (by hand)"]),
        ({**CALM, **PAUSED, "pauseCause": "exhausted"}, ["paused for 56 s (no requests left in this window)"]),
        (
            {**CALM, **PAUSED, "pauseCause": "overload", **OVERLOADED},
            ["paused for 56 s (overloaded)", "refused 12 s ago: 429 overloaded"],
        ),
        ({**CALM, **PAUSED, "pauseCause": "new"}, ["paused for 56 s (new)"]),
        ({**CALM, **PAUSED}, ["paused for 56 s"]),
        ({**CALM, "restoreAt": NOW + 1_760_000}, ["goes up by one by itself in 29 min"]),
        ({**CALM, "quota": seen("quota", 300_000)}, ["quota used up 5 min ago"]),
        ({**CALM, "quota": seen("quota", 300_000, 10_800_000)}, ["quota used up 5 min ago (retry after 3 h)"]),
        ({**CALM, "strikes": {"today": 1, "allowed": 10}}, ["1 of 10 strikes today"]),
        ({**CALM, "strikes": {"today": 0, "allowed": 10}}, []),
        ({**CALM, "strikes": {"today": 2, "allowed": None}}, ["2 strikes today"]),
        ({**CALM, "strikes": {"today": 1, "allowed": None}}, ["1 strike today"]),
        ({**CALM, "externalUse": 2}, ["others use 2"]),
        ({**CALM, **OVERLOADED}, ["refused 12 s ago: 429 overloaded"]),
        ({**CALM, **REFUSED}, ["refused 30 s ago: 429 too fast"]),
        ({**CALM, "lastRateLimit": seen("none", 100, 8000)}, ["refused just now: 429 no limit named, retry after 8 s"]),
        ({**CALM, "lastRateLimit": seen("rate", 3_599_999)}, ["refused 1 h ago: 429 too fast"]),
        ({**CALM, "lastRateLimit": seen("rate", 3_600_000)}, []),
        (
            {**CALM, "quota": seen("quota", 300_000), "lastRateLimit": seen("quota", 300_000)},
            ["quota used up 5 min ago"],
        ),
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
        ({**waiting("gate", "the provider counts 3 of 3"), **gate(3)}, ["the provider counts 3 of 3"]),
        (
            {**waiting("gate_unknown", "the provider does not tell its count: x"), **gate(1, "x", 2000)},
            ["the provider does not tell its count: x (it was 1, 2 s ago)"],
        ),
        ({**waiting("gate", "as the API says"), "externalUse": 2}, ["as the API says", "others use 2"]),
        ({**waiting("rest", "it rests"), **OVERLOADED}, ["it rests", "refused 12 s ago: 429 overloaded"]),
        (waiting("slot", "all 3 slots are in use"), ["all 3 slots are in use"]),
        (
            {**waiting("pause", "paused for another 56 s"), **PAUSED, "pauseCause": "rate"},
            ["paused for 56 s (too fast)"],
        ),
        ({**CALM, "waitsFor": None}, []),
        ({**waiting("slot", "x"), "expectedWaitMs": 85_000}, ["x", "a newcomer would wait about 1 min 30 s"]),
    ],
)
def test_who_waits_is_told_why_in_the_words_of_the_api(entry: dict[str, Any], words: list[str]) -> None:
    assert states(entry, NOW) == words


def test_the_page_has_the_same_words() -> None:
    script = Path(proxy.web.__file__).with_name("pages").joinpath("words.js").read_text("utf-8")
    for cause, words in CAUSES.items():
        assert f'{cause}: "{words}"' in script
    for kind in ("quota", "none"):
        assert f'{kind}: "{KINDS[kind]}"' in script
    for phase, words in PHASES.items():
        assert f'{phase}: "{words}"' in script


def test_every_phase_has_words() -> None:
    assert set(PHASES) == {phase.value for phase in Phase}
