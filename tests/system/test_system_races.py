# Things that fall into one moment: the end of one request, the leaving of the next, a newcomer on a hot connection, a
# time-out. Each test sweeps the moment; a slot lost once is a stall, a slot given twice a violation
# (bug cases WAIT-01, -02, -05, -07, LEAK-04).

import asyncio
import random
from collections.abc import Callable
from functools import partial

import pytest
from blackbox.call import Call
from blackbox.client import RawClient, request_bytes
from blackbox.rig import MESSAGES, Rig, Starter
from blackbox.waiting import until

UPSTREAMS = {"up": {"limit": 1, "cooldown": "0s"}}
pytestmark = pytest.mark.slow


async def after(seconds: float, act: Callable[[], object]) -> None:
    """Sleeps as finely as the loop can, then acts."""
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0)
    act()


def sweep(count: int, reach: float) -> list[tuple[float, float]]:
    """Pairs of delays whose difference runs from -reach to +reach."""
    steps = [reach * (2 * number / (count - 1) - 1) for number in range(count)]
    return [(max(0.0, -step), max(0.0, step)) for step in steps]


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_first_waiter_leaves_in_the_moment_of_its_grant(rig: Rig, how: str) -> None:
    """WAIT-01: the slot goes on to the next live waiter, without any new traffic."""
    rig.up.limit = 1
    for ending, leaving in sweep(60, 0.003):
        await rig.ask("a")
        a = await until_named(rig, "a")
        b, _ = await rig.line_up("b", "c")
        await asyncio.gather(after(ending, partial(finish_now, a)), after(leaving, partial(b.leave, how)))
        await finish(await until_named(rig, "c"))
        await rig.at_rest()
        forget(rig)


async def test_two_waiters_leave_in_the_moment_of_the_release(rig: Rig) -> None:
    """WAIT-02: whoever waits behind the dead is not stranded."""
    rig.up.limit = 1
    for ending, leaving in sweep(40, 0.002):
        await rig.ask("a")
        a = await until_named(rig, "a")
        b, c, _ = await rig.line_up("b", "c", "d")
        await asyncio.gather(
            after(ending, partial(finish_now, a)),
            after(leaving, b.rst),
            after(leaving, c.rst),
        )
        await finish(await until_named(rig, "d"))
        await rig.at_rest()
        forget(rig)


async def test_newcomer_on_a_hot_connection_takes_no_place_from_the_first_waiter(rig: Rig) -> None:
    """WAIT-07: between a waiter's waking and its running nobody slips in."""
    rig.up.limit = 1
    hot = await rig.proxy.connect()  # outlives the rounds
    for ending, arriving in sweep(80, 0.002):
        await rig.ask("a")
        a = await until_named(rig, "a")
        (b,) = await rig.line_up("b")
        said = request_bytes("POST", MESSAGES, [("x-name", "c")], b"{}")
        sending = asyncio.create_task(_after_send(arriving, hot, said))
        await after(ending, partial(finish_now, a))
        await sending
        call = await until_named(rig, "b")
        assert "c" not in rig.up.names or rig.up.names.index("b") < rig.up.names.index("c")
        await finish(call)
        assert (await b.answer()).status == 200
        await finish(await until_named(rig, "c"))
        assert (await hot.answer()).status == 200
        assert rig.up.peak == 1
        forget(rig)
    hot.close()


async def test_client_resets_around_the_last_chunk(rig: Rig) -> None:
    """LEAK-04: the release cannot be cancelled away."""
    rig.up.limit = 1
    chance = random.Random(4)
    for _ in range(120):
        client = await rig.ask("a")
        call = await until_named(rig, "a")
        call.begin()
        call.event("one")
        await client.until(b"\n\n")
        await asyncio.gather(
            after(chance.uniform(0, 0.002), partial(finish_now, call, b"0\r\n\r\n")),
            after(chance.uniform(0, 0.004), client.rst),
        )
        await rig.in_flight(0)
        forget(rig)


async def test_grant_time_out_and_leaving_fall_together(start: Starter) -> None:
    """WAIT-05: forwarded for a live client, or ended; never sent for a dead one and never lost."""
    rig = await start({"up": {"limit": 1, "cooldown": "0s"}}, queue={"max_wait": "500ms"})
    rig.up.limit = 1
    chance = random.Random(5)
    for _ in range(8):
        await rig.ask("a")
        a = await until_named(rig, "a")
        loop = asyncio.get_running_loop()
        began = loop.time()
        waiters = [await rig.ask(f"w{number}") for number in range(6)]
        moment = 0.5 - (loop.time() - began)
        rig.up.behaviour = finish
        await asyncio.gather(
            after(moment + chance.uniform(-0.01, 0.01), partial(finish_now, a)),
            *(after(moment + chance.uniform(-0.01, 0.01), waiter.rst) for waiter in waiters[:3]),
        )
        for waiter in waiters[3:]:
            answer = await waiter.answer()
            assert answer.status == 200 or answer.code == "queue_timeout"
        await rig.at_rest()
        rig.up.behaviour = _held
        forget(rig)
    assert rig.up.violations == []


async def test_deletion_and_leaving_and_ending_fall_together(rig: Rig) -> None:
    """LEAK-12: an operator, the client and the upstream end the same request at once."""
    rig.up.limit = 1
    for _ in range(40):
        client = await rig.ask("a")
        call = await until_named(rig, "a")
        (slot,) = (await rig.slots())["slots"]
        await asyncio.gather(
            rig.admin.delete(f"/concurrency/slots/{rig.provider}/{slot['id']}"),
            after(0.0005, partial(finish_now, call)),
            after(0.0007, client.rst),
        )
        await rig.in_flight(0)
        forget(rig)
    await rig.ask("b")
    await until_named(rig, "b")
    await rig.line_up("c")
    assert rig.up.violations == []


async def until_named(rig: Rig, name: str) -> Call:
    def found() -> Call | None:
        return next((call for call in rig.up.calls if call.name == name), None)

    call: Call = await until(found, every=0.001, what=f"{name} at the upstream; there: {rig.up.calls}")
    return call


def finish_now(call: Call, last: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") -> None:
    call.raw(last)
    call.connection.over(call)


async def finish(call: Call) -> None:
    finish_now(call)


async def _held(call: Call) -> None:
    """Left to the test."""


async def _after_send(seconds: float, client: RawClient, data: bytes) -> None:
    await after(seconds, lambda: None)
    await client.send(data)


def forget(rig: Rig) -> None:
    """The next round starts with an empty list; violations stay violations."""
    assert rig.up.violations == []
    rig.up.calls.clear()
    rig.leave()
