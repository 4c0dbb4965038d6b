# Telemetry as a whole: each fact told in the right places, with the right words, and in no other.

import asyncio
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from records import record_of

from proxy.config.settings import Log as LogSettings
from proxy.core.model import (
    CooldownSet,
    Effect,
    Granted,
    Kind,
    Left,
    LimitSet,
    Paused,
    PollUsage,
    Queued,
    RateLimit,
    RateLimited,
    Reclaimed,
    Reduced,
    Refused,
    Released,
    Resumed,
    Slot,
    Ticket,
)
from proxy.service.clock import Clock
from proxy.service.log import Log
from proxy.service.record import PATH_CHARACTERS
from proxy.service.telemetry import Telemetry
from proxy.service.vocabulary import EFFECTS, NOT_RELOADED, RELOADED, STARRED
from proxy.store.records import SavedEvent

TICKET = Ticket(id=7, workspace="w", conversation="c", prompt_started_at=5, path="/v1/x?")
SLOT = Slot(TICKET, 0, 0.0)
WHO = {"id": "7", "workspaceId": "w", "conversationId": "c"}
SAID_WHO = {"id": "7", "workspace": "w", "conversation": "c"}
NOTICE = "Concurrency limit auto-reduced to 3 after a 429 — restore manually when ready."


class World:
    """One Telemetry and everything that it tells."""

    def __init__(self, path: Path) -> None:
        self.now = 100.0
        self.history: list[SavedEvent] = []
        self._path = path
        self._fd = os.open(path, os.O_CREAT | os.O_WRONLY)
        clock = Clock(lambda: self.now)
        self.log = Log(LogSettings(level="debug"), wall_ms=clock.wall_ms, fd=self._fd)
        self.telemetry = Telemetry(clock=clock, snapshots=list, log=self.log, history=self.history.extend)

    def events(self) -> list[tuple[str, dict[str, object]]]:
        async def read() -> list[tuple[str, dict[str, object]]]:
            with self.telemetry.events.subscribe(0) as subscription:
                subscription.end()
                return [(event.name, event.data) async for event in subscription]

        return asyncio.run(read())

    def lines(self) -> list[dict[str, Any]]:
        """What was logged; nothing is any more after that."""
        assert self.log.close(10)
        lines = [json.loads(line) for line in self._path.read_text().splitlines()]
        return [{key: value for key, value in line.items() if key != "timestamp"} for line in lines]

    def number(self, start: str) -> float:
        lines = self.telemetry.metrics().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(start))

    def end(self) -> None:
        assert self.log.close(10)
        os.close(self._fd)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "log")
    yield world
    world.end()


# effect, event's name and data, log's event, level and fields
STEPS = [
    (Queued(TICKET), "queued", {**WHO, "promptStartedAt": 5}, "queue.joined", {**SAID_WHO, "prompt_started_at": 5}),
    (
        Granted(TICKET, SLOT, 1.2344),
        "granted",
        {**WHO, "waitedMs": 1234},
        "slot.granted",
        {**SAID_WHO, "waited_ms": 1234},
    ),
    (Released(SLOT, 2.0), "released", {**WHO, "heldMs": 2000}, "slot.released", {**SAID_WHO, "held_ms": 2000}),
    (Left(TICKET, 0.5), "left", {**WHO, "waitedMs": 500}, "queue.left", {**SAID_WHO, "waited_ms": 500}),
    (
        Refused(TICKET, "queue_full"),
        "refused",
        {**WHO, "code": "queue_full"},
        "queue.refused",
        {**SAID_WHO, "code": "queue_full"},
    ),
]

CHANGES = [
    (
        Reclaimed(SLOT, "silent", 300.0),
        "reclaimed",
        {**WHO, "why": "silent", "afterMs": 300_000},
        ("slot.reclaimed", "warning", {**SAID_WHO, "why": "silent", "after_ms": 300_000}),
    ),
    (
        RateLimited(TICKET, RateLimit(1, 429, Kind.RATE, 7000, 4)),
        "rate_limited",
        {**WHO, "status": 429, "kind": "rate", "retryAfterMs": 7000, "inFlight": 4},
        (
            "provider.rate_limited",
            "warning",
            {**SAID_WHO, "status": 429, "kind": "rate", "retry_after_ms": 7000, "in_flight": 4},
        ),
    ),
    (Resumed("elapsed"), "resumed", {"cause": "elapsed"}, ("provider.resumed", "info", {"cause": "elapsed"})),
    (
        Reduced(3, 4, NOTICE),
        "reduced",
        {"limit": 3, "originalLimit": 4, "notice": NOTICE},
        ("provider.reduced", "warning", {"limit": 3, "original_limit": 4, "notice": NOTICE}),
    ),
    (
        LimitSet(None, "api"),
        "limit_set",
        {"limit": None, "by": "api"},
        ("provider.limit_set", "info", {"limit": None, "by": "api"}),
    ),
]


def test_every_effect_but_the_order_to_poll_has_words() -> None:
    assert set(EFFECTS) == set(get_args(Effect)) - {PollUsage}


def test_an_effect_without_words_is_an_error(world: World) -> None:
    with pytest.raises(KeyError):
        world.telemetry.observe("p", PollUsage(TICKET))


def test_names_of_events_are_the_contracts() -> None:
    told = {words.event for words in (*(words for words, _ in EFFECTS.values()), STARRED, RELOADED, NOT_RELOADED)}
    contract = "queued granted released left refused paused resumed rate_limited reduced limit_set reclaimed starred"
    assert told - {None} == {*contract.split(), "reloaded"}


@pytest.mark.parametrize(("effect", "event", "data", "line", "fields"), STEPS)
def test_a_step_of_a_request_is_an_event_and_a_line_for_debugging(
    world: World, effect: Effect, event: str, data: dict[str, object], line: str, fields: dict[str, object]
) -> None:
    world.telemetry.observe("p", effect)
    ((name, told),) = world.events()
    assert (name, told) == (event, {"at": told["at"], "providerId": "p", **data})
    json.dumps(told)
    assert world.lines() == [{"level": "debug", "event": line, "provider": "p", **fields}]
    assert world.history == []


def test_steps_are_not_logged_unless_debugging(world: World) -> None:
    world.log.configure(LogSettings(level="info"))
    for effect, *_ in STEPS:
        world.telemetry.observe("p", effect)
    assert world.lines() == []


def test_a_step_costs_nothing_until_somebody_reads_it(world: World) -> None:
    world.log.configure(LogSettings(level="info"))
    world.telemetry.observe("p", Queued(None))  # type: ignore[arg-type]  # has nothing that could be read
    with pytest.raises(AttributeError):
        world.events()


@pytest.mark.parametrize(("effect", "event", "data", "said"), CHANGES)
def test_a_change_of_state_is_an_event_a_line_and_history(
    world: World, effect: Effect, event: str, data: dict[str, object], said: tuple[str, str, dict[str, object]]
) -> None:
    world.telemetry.observe("p", effect)
    ((name, told),) = world.events()
    assert (name, told) == (event, {"at": told["at"], "providerId": "p", **data})
    line, level, fields = said
    assert world.lines() == [{"level": level, "event": line, "provider": "p", **fields}]
    (saved,) = world.history
    assert (saved.name, saved.provider_id, saved.data) == (event, "p", data)
    assert abs(saved.at - time.time() * 1000) < 60_000


def test_a_pause_tells_until_when(world: World) -> None:
    before = time.time_ns() // 1_000_000
    world.telemetry.observe("p", Paused(world.now + 30, Kind.CONCURRENCY))
    ((name, told),) = world.events()
    until = told["until"]
    assert isinstance(until, int)
    assert before + 29_900 <= until <= before + 90_000  # the clocks may be some ms apart before one follows the other
    assert (name, told["cause"]) == ("paused", "concurrency")
    (line,) = world.lines()
    assert (line["event"], line["cause"]) == ("provider.paused", "concurrency")
    assert line["until"].endswith(f".{until % 1000:03d}Z")
    assert world.history[0].data == {"cause": "concurrency", "until": until}


def test_a_changed_cooldown_is_logged_alone(world: World) -> None:
    world.telemetry.observe("p", CooldownSet(0.35, "api"))
    assert world.events() == []
    assert world.history == []
    assert world.lines() == [
        {"level": "info", "event": "provider.cooldown_set", "provider": "p", "cooldown_ms": 350, "by": "api"}
    ]


def test_a_star_is_told_without_a_provider(world: World) -> None:
    world.telemetry.starred("w", True)
    ((name, told),) = world.events()
    assert (name, told) == (
        "starred",
        {"at": told["at"], "providerId": None, "workspaceId": "w", "starred": True},
    )
    assert [(saved.name, saved.provider_id) for saved in world.history] == [("starred", None)]
    assert [line["event"] for line in world.lines()] == ["workspace.starred"]


def test_a_reload_is_told_with_what_changed(world: World) -> None:
    world.telemetry.reloaded(["upstreams.u.limit"], ["listen"], None)
    ((name, told),) = world.events()
    assert (name, told["changed"], told["needsRestart"]) == ("reloaded", ["upstreams.u.limit"], ["listen"])
    assert world.number("slotgate_config_last_reload_successful") == 1
    assert [(line["level"], line["event"]) for line in world.lines()] == [("info", "config.reloaded")]


def test_a_reload_that_failed_is_an_error_in_log_metric_and_event(world: World) -> None:
    world.telemetry.reloaded([], [], "a.yaml:1: bad")
    ((_, told),) = world.events()
    assert told["error"] == "a.yaml:1: bad"
    assert world.number("slotgate_config_last_reload_successful") == 0
    assert [(line["level"], line["event"], line["error"]) for line in world.lines()] == [
        ("error", "config.rejected", "a.yaml:1: bad")
    ]


def test_a_request_is_one_wide_line_and_a_few_numbers(world: World) -> None:
    world.telemetry.observe("p", RateLimited(TICKET, RateLimit(1, 429, Kind.RATE, 7000, 4)))
    world.telemetry.observe("p", RateLimited(TICKET, RateLimit(2, 200, Kind.CONCURRENCY, None, 4)))
    world.telemetry.request_ended(
        record_of(
            method="POST",
            path="/v1/messages",
            upstream="u",
            provider_id="p",
            workspace="w",
            conversation="c",
            status=200,
            outcome="completed",
            waited_ms=10,
            held_ms=2000,
            first_byte_ms=700,
            bytes=12345,
            counted=True,
            ticket_id=7,
            absorbed=1,
            refused="concurrency",
        )
    )
    assert world.number('slotgate_requests_total{outcome="completed",provider="p"}') == 1
    assert world.number('slotgate_time_to_first_byte_seconds_sum{provider="p"}') == 0.7
    assert world.lines()[2:] == [
        {
            "level": "info",
            "event": "request.ended",
            "id": "7",
            "provider": "p",
            "upstream": "u",
            "workspace": "w",
            "conversation": "c",
            "method": "POST",
            "path": "/v1/messages",
            "status": 200,
            "outcome": "completed",
            "code": None,
            "why": None,
            "waited_ms": 10,
            "held_ms": 2000,
            "first_byte_ms": 700,
            "bytes": 12345,
            "counted": True,
            "absorbed": 1,
            "refused": "concurrency",
        }
    ]


def test_requests_are_not_logged_at_a_level_above_theirs_but_counted(world: World) -> None:
    world.log.configure(LogSettings(level="warning"))
    world.telemetry.request_ended(record_of(method="GET", outcome="completed"))
    assert world.lines() == []
    assert world.number("slotgate_requests_total") == 1


def test_a_path_of_any_length_makes_no_long_line(world: World) -> None:
    world.telemetry.request_ended(record_of(method="GET", path="/" + "x" * 9999, outcome="refused"))
    assert world.lines()[0]["path"] == "/" + "x" * (PATH_CHARACTERS - 1)


def test_first_bytes_of_uncounted_answers_are_not_mixed_with_generated_ones(world: World) -> None:
    world.telemetry.request_ended(record_of(method="GET", provider_id="p", outcome="completed", first_byte_ms=5))
    world.telemetry.request_ended(record_of(method="POST", provider_id="p", outcome="abandoned", counted=True))
    assert world.number("slotgate_time_to_first_byte_seconds_count") == 0
    assert world.number("slotgate_requests_total") == 2


def test_an_answer_of_our_own_is_counted_by_its_code(world: World) -> None:
    world.telemetry.request_ended(record_of(method="GET", status=404, outcome="refused", code="unknown_upstream"))
    assert world.number('slotgate_own_answers_total{code="unknown_upstream"}') == 1
    assert world.number('slotgate_requests_total{outcome="refused",provider="none"}') == 1


def test_failing_polls_are_counted_each_and_logged_once_a_minute_by_provider(world: World) -> None:
    for now in (100.0, 101.0, 159.9):
        world.now = now
        world.telemetry.poll_failed("p", "time-out")
    world.telemetry.poll_failed("q", "status 500")
    world.now = 160.0
    world.telemetry.poll_failed("p", "no field")
    assert world.number('slotgate_usage_poll_errors_total{provider="p"}') == 4
    assert [(line["level"], line["provider"], line["reason"]) for line in world.lines()] == [
        ("warning", "p", "time-out"),
        ("warning", "q", "status 500"),
        ("warning", "p", "no field"),
    ]


def test_facts_that_could_not_be_read_are_counted(world: World) -> None:
    world.telemetry.unreadable("prompt_started_at")
    assert world.number('slotgate_identity_unreadable_total{fact="prompt_started_at"}') == 1
    assert world.lines() == []


def test_state_that_cannot_be_read_is_a_line_for_each_new_reason(world: World) -> None:
    for error in ("disk", "disk", "row", "row"):
        world.telemetry.state_unread(error)
    assert [line["error"] for line in world.lines()] == ["disk", "row"]


def test_no_place_shows_the_path_of_a_request(world: World) -> None:
    for effect, *_ in [*STEPS, *CHANGES]:
        world.telemetry.observe("p", effect)
    told = json.dumps([world.events(), [dict(saved.data) for saved in world.history], world.lines()])
    assert TICKET.path not in told
    assert TICKET.path.encode() not in world.telemetry.metrics()
