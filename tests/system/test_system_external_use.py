# Others who use the same account: what the provider counts beyond our own takes room from newcomers too, as long as it
# is known afresh (spec §6.2, §8).
#
# Rule 1: what the usage endpoint says is what our upstream has open, and `number` more.
# Rule 2: what is known of others lasts longer than a test, so each has a process of its own.

import time

import pytest
from blackbox.call import Call
from blackbox.client import RawClient
from blackbox.rig import Options, Rig, Starter
from blackbox.upstream import Usage
from blackbox.waiting import until

GATE: Options = {"url": "/v1/usage", "field": "usage.concurrent_sessions", "interval": "200ms", "timeout": "10s"}
OFTEN: Options = {"up": {"limit": 4, "cooldown": "0s", "usage": GATE}}
RARELY: Options = {"up": {"limit": 4, "cooldown": "0s", "usage": {**GATE, "interval": "10m"}}}


def shared_with(rig: Rig, others: int) -> Usage:
    usage = Usage(others)

    async def count(call: Call) -> None:
        await call.answer(200, b'{"usage":{"concurrent_sessions":%d}}' % (rig.up.open + usage.number))

    usage.answer = count
    return usage


async def four_run_and_one_waits(rig: Rig) -> tuple[list[Call], RawClient]:
    for number in range(4):
        await rig.ask(f"ours {number}")
    calls = await rig.up.take(4)
    (waiter,) = await rig.line_up("waiter")
    return calls, waiter


async def leave(rig: Rig, waiter: RawClient) -> None:
    waiter.rst()
    await rig.queued(0)
    assert rig.up.usage is not None
    usage = rig.up.usage
    await until(lambda: usage.open == 0)


async def others_are_known(rig: Rig, others: int) -> list[Call]:
    """Four of ours ran while a waiter was held back because of them; three of the four run on."""
    rig.up.usage = shared_with(rig, others)
    calls, waiter = await four_run_and_one_waits(rig)
    await calls[0].answer()
    await rig.until_status(externalUse=others)
    await leave(rig, waiter)
    return calls[1:]


async def test_newcomers_leave_room_for_others(start: Starter) -> None:
    rig = await start(OFTEN)
    ours = await others_are_known(rig, 2)
    assert await rig.metric("slotgate_external_use", provider=rig.provider) == 2
    for call in ours[1:]:
        await call.answer()
    await rig.in_flight(1)
    await rig.ask("fits")
    assert (await rig.up.call()).name == "fits"
    await rig.ask("too many")
    await rig.queued(1)
    usage = rig.up.usage
    assert usage is not None
    seen = len(usage.polls)
    await until(lambda: len(usage.polls) >= seen + 3, what="polls every interval while it waits")
    assert (rig.up.names[-1], rig.up.open) == ("fits", 2), "ours and theirs are the whole limit"
    usage.number = 1
    assert (await rig.up.call()).name == "too many"


async def test_account_that_others_fill_holds_even_our_only_request_until_they_leave(start: Starter) -> None:
    rig = await start(OFTEN)
    for call in await others_are_known(rig, 4):
        await call.answer()
    await rig.in_flight(0)
    usage = rig.up.usage
    assert usage is not None
    client = await rig.ask("only")
    await rig.queued(1)
    seen = len(usage.polls)
    await until(lambda: len(usage.polls) >= seen + 2)
    assert "only" not in rig.up.names
    usage.number = 3
    await rig.finish(await rig.up.call(), client)


async def test_nothing_is_shown_of_others_before_a_poll_tells(start: Starter) -> None:
    rig = await start(RARELY)
    rig.up.usage = shared_with(rig, 4)
    calls, _ = await four_run_and_one_waits(rig)
    assert "externalUse" not in await rig.status()
    assert await rig.metric("slotgate_external_use", provider=rig.provider) == 0
    await calls[0].answer()
    await until(lambda: rig.up.usage is not None and rig.up.usage.polls)


async def test_one_sample_that_lags_holds_no_newcomer_back(start: Starter) -> None:
    """The second of two polls still counts everything that has ended, and more."""
    rig = await start(RARELY)
    rig.up.usage = usage = shared_with(rig, 0)
    calls, _ = await four_run_and_one_waits(rig)
    await calls[0].answer()
    calls = [*calls[1:], await rig.up.call()]
    (waiter,) = await rig.line_up("another")
    usage.number = 4
    await calls[0].answer()
    await until(lambda: len(usage.polls) == 2 and usage.open == 0)
    entry = await rig.until_status(queued=1, inFlight=3)
    assert (entry["gate"]["observed"], entry["externalUse"]) == (7, 0)
    await leave(rig, waiter)
    for call in calls[1:]:
        await call.answer()
    await rig.in_flight(0)
    for name in "abcd":
        await rig.ask(name)
    assert {call.name for call in await rig.up.take(4)} == set("abcd")
    assert len(usage.polls) == 2, "somebody was polled for"


@pytest.mark.parametrize("failure", ["500", "silence", "nonsense"])
async def test_when_polls_fail_nobody_is_held_back_for_longer_than_a_poll(start: Starter, failure: str) -> None:
    timeout = "1s" if failure == "silence" else "10s"
    rig = await start({"up": {"limit": 4, "cooldown": "0s", "usage": {**GATE, "timeout": timeout}}})
    for call in await others_are_known(rig, 4):
        await call.answer()
    await rig.in_flight(0)
    usage = rig.up.usage
    assert usage is not None

    async def fail(call: Call) -> None:
        if failure == "silence":
            await call.gone.wait()
        else:
            await call.answer(500 if failure == "500" else 200, b"oops")

    usage.answer = fail
    for name in "ab":
        seen = len(usage.polls)
        await rig.ask(name)
        assert (await rig.up.call()).name == name
        assert len(usage.polls) - seen <= 1
    entry = await rig.status()
    assert (entry["gate"]["observed"] is not None, bool(entry["gate"]["error"])) == (True, True)


async def test_reduced_use_by_others_is_believed_at_once(start: Starter) -> None:
    """The least of the last polls counts: what has become free is not held back by what was."""
    rig = await start(OFTEN)
    ours = await others_are_known(rig, 3)
    usage = rig.up.usage
    assert usage is not None
    usage.number = 0
    for call in ours:
        await call.answer()
    await rig.in_flight(0)
    await rig.ask("a")
    await rig.ask("b")
    await rig.up.take(2)
    assert (await rig.status())["externalUse"] == 0
    for name in "cd":
        await rig.ask(name)
    await rig.up.take(2)
    assert (await rig.status())["inFlight"] == 4


@pytest.mark.slow
async def test_what_others_used_is_forgotten_after_a_quarter_of_a_minute(start: Starter) -> None:
    rig = await start(RARELY)
    rig.up.usage = usage = shared_with(rig, 8)
    calls, waiter = await four_run_and_one_waits(rig)
    await calls[0].answer()
    await until(lambda: usage.polls and usage.open == 0)
    entry = await rig.until_status(inFlight=3, queued=1)
    assert entry["externalUse"] >= 4
    await leave(rig, waiter)
    for call in calls[1:]:
        await call.answer()
    forgotten = await rig.until_status(inFlight=0, externalUse=None)
    assert forgotten["gate"]["observed"] == entry["gate"]["observed"], "what the poll saw is still shown"
    assert time.time() * 1000 >= entry["gate"]["at"] + 14_900
    await rig.ask("a")
    await rig.up.call()
    assert len(usage.polls) == 1, "no other poll was needed"
