# A good answer that says no request is left: the queue holds until there is one again, before a 429 comes, and nothing
# is lowered (spec §7.6).

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from blackbox.rig import Rig, Starter
from blackbox.upstream import Usage
from blackbox.waiting import until

UPSTREAMS = {"up": {"limit": 2, "cooldown": "0s", "pause": {"default": "40s", "max": "1m"}}}
Headers = tuple[tuple[str, str], ...]
OPENAI: Headers = (("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "2s"))


def epoch_s() -> float:
    return datetime.now(UTC).timestamp()


async def answered(rig: Rig, *headers: tuple[str, str], **ask: Any) -> dict[str, Any]:
    """One request that was answered 200 with these headers; the status entry afterwards."""
    client = await rig.ask(**ask)
    await (await rig.up.call()).answer(headers=headers)
    assert (await client.answer()).status == 200
    return await rig.until_status(inFlight=0)


async def goes_on(rig: Rig) -> None:
    """Nothing holds the next one."""
    client = await rig.ask("next")
    await rig.finish(await rig.up.call(), client)
    entry = await rig.status()
    assert (entry["paused"], entry["limit"], entry["autoReduced"]) == (False, 2, False)


@pytest.mark.parametrize(
    "headers",
    [
        (("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "20s")),
        (("X-RateLimit-Remaining-Requests", "0"), ("X-RateLimit-Reset-Requests", "0m20s")),
        (("x-ratelimit-remaining-requests-minute", "0"), ("x-ratelimit-reset-requests-minute", "20.0")),
        (("RateLimit", '"default";r=0;t=20'), ("RateLimit-Policy", '"default";q=100;w=60')),
        (("RateLimit", "limit=100, remaining=0, reset=20"),),
        (("RateLimit-Limit", "100"), ("RateLimit-Remaining", "0"), ("RateLimit-Reset", "20")),
        (*OPENAI, ("x-ratelimit-remaining-requests-minute", "0"), ("x-ratelimit-reset-requests-minute", "20")),
        (
            *(("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "20s")),
            *(("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "50s")),
        ),
    ],
    ids=["openai", "any case", "cerebras", "ietf", "ietf 07", "ietf 06", "longest of two", "not the tokens'"],
)
async def test_queue_holds_until_there_are_requests_again(rig: Rig, headers: Headers) -> None:
    refusals, before = await rig.metric("slotgate_rate_limited_total"), epoch_s()
    entry = await answered(rig, *headers)
    assert (entry["paused"], entry["pauseCause"]) == (True, "exhausted")
    assert before + 19.9 <= entry["pausedUntil"] / 1000 <= epoch_s() + 20.1
    assert (entry["limit"], entry["autoReduced"]) == (2, False)
    assert await rig.metric("slotgate_rate_limited_total") == refusals, "nobody was refused"


async def test_reset_as_a_moment_is_a_moment(rig: Rig) -> None:
    """Anthropic's way."""
    reset = math.ceil(epoch_s()) + 20
    stated = datetime.fromtimestamp(reset, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    requests = (("anthropic-ratelimit-requests-remaining", "0"), ("anthropic-ratelimit-requests-reset", stated))
    entry = await answered(rig, ("anthropic-ratelimit-requests-limit", "50"), *requests)
    assert (entry["paused"], entry["pauseCause"], entry["limit"]) == (True, "exhausted", 2)
    assert abs(entry["pausedUntil"] / 1000 - reset) < 0.2


async def test_hold_ends_by_itself_and_one_goes_first(rig: Rig) -> None:
    events = await rig.events()
    client = await rig.ask("first")
    first = await rig.up.call()
    await first.answer(headers=OPENAI)
    await client.answer()
    paused = await events.until("paused")
    assert paused.data["cause"] == "exhausted"
    clients = await rig.line_up("a", "b")
    probe = await rig.up.call()
    assert first.ended_at is not None
    assert probe.arrived_at - first.ended_at >= 1.95
    assert probe.name == "a"
    await rig.finish(probe, clients[0])
    second = await rig.up.call()
    assert probe.answered_at is not None
    assert second.arrived_at >= probe.answered_at
    await rig.finish(second, clients[1])
    await goes_on(rig)


async def test_queue_holds_from_the_head_of_the_answer_on_and_what_runs_goes_on(rig: Rig) -> None:
    for name in "ab":
        await rig.ask(name)
    a, b = await rig.up.take(2)
    b.begin()
    await rig.line_up("waiter")
    a.begin(headers=(OPENAI[0], ("x-ratelimit-reset-requests", "20s")))
    await rig.until_status(paused=True, inFlight=2)
    await b.finish()
    await rig.until_status(paused=True, inFlight=1, queued=1)
    a.event("still running")
    assert not a.gone.is_set()
    await a.finish()
    await rig.until_status(paused=True, inFlight=0, queued=1)


async def test_probe_that_reports_none_left_lets_nobody_follow(rig: Rig) -> None:
    await answered(rig, *OPENAI)
    a, _ = await rig.line_up("a", "b")
    await (await rig.up.call()).answer(headers=(OPENAI[0], ("x-ratelimit-reset-requests", "20s")))
    assert (await a.answer()).status == 200
    entry = await rig.until_status(paused=True, inFlight=0, queued=1)
    assert entry["pausedUntil"] / 1000 > epoch_s() + 10


async def test_hold_shortens_no_pause_and_lengthens_a_shorter_one(rig: Rig) -> None:
    for name in "ab":
        await rig.ask(name)
    a, b = await rig.up.take(2)
    await a.answer(429, b"{}", (("Retry-After", "30"),))
    before = await rig.until_status(paused=True)
    await b.answer(headers=OPENAI)
    entry = await rig.until_status(inFlight=0)
    assert entry["pausedUntil"] == pytest.approx(before["pausedUntil"], abs=100)
    await rig.resume()
    await rig.limit(2)
    for name in "cd":
        await rig.ask(name)
    c, d = await rig.up.take(2)
    await c.answer(headers=(OPENAI[0], ("x-ratelimit-reset-requests", "20s")))
    await rig.until_status(paused=True)
    await d.answer(headers=(OPENAI[0], ("x-ratelimit-reset-requests", "50s")))
    entry = await rig.until_status(inFlight=0)
    assert entry["pausedUntil"] / 1000 > epoch_s() + 40


@pytest.mark.parametrize(
    "headers",
    [
        (("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "20s")),
        (
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2099-01-01T00:00:00Z"),
        ),
        (("anthropic-ratelimit-tokens-remaining", "0"), ("anthropic-ratelimit-tokens-reset", "2099-01-01T00:00:00Z")),
        (("RateLimit", '"tpm";r=0;t=20'), ("RateLimit-Policy", '"tpm";q=100;qu="tokens";w=60')),
        (("RateLimit", '"c";r=0;t=20'), ("RateLimit-Policy", '"c";q=4;qu="concurrent-requests"')),
        (("x-ratelimit-remaining-requests", "1"), ("x-ratelimit-reset-requests", "20s")),
        (("x-ratelimit-remaining-requests", "0"),),
        (("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "0")),
        (("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "soon")),
        (("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "-5s")),
        (("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m1s")),
        (("x-ratelimit-remaining-requests-day", "0"), ("x-ratelimit-reset-requests-day", "33011.38")),
        (
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2020-01-01T00:00:00Z"),
        ),
    ],
    ids=[
        *("tokens", "input tokens", "anthropic tokens", "ietf tokens", "ietf concurrency", "one left", "no reset"),
        *("reset 0", "unreadable", "negative", "beyond pause.max", "of the day", "past"),
    ],
)
async def test_what_is_no_bucket_of_requests_that_fills_again_soon_holds_nothing(rig: Rig, headers: Headers) -> None:
    entry = await answered(rig, *headers)
    assert entry["paused"] is False
    await goes_on(rig)


async def test_answers_to_uncounted_requests_hold_nothing(rig: Rig) -> None:
    assert (await answered(rig, *OPENAI, method="GET", target="/up/v1/models"))["paused"] is False
    await goes_on(rig)


async def test_without_a_limit_nothing_holds(start: Starter) -> None:
    rig = await start({"up": {"cooldown": "0s"}})
    assert (await answered(rig, *OPENAI))["paused"] is False
    client = await rig.ask("next")
    await rig.finish(await rig.up.call(), client)


async def test_polls_of_the_usage_hold_nothing(start: Starter) -> None:
    polls = {"url": "/v1/usage", "field": "usage.concurrent_sessions", "interval": "10m"}
    rig = await start({"up": {"limit": 1, "cooldown": "0s", "usage": polls}})
    rig.up.usage = usage = Usage()
    usage.answer = lambda call: call.answer(200, b'{"usage":{"concurrent_sessions":0}}', OPENAI)
    await rig.ask("first")
    first = await rig.up.call()
    (client,) = await rig.line_up("waiter")
    await first.answer()
    await until(lambda: usage.polls)
    await rig.finish(await rig.up.call(), client)
    assert (await rig.status())["paused"] is False
