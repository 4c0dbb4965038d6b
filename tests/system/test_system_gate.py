# The usage gate: waiters go only when the provider's own count has room, one a poll, and no information is never
# read as an empty or a full provider (spec §8).

import asyncio
from typing import Any

import pytest
from blackbox.call import Call
from blackbox.rig import Options, Rig, Starter
from blackbox.upstream import Usage
from blackbox.waiting import never, until

GATE: Options = {"url": "/v1/usage", "field": "usage.concurrent_sessions", "interval": "200ms", "timeout": "10s"}
UPSTREAMS = {"up": {"limit": 2, "cooldown": "0s", "usage": GATE}}


async def two_run_and_wait(rig: Rig, *waiters: str, usage: Usage, **options: object) -> list[Call]:
    """Two in flight who found a free place, and the waiters behind them."""
    rig.up.usage = usage
    calls = []
    for name in ("first", "second"):
        await rig.ask(name)
        calls.append(await rig.up.call())
    await rig.line_up(*waiters, **options)
    return calls


async def test_newcomer_who_finds_a_free_place_is_not_asked_for(rig: Rig) -> None:
    usage = Usage(99)
    await two_run_and_wait(rig, usage=usage)
    assert usage.polls == []


async def test_full_provider_holds_the_waiter_until_a_poll_shows_room(rig: Rig) -> None:
    """USE-04: the gate opens at the poll that shows room, and the waiters go in order."""
    usage = Usage(2)
    first, second = await two_run_and_wait(rig, "a", "b", usage=usage)
    await first.answer()
    await second.answer()
    await until(lambda: len(usage.polls) >= 3, what="polls every interval while someone waits and there is room")
    assert rig.up.names == ["first", "second"]
    gate = (await rig.status())["gate"]
    assert (gate["observed"], gate.get("error")) == (2, None)
    assert gate["at"] > 1_600_000_000_000
    usage.number = 1
    assert [(await rig.up.call()).name, (await rig.up.call()).name] == ["a", "b"]


async def test_newcomer_waits_behind_those_whom_the_gate_holds(start: Starter) -> None:
    """There is a free place and no poll under way, but somebody waits."""
    rig = await start({"up": {"limit": 1, "cooldown": "0s", "usage": {**GATE, "interval": "10m"}}})
    rig.up.usage = usage = Usage(9)
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("waiter")
    await first.answer()
    await until(lambda: len(usage.polls) == 1 and usage.open == 0)
    await rig.until_status(inFlight=0, queued=1)
    await rig.ask("newcomer")
    await rig.queued(2)
    assert rig.up.names == ["first"]


async def test_poll_grants_one_at_most(rig: Rig) -> None:
    usage = Usage(0)
    first, second = await two_run_and_wait(rig, "a", "b", usage=usage)
    await rig.limit(6)
    _, b = await rig.up.take(2)
    before = [poll for poll in usage.polls if poll.ended_at is not None and poll.ended_at <= b.arrived_at]
    assert len(before) >= 2, "one poll let two waiters go"
    await first.answer()
    await second.answer()


async def test_poll_that_granted_is_followed_by_another_at_once(start: Starter) -> None:
    """Not at the next interval: that is ten minutes away here."""
    rig = await start({"up": {"limit": 1, "cooldown": "0s", "usage": {**GATE, "interval": "10m"}}})
    rig.up.usage = usage = Usage(0)
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("a", "b", "c")
    await rig.limit(4)
    await rig.up.take(3)
    assert len(usage.polls) >= 3
    await first.answer()


async def answer(call: Call, status: int, body: bytes, *headers: tuple[str, str]) -> None:
    await call.answer(status, body, headers)


NO_INFORMATION: dict[str, tuple[Any, ...]] = {
    "429": (429, b"{}", ("Retry-After", "60")),
    "429 without a wait": (429, b"{}"),
    "401": (401, b'{"error":"expired"}'),
    "500": (500, b"oops"),
    "html": (200, b"<html>login</html>"),
    "empty": (200, b""),
    "no field": (200, b"{}"),
    "null": (200, b'{"usage":{"concurrent_sessions":null}}'),
    "null above": (200, b'{"usage":null}'),
    "text": (200, b'{"usage":{"concurrent_sessions":"many"}}'),
    "list": (200, b"[1]"),
    "not utf-8": (200, b"\xff\xfe"),
    "redirect": (302, b"", ("Location", "http://127.0.0.1:1/")),
}


@pytest.mark.parametrize("kind", NO_INFORMATION)
async def test_poll_without_information_grants_as_without_a_gate(rig: Rig, kind: str) -> None:
    """USE-02, USE-06, PAUSE-08: neither read as zero, nor as full, nor a rate limit of our traffic."""
    status, body, *headers = NO_INFORMATION[kind]
    usage = Usage()
    usage.answer = lambda call: answer(call, status, body, *headers)
    first, second = await two_run_and_wait(rig, "a", "b", usage=usage)
    await first.answer()
    a = await rig.up.call()
    assert a.name == "a"
    entry = await rig.status()
    assert (entry["paused"], entry["limit"], entry["autoReduced"]) == (False, 2, False)
    assert entry.get("lastRateLimit") is None
    assert entry["gate"]["error"], "the failure cannot be seen"
    usage.answer, usage.number = None, 0
    await second.answer()
    assert (await rig.up.call()).name == "b"
    gate = (await rig.until_status(queued=0))["gate"]
    assert (gate["observed"], gate["error"]) == (0, None), "polling stopped for ever"


async def test_poll_that_never_answers_times_out_and_grants(start: Starter) -> None:
    rig = await start({"up": {"limit": 2, "cooldown": "0s", "usage": {**GATE, "timeout": "500ms"}}})
    usage = Usage()

    async def silent(call: Call) -> None:
        await call.gone.wait()

    usage.answer = silent
    first, _ = await two_run_and_wait(rig, "a", usage=usage)
    await first.answer()
    assert (await rig.up.call()).name == "a"
    await until(lambda: usage.open == 0, what="the poll's connection to be closed")


async def test_polls_never_overlap(start: Starter) -> None:
    rig = await start(UPSTREAMS)  # of its own: what polls told of others is believed for a while
    usage = Usage(5)

    async def slow(call: Call) -> None:
        await asyncio.sleep(0.1)
        await call.answer(200, b'{"usage":{"concurrent_sessions":%d}}' % usage.number)

    usage.answer = slow
    first, second = await two_run_and_wait(rig, "a", "b", "c", usage=usage)
    await first.answer()
    for limit in (3, 4, 3, 4, 3):
        await rig.limit(limit)
    await second.answer()
    await until(lambda: len(usage.polls) >= 4)
    usage.number = 0
    await rig.up.take(3)
    assert usage.peak == 1


async def test_nobody_takes_the_fast_path_while_a_poll_runs(rig: Rig) -> None:
    """And the slot whose release started the poll counts until it ends."""
    usage = Usage()
    release = asyncio.Event()

    async def held(call: Call) -> None:
        await release.wait()
        await call.answer(200, b'{"usage":{"concurrent_sessions":0}}')

    usage.answer = held
    await rig.limit(1)
    rig.up.usage = usage
    await rig.ask("first")
    first = await rig.up.call()
    (waiter,) = await rig.line_up("waiter")
    await first.answer()
    await until(lambda: usage.open == 1)
    assert (await rig.status())["inFlight"] == 1
    waiter.rst()
    await rig.queued(0)
    await rig.limit(3)
    await rig.ask("newcomer")
    await rig.queued(1)
    assert rig.up.names == ["first"]
    release.set()
    assert (await rig.up.call()).name == "newcomer"


async def test_poll_speaks_with_the_credentials_of_the_waiter_only(start: Starter) -> None:
    rig = await start(UPSTREAMS)  # of its own: what polls told of others is believed for a while
    usage = Usage(0)
    keys = [("Authorization", "Bearer sk-waiter"), ("x-api-key", "key-waiter"), ("Cookie", "c=1"), ("X-Other", "1")]
    first, _ = await two_run_and_wait(rig, "a", usage=usage, headers=keys)
    await first.answer()
    await rig.up.call()
    for poll in usage.polls:
        assert poll.head.get("authorization") == "Bearer sk-waiter"
        assert poll.head.get("x-api-key") == "key-waiter"
        assert poll.head.get("cookie") is None
        assert poll.head.get("x-other") is None
        assert poll.head.get("x-name") is None
        assert (poll.head.method, poll.head.target, poll.body) == ("GET", "/v1/usage", b"")


async def test_configured_headers_are_used_instead(start: Starter) -> None:
    usage_options = {**GATE, "url": "books?of=me", "headers": {"Authorization": "Bearer configured"}}
    rig = await start({"up": {"limit": 1, "cooldown": "0s", "usage": usage_options}}, run=False)
    rig.proxy.config["upstreams"]["up"]["url"] += "/base/"
    await rig.proxy.start()
    rig.up.usage = usage = Usage(0, path="/base/books")
    await rig.ask("first", headers=[("Authorization", "Bearer client")])
    first = await rig.up.call()
    await rig.line_up("a", headers=[("Authorization", "Bearer client")])
    await first.answer()
    await rig.up.call()
    assert {poll.head.target for poll in usage.polls} == {"/base/books?of=me"}
    assert {poll.head.get("authorization") for poll in usage.polls} == {"Bearer configured"}


async def test_poll_takes_no_slot_and_one_provider_is_polled_once(start: Starter) -> None:
    """USE-05: several upstreams of one provider make one poll, not one each."""
    rig = await start(
        {
            "up": {"provider": "p", "limit": 1, "cooldown": "0s", "usage": {**GATE, "interval": "10m"}},
            "other": {"provider": "p"},
        }
    )
    polls = []
    for upstream in rig.upstreams.values():
        upstream.usage = Usage(9)
        polls.append(upstream.usage.polls)
    await rig.ask("first")
    first = await rig.up.call()
    await rig.line_up("a")
    await rig.line_up("b", target="/other/v1/messages")
    await first.answer()
    await until(lambda: sum(len(each) for each in polls) == 1)
    await never(lambda: sum(len(each) for each in polls) > 1, during=0.3)
    await rig.until_status("p", inFlight=0, queued=2)


@pytest.mark.one_process(reason="each replica has a log of its own")
async def test_failing_polls_are_logged_once_a_minute_and_counted(start: Starter) -> None:
    rig = await start({"up": {"limit": 1, "cooldown": "0s", "usage": {**GATE, "interval": "100ms"}}})
    rig.up.usage = usage = Usage()
    usage.answer = lambda call: call.answer(500, b"boom")
    await rig.ask("first")
    call = await rig.up.call()
    for number in range(5):
        await rig.line_up(str(number))
        await call.answer()
        call = await rig.up.call()
    await call.answer()
    await rig.at_rest()
    assert len(usage.polls) >= 5
    warnings = [line for line in rig.proxy.log if "usage" in str(line) and line["level"] in ("warning", "warn")]
    assert len(warnings) == 1, warnings
    assert await rig.metric("slotgate_usage_poll_errors_total") >= 5
