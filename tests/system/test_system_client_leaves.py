# The client's endings: wherever it leaves, the upstream hears of it, the slot goes on, nobody else is harmed
# (spec §6.3, §6.4, §10).

import asyncio

import pytest
from blackbox.call import Call
from blackbox.rig import Rig
from blackbox.waiting import never, until

HOW = pytest.mark.parametrize("how", ["fin", "rst"])
BIG = b"x" * 2_000_000


async def another_is_served(rig: Rig) -> None:
    client = await rig.ask("after")
    call = await rig.up.call()
    assert call.name == "after"
    await rig.finish(call, client)
    assert rig.up.peak == 1


@HOW
@pytest.mark.parametrize("size", [2, 300_000, 600_000, 1_000_000, 3_000_000])
async def test_client_that_leaves_the_queue_never_reaches_the_upstream(rig: Rig, how: str, size: int) -> None:
    """WAIT-11: it is noticed whatever the size of the body that it sent."""
    await rig.ask("holder")
    holder = await rig.up.call()
    (waiter,) = await rig.line_up("gone", body=b"x" * size)
    await rig.line_up("stays")
    waiter.leave(how)
    await rig.queued(1)
    await holder.answer()
    call = await rig.up.call()
    assert call.name == "stays"
    await call.answer()
    await another_is_served(rig)
    assert "gone" not in rig.up.names


async def test_half_closing_client_keeps_its_place_in_the_queue_and_is_answered(rig: Rig) -> None:
    """NET-07."""
    await rig.ask("holder")
    holder = await rig.up.call()
    (waiter,) = await rig.line_up("waits")
    waiter.fin()
    await holder.answer()
    call = await rig.up.call()
    await call.answer()
    assert (await waiter.head()).status == 200
    await another_is_served(rig)


async def test_half_closing_client_that_then_leaves_is_gone(rig: Rig) -> None:
    await rig.ask("holder")
    holder = await rig.up.call()
    (waiter,) = await rig.line_up("gone")
    waiter.fin()
    waiter.close()
    await rig.queued(0)
    await holder.answer()
    await another_is_served(rig)


@HOW
@pytest.mark.parametrize("body", [b"{}", BIG], ids=["small", "big"])
async def test_client_that_leaves_before_the_answer_begins_stops_the_upstream(rig: Rig, how: str, body: bytes) -> None:
    """LEAK-10 and LEAK-12 (a): nothing of the answer is there yet, and none of it will be read."""
    client = await rig.ask("a", body=body)
    call = await rig.up.call()
    client.leave(how)
    await call.stopped()
    await rig.in_flight(0)
    await another_is_served(rig)
    assert (await rig.status())["paused"] is False


@HOW
async def test_client_that_leaves_in_the_middle_of_a_stream_stops_the_upstream(rig: Rig, how: str) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    call.event("one")
    await client.until(b"\n\n")
    await rig.line_up("b")
    client.leave(how)
    await call.stopped()
    second = await rig.up.call()
    assert second.name == "b"
    await second.answer()
    await another_is_served(rig)


@pytest.mark.one_process(reason="one that goes to another replica does not use its connection")
@pytest.mark.parametrize("final", ["data: [DONE]\n\n", 'event: message_stop\ndata: {"type":"message_stop"}\n\n'])
async def test_client_that_closes_after_the_final_event_is_a_success(rig: Rig, final: str) -> None:
    """The upstream's end is read, so its connection serves the next request."""
    client = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    call.say(final.encode())
    await client.until(b"\n\n")
    client.close()
    await asyncio.sleep(0.1)
    await call.finish()
    await rig.in_flight(0)
    assert not call.gone.is_set()
    client = await rig.ask("b")
    second = await rig.up.call()
    assert second.connection is call.connection
    await rig.finish(second, client)


async def test_upstream_that_does_not_end_after_the_final_event_is_closed_soon(rig: Rig) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    call.event("[DONE]")
    await client.until(b"\n\n")
    client.close()
    await call.stopped()
    await another_is_served(rig)


@HOW
async def test_flood_into_a_client_that_left_is_stopped(rig: Rig, how: str) -> None:
    """LEAK-06: the upstream pushes as fast as it can, the client reads a little and leaves."""
    client = await rig.ask("a", receive_buffer=4096)
    call = await rig.up.call()
    call.begin()

    async def push() -> None:
        while not call.done.is_set():
            call.say(b"x" * 65536)
            if call.connection.transport.get_write_buffer_size() > 1_000_000:
                await asyncio.sleep(0.005)

    pushing = asyncio.create_task(push())
    try:
        await client.receive()
        await asyncio.sleep(0.1)
        client.leave(how)
        await call.stopped()
        await rig.in_flight(0)
    finally:
        call.done.set()
        await pushing
    await another_is_served(rig)


async def test_speculative_stream_cancelled_for_a_plain_answer_gives_its_slot_back_every_time(rig: Rig) -> None:
    """LEAK-01: an agent asks twice for one turn and drops the stream as soon as the plain answer starts."""
    await rig.limit(2)
    for _ in range(40):
        stream = await rig.ask("stream")
        streamed = await rig.up.call()
        streamed.begin()
        streamed.event("one")
        plain = await rig.ask("plain")
        call = await rig.up.call()
        await call.answer()
        await plain.receive()
        stream.rst()
        await streamed.stopped()
        plain.close()
        await rig.in_flight(0)
    await another_is_served_beside(rig)


async def another_is_served_beside(rig: Rig) -> None:
    client = await rig.ask("after")
    await rig.finish(await rig.up.call(), client)
    assert rig.up.peak <= 2


async def test_keep_alive_client_that_leaves_between_requests_holds_nothing(rig: Rig) -> None:
    client = await rig.ask("a")
    await rig.finish(await rig.up.call(), client)
    await rig.in_flight(0)
    client.rst()
    await another_is_served(rig)


@HOW
async def test_client_that_leaves_in_the_middle_of_its_body_was_never_there(rig: Rig, how: str) -> None:
    client = await rig.client()
    await client.send(b"POST /up/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 700_000)
    client.leave(how)
    await another_is_served(rig)
    await never(lambda: len(rig.up.calls) > 1, during=0.1)


async def test_leaving_clients_change_neither_the_limit_nor_the_pause(rig: Rig) -> None:
    """PAUSE-14: impatient callers are no overload."""
    await rig.limit(3)

    async def sse(call: Call) -> None:
        call.begin()
        call.event("one")

    rig.up.behaviour = sse
    for number in range(20):
        client = await rig.ask("a")
        await client.until(b"\n\n")
        waiter = await rig.ask("b")
        (client if number % 2 else waiter).rst()
        client.close() if not number % 2 else waiter.close()
    await rig.at_rest()
    entry = await rig.status()
    assert (entry["limit"], entry["paused"], entry["autoReduced"]) == (3, False, False)


async def test_client_that_leaves_right_after_the_whole_answer_is_a_success(rig: Rig) -> None:
    for how in ("fin", "rst") * 10:
        client = await rig.ask("a")
        call = await rig.up.call()
        call.begin()
        call.event("one")
        await client.until(b"\n\n")
        await call.finish()
        client.leave(how)
        await rig.in_flight(0)
        assert not call.gone.is_set()
    await until(lambda: len({call.connection for call in rig.up.calls}) <= 20)
    await another_is_served(rig)
