# What is not our limit: a used-up quota concerns its own client alone, an overloaded provider holds the queue for a
# stated wait at most; neither lowers anything (spec §7.2, §7.5).

import signal
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from blackbox.call import Call
from blackbox.client import RawClient
from blackbox.rig import Options, Rig, Starter
from blackbox.waiting import never


def limited(**more: Any) -> Options:
    return {"limit": 2, "cooldown": "0s", "pause": {"default": "40s"}, **more}


UPSTREAMS = {
    "up": limited(),
    "anthropic": limited(preset="anthropic"),
    "openai": limited(preset="openai"),
    "deepseek": limited(preset="deepseek"),
    "absorbing": limited(absorb=1),
}


class Used(NamedTuple):
    """A refusal for a used-up quota, by an upstream of that name."""

    upstream: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    wait_ms: int | None

    @property
    def raw(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} No  More", *(f"{name}: {value}" for name, value in self.headers)]
        return "\r\n".join([*lines, f"Content-Length: {len(self.body)}"]).encode() + b"\r\n\r\n" + self.body


BALANCE = b'{"error":{"message":"Insufficient Balance","type":"unknown_error"}}'
INSUFFICIENT = b'{"error":{"message":"You exceeded your current quota.","code":"insufficient_quota"}}'
FIVE_HOURS = b'{"type":"error","error":{"type":"rate_limit_error","message":"This would exceed your rate limit."}}'
REJECTED = (("anthropic-ratelimit-unified-status", "rejected"), ("Retry-After", "10800"))
QUOTAS = {
    "402": Used("deepseek", 402, (), BALANCE, None),
    "402 anywhere": Used("up", 402, (("rEtry-After", "7200"),), BALANCE, 7_200_000),
    "429 insufficient_quota": Used("openai", 429, (("Retry-After", "7200"),), INSUFFICIENT, 7_200_000),
    "429 insufficient_quota, back at once": Used("openai", 429, (("Retry-After", "1"),), INSUFFICIENT, 1000),
    "429 unified rejected": Used("anthropic", 429, REJECTED, FIVE_HOURS, 10_800_000),
    "429 absorbed by nobody": Used("absorbing", 429, (("Retry-After", "7200"),), INSUFFICIENT, 7_200_000),
}


@pytest_asyncio.fixture(loop_scope="session")
async def rig(rig: Rig) -> AsyncIterator[Rig]:
    """The shared process, with some quota left everywhere."""
    yield rig
    rig.leave()
    await rig.resume()
    for name, upstream in rig.upstreams.items():
        if "quota" in await rig.status(rig.provider_of(name)):
            upstream.behaviour = Call.answer
            assert (await (await ask(rig, name)).answer()).status == 200


async def ask(rig: Rig, upstream: str, name: str = "") -> RawClient:
    return await rig.ask(name, target=f"/{upstream}/v1/messages")


async def next_call(rig: Rig, upstream: str) -> Call:
    return await rig.upstreams[upstream].call()


def unmoved(entry: dict[str, Any]) -> bool:
    return (entry["paused"], entry["limit"], entry["autoReduced"]) == (False, 2, False)


# --- a quota ---


@pytest.mark.parametrize("name", QUOTAS)
async def test_used_up_quota_reaches_its_client_byte_for_byte_and_everybody_else_goes_on(rig: Rig, name: str) -> None:
    used = QUOTAS[name]
    provider = rig.provider_of(used.upstream)
    refusals = await rig.metric("slotgate_rate_limited_total", provider=provider, kind="quota")
    clients = [await ask(rig, used.upstream, name) for name in ("a", "b")]
    a, b = await rig.upstreams[used.upstream].take(2)
    waiter = await ask(rig, used.upstream, "waiter")
    await rig.queued(1, provider)
    events = await rig.events()
    before = time.time() * 1000
    a.raw(used.raw)
    await a.end()
    refused = clients[0] if a.name == "a" else clients[1]
    assert await refused.until(used.body) == used.raw
    call = await next_call(rig, used.upstream)
    assert call.name == "waiter", "sent again, or not granted"

    event = await events.until("rate_limited", providerId=provider)
    assert (event.data["kind"], event.data["status"], event.data["retryAfterMs"]) == (
        "quota",
        used.status,
        used.wait_ms,
    )
    assert {(await events.next()).name for _ in range(2)} == {"released", "granted"}
    assert await rig.metric("slotgate_rate_limited_total", provider=provider, kind="quota") == refusals + 1
    entry = await rig.status(provider)
    assert unmoved(entry)
    assert entry["quota"] == entry["lastRateLimit"]
    assert set(entry["quota"]) == {"at", "status", "kind", "retryAfterMs"}
    assert (entry["quota"]["status"], entry["quota"]["kind"]) == (used.status, "quota")
    assert entry["quota"]["retryAfterMs"] == used.wait_ms
    assert before - 1 <= entry["quota"]["at"] <= time.time() * 1000

    await b.answer()
    await rig.in_flight(1, provider)
    assert "quota" in await rig.status(provider), "that request had been sent before the quota was used up"
    await rig.finish(call, waiter)
    await rig.until_status(provider, inFlight=0, quota=None)


@pytest.mark.parametrize(
    "status",
    [400, 401, 404, 500],
)
async def test_answer_that_is_no_success_does_not_show_that_there_is_quota_again(rig: Rig, status: int) -> None:
    client = await rig.ask()
    await (await rig.up.call()).answer(402, BALANCE)
    await client.answer()
    await rig.in_flight(0)
    client = await rig.ask()
    await (await rig.up.call()).answer(status, b'{"error":{"message":"something else"}}')
    assert (await client.answer()).status == status
    await rig.in_flight(0)
    assert (await rig.status())["quota"]["status"] == 402
    client = await rig.ask()
    await rig.finish(await rig.up.call(), client)
    await rig.until_status(quota=None)


async def test_another_refusal_leaves_the_quota_used_up(rig: Rig) -> None:
    client = await rig.ask()
    await (await rig.up.call()).answer(402, BALANCE)
    await client.answer()
    client = await rig.ask()
    await (await rig.up.call()).answer(529, b"{}")
    await client.answer()
    entry = await rig.until_status(inFlight=0)
    assert (entry["quota"]["status"], entry["lastRateLimit"]["status"]) == (402, 529)


async def test_answers_to_uncounted_requests_say_nothing_about_the_quota(rig: Rig) -> None:
    client = await rig.ask(method="GET", target="/up/v1/models")
    await (await rig.up.call()).answer(402, BALANCE)
    await client.answer()
    assert "quota" not in await rig.status()
    client = await rig.ask()
    await (await rig.up.call()).answer(402, BALANCE)
    await client.answer()
    client = await rig.ask(method="GET", target="/up/v1/models")
    await rig.finish(await rig.up.call(), client)
    assert "quota" in await rig.status()


async def test_probe_that_finds_the_quota_used_up_lets_the_others_go_at_once(rig: Rig) -> None:
    """Not after the second that a silent probe is given: both moments are the proxy's own."""
    client = await rig.ask()
    await (await rig.up.call()).answer(429, b"{}", (("Retry-After", "2"),))
    await client.answer()
    await rig.until_status(paused=True)
    await rig.limit(3)
    events = await rig.events()
    await rig.line_up("probe", "b", "c")
    probe = await rig.up.call()
    assert probe.name == "probe"
    await probe.answer(402, BALANCE)
    refused = await events.until("rate_limited", kind="quota")
    granted = [await events.until("granted") for _ in range(2)]
    assert {call.name for call in await rig.up.take(2)} == {"b", "c"}
    assert granted[-1].data["at"] - refused.data["at"] < 500


# --- an overload ---


@pytest.mark.parametrize("status", [503, 529])
@pytest.mark.parametrize(("stated", "expected_s"), [("7", 7), ("60", 60), ("3600", 60), ("100000", 60)])
async def test_overload_pauses_for_a_stated_wait_of_a_minute_at_most_and_lowers_nothing(
    rig: Rig, status: int, stated: str, expected_s: int
) -> None:
    client = await rig.ask()
    await (await rig.up.call()).answer(status, b"{}", (("Retry-After", stated),))
    assert (await client.answer()).head.get("retry-after") == stated
    entry = await rig.until_status(paused=True, inFlight=0)
    paused_ms = entry["pausedUntil"] - entry["lastRateLimit"]["at"]
    assert abs(paused_ms - expected_s * 1000) < 500
    assert (entry["pauseCause"], entry["lastRateLimit"]["kind"]) == ("overload", "overload")
    assert entry["lastRateLimit"]["retryAfterMs"] == int(stated) * 1000
    assert (entry["limit"], entry["autoReduced"], "quota" in entry) == (2, False, False)


@pytest.mark.parametrize("status", [503, 529])
async def test_overload_without_a_stated_wait_holds_no_waiter(rig: Rig, status: int) -> None:
    for name in ("a", "b"):
        await rig.ask(name)
    a, b = await rig.up.take(2)
    await rig.line_up("waiter")
    await a.answer(status, b'{"error":{"type":"overloaded_error"}}')
    assert (await rig.up.call()).name == "waiter"
    assert unmoved(await rig.status())
    await b.answer()


@pytest.mark.parametrize("status", [503, 529])
async def test_absorbed_overload_is_sent_again_once_and_then_told(rig: Rig, status: int) -> None:
    """§7.5: without a stated wait there is nothing to wait for; how often is bounded, so that it cannot spin."""
    up, provider = rig.upstreams["absorbing"], rig.provider_of("absorbing")
    client = await ask(rig, "absorbing", "a")
    for number in "12":
        await (await up.call()).answer(status, number.encode())
    answer = await client.answer()
    assert (answer.status, answer.body) == (status, b"2")
    await rig.in_flight(0, provider)
    assert unmoved(await rig.status(provider))
    await never(lambda: len(up.calls) > 2, during=0.3, what="sent again once too often")


async def test_absorbed_overload_waits_for_as_long_as_is_stated(rig: Rig) -> None:
    up, provider = rig.upstreams["absorbing"], rig.provider_of("absorbing")
    client = await ask(rig, "absorbing", "a")
    first = await up.call()
    await first.answer(529, b"{}", (("Retry-After", "1"),))
    await rig.until_status(provider, paused=True, queued=1, inFlight=0, limit=2)
    again = await up.call()
    assert first.ended_at is not None
    assert again.arrived_at - first.ended_at >= 0.95
    await rig.finish(again, client)


async def test_drain_tells_the_client_of_an_absorbed_overload_that_rests(start: Starter) -> None:
    rig = await start({"up": limited(absorb=5)}, shutdown={"grace": "100ms"})
    client = await rig.ask()
    for _ in range(3):  # the third rest is long enough for a busy machine
        await (await rig.up.call()).answer(529, b"{}")
    await rig.in_flight(0)
    rig.proxy.signal(signal.SIGTERM)
    answer = await client.answer()
    assert (answer.status, answer.code) in ((529, None), (503, "draining"))


async def test_client_that_leaves_while_its_absorbed_overload_rests_is_not_sent_again(start: Starter) -> None:
    rig = await start({"up": limited(absorb=5)})
    client = await rig.ask()
    for _ in range(2):
        await (await rig.up.call()).answer(529, b"{}")
    await rig.in_flight(0)
    client.rst()
    await never(lambda: len(rig.up.calls) > 2, during=1.5)


# --- for comparison, what is ours ---


@pytest.mark.parametrize(
    "body",
    [b'{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached for requests per min."}}', b"\xff<oops>"],
    ids=["rate", "unknown"],
)
@pytest.mark.parametrize("upstream", ["up", "absorbing"])
async def test_429_for_rate_or_for_nobody_knows_what_pauses_for_the_default_and_lowers(
    rig: Rig, upstream: str, body: bytes
) -> None:
    provider = rig.provider_of(upstream)
    client = await ask(rig, upstream)
    await (await next_call(rig, upstream)).answer(429, body)
    absorbed = upstream == "absorbing"
    entry = await rig.until_status(provider, paused=True, inFlight=0, queued=int(absorbed))
    assert abs(entry["pausedUntil"] - entry["lastRateLimit"]["at"] - 40_000) < 500
    assert (entry["limit"], entry["autoReducedFrom"], "quota" in entry) == (1, 2, False)
    assert [seen["kind"] for seen in entry["evidence"]] == ["rate"]
    if absorbed:
        await rig.admin.delete(f"/concurrency/pause/{provider}")
        await (await next_call(rig, upstream)).answer(429, body)
    assert (await client.answer()).body == body
