# The end of the process: it drains within its grace, a second signal cuts at once, the status is 0 (spec §6.4, §17).

import asyncio
import signal

import pytest
from blackbox.client import CUT, RESET
from blackbox.rig import Rig, Starter
from blackbox.waiting import until


async def refuses_new_connections(rig: Rig) -> bool:
    try:
        client = await rig.client()
        return not await client.receive(timeout=0.2)
    except OSError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_running_stream_finishes_and_the_status_is_0(start: Starter, number: int) -> None:
    rig = await start(shutdown={"grace": "20s"})
    client = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    call.event("one")
    await client.head()
    rig.proxy.signal(number)
    await until(lambda: refuses_new_connections(rig), every=0.05)
    call.event("two")
    await client.until(b"data: two\n\n")
    await call.finish()
    assert await client.until(b"0\r\n\r\n") == b"\r\n0\r\n\r\n"
    assert await rig.proxy.ended() == 0


async def test_waiter_may_still_be_granted_while_draining(start: Starter) -> None:
    rig = await start(shutdown={"grace": "20s"})
    await rig.ask("a")
    a = await rig.up.call()
    (waiter,) = await rig.line_up("b")
    rig.proxy.signal(signal.SIGTERM)
    await until(lambda: refuses_new_connections(rig), every=0.05)
    await a.answer()
    await rig.finish(await rig.up.call(), waiter)
    assert await rig.proxy.ended() == 0


async def test_at_the_end_of_the_grace_waiters_are_told_and_streams_are_cut(start: Starter) -> None:
    """LEAK-12 (b) as well: a request that awaits its head ends too."""
    rig = await start({"up": {"limit": 2, "cooldown": "0s"}}, shutdown={"grace": "1s"})
    streaming = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    call.event("one")
    head = await streaming.head()
    awaiting = await rig.ask("b")
    silent = await rig.up.call()
    (waiter,) = await rig.line_up("c")
    rig.proxy.signal(signal.SIGTERM)
    answer = await waiter.answer()
    assert (answer.status, answer.code) == (503, "draining")
    assert 1 <= int(answer.head.get("retry-after") or 0) <= 59
    assert (await streaming.body(head))[1] in (CUT, RESET)
    await call.stopped()
    await silent.stopped()
    await awaiting.closed()
    assert await rig.proxy.ended() == 0
    assert rig.up.names == ["a", "b"]


async def test_second_signal_cuts_at_once(start: Starter) -> None:
    rig = await start(shutdown={"grace": "10m"})
    client = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    head = await client.head()
    (waiter,) = await rig.line_up("b")
    rig.proxy.signal(signal.SIGTERM)
    await until(lambda: refuses_new_connections(rig), every=0.05)
    rig.proxy.signal(signal.SIGTERM)
    assert (await client.body(head))[1] in (CUT, RESET)
    assert await rig.proxy.ended() == 0
    await waiter.closed()
    assert rig.up.names == ["a"]


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_client_that_leaves_while_the_shutdown_cuts_it_ends_once(start: Starter, how: str) -> None:
    """LEAK-04, second half: two cancellations in a row."""
    rig = await start(shutdown={"grace": "10m"})
    client = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    await client.head()
    rig.proxy.signal(signal.SIGTERM)
    await until(lambda: refuses_new_connections(rig), every=0.05)
    client.leave(how)
    rig.proxy.signal(signal.SIGTERM)
    await call.stopped()
    assert await rig.proxy.ended() == 0
    assert "Traceback" not in rig.proxy.output


async def test_idle_proxy_ends_at_once(start: Starter) -> None:
    rig = await start(shutdown={"grace": "10m"})
    idle = await rig.ask("a")
    await rig.finish(await rig.up.call(), idle)
    reader = await rig.events()
    await asyncio.sleep(0)
    rig.proxy.signal(signal.SIGTERM)
    assert await rig.proxy.ended() == 0
    reader.close()
