# The words about what a provider does just now: each says why, and the page says the same.

from pathlib import Path
from typing import Any

import pytest

import proxy.web
from proxy.cli.states import CAUSES, roughly, states
from proxy.core.model import Kind
from proxy.core.pause import OPERATOR

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
WAITING = {**CALM, "inFlight": 2, "queued": 6}
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


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({**WAITING, **gate(3)}, ["the provider counts 3 of 3"]),
        ({**WAITING, "fewLeftUntil": 1}, ["few requests left in this window: an answer is awaited"]),
        ({**WAITING, **gate(4), "externalUse": 2}, ["the provider counts 4 of 3", "others use 2"]),
        ({**WAITING, **gate(2)}, ["the provider is asked first"]),
        ({**WAITING, **gate(3, "status 500")}, ["the provider does not tell its count: status 500"]),
        ({**WAITING, **gate(None, "TimeoutError")}, ["the provider does not tell its count: TimeoutError"]),
        ({**WAITING, **gate(3), **PAUSED, "pauseCause": "rate"}, ["paused for 56s (too fast)"]),
        ({**WAITING, **REFUSED}, ["one goes ahead alone"]),
        ({**WAITING, **OVERLOADED}, ["overloaded 12s ago"]),
        ({**WAITING, **OVERLOADED, **gate(2)}, ["overloaded 12s ago"]),
        (WAITING, []),
        ({**WAITING, "queued": 0, **gate(2)}, []),  # nobody waits
        ({**WAITING, "limit": None, **gate(3)}, []),
    ],
)
def test_one_who_waits_beside_a_free_slot_is_told_why(entry: dict[str, Any], words: list[str]) -> None:
    assert states(entry, NOW) == words


def test_every_cause_of_a_pause_has_words() -> None:
    assert set(CAUSES) == {OPERATOR, "exhausted", Kind.CONCURRENCY, Kind.RATE, Kind.OVERLOAD}


def test_the_page_has_the_same_words() -> None:
    script = Path(proxy.web.__file__).with_name("pages").joinpath("words.js").read_text("utf-8")
    for cause, words in CAUSES.items():
        assert f'{cause}: "{words}"' in script
