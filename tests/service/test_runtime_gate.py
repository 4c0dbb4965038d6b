# The gate at work: a waiter is granted after a poll that its own credentials made (spec §8).

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rawsides.message import answer
from rawsides.peer import Peer
from rawsides.upstream import Upstream
from runtime_desk import Desk

USAGE = {"url": "/v1/usage", "field": "n", "interval": "10m"}


@pytest.fixture
async def provider() -> AsyncIterator[Upstream]:
    made = Upstream()
    yield made
    made.close()


@pytest.fixture
async def desk(tmp_path: Path, provider: Upstream) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    made.write(entry(provider), state="memory")
    await made.start()
    yield made
    await made.stop()


def entry(provider: Upstream, **changes: object) -> dict[str, object]:
    return {"url": f"http://{provider.authority}/base", "limit": 1, "cooldown": 0, "usage": USAGE, **changes}


async def poll(link: Peer, observed: object) -> str:
    """Answer the next poll on `link`: its head."""
    head = await link.head()
    await link.send(answer(b'{"n":%s}' % str(observed).encode()))
    return head.decode()


async def test_newcomer_with_a_free_place_asks_nobody(desk, provider):
    desk.admission.release(await desk.slot())
    desk.admission.release(await desk.slot())
    assert provider.was_left_alone()


async def test_waiter_goes_after_a_poll_with_its_credentials(desk, provider):
    slot = await desk.slot()
    waiting = desk.ask(credentials={"authorization": "Bearer mine"})
    await asyncio.sleep(0)
    desk.admission.release(slot)
    link = await provider.link()
    assert not waiting.done()
    head = await poll(link, 0)
    assert head.startswith("GET /v1/usage HTTP/1.1\r\n")
    assert "authorization: bearer mine\r\n" in head.lower()
    desk.admission.release(await waiting)


async def test_each_grant_has_its_own_poll(desk, provider):
    await desk.runtime.set_limit("p", 3)
    slots = [await desk.slot() for _ in range(3)]
    waiting = [desk.ask() for _ in range(3)]
    await asyncio.sleep(0)
    for slot in slots:
        desk.admission.release(slot)
    link = await provider.link()
    for count, task in enumerate(waiting, 1):
        await poll(link, 0)
        await task
        assert sum(other.done() for other in waiting) == count
    for task in waiting:
        desk.admission.release(await task)


async def test_nobody_goes_while_the_provider_counts_too_many(desk, provider):
    slot = await desk.slot()
    waiting = desk.ask()
    await asyncio.sleep(0)
    desk.admission.release(slot)
    link = await provider.link()
    await poll(link, 1)
    async with asyncio.timeout(5):
        while desk.scheduler.snapshot(0.0).gate is None:
            await asyncio.sleep(0.001)
    assert not waiting.done()
    await desk.runtime.set_limit("p", 2)  # a trigger
    await poll(link, 1)
    desk.admission.release(await waiting)


async def test_no_information_lets_go_and_is_warned_of_once_a_minute(desk, provider):
    slot = await desk.slot()
    first, second = desk.ask(), desk.ask()
    await asyncio.sleep(0)
    desk.admission.release(slot)
    link = await provider.link()
    await poll(link, "null")
    slot = await first
    assert ("usage.poll_failed", {"provider": "p", "reason": "no number at n"}) in desk.said
    desk.admission.release(slot)
    await poll(link, "null")
    desk.admission.release(await second)
    assert [event for event, _ in desk.said].count("usage.poll_failed") == 1
    assert b'usage_poll_errors_total{provider="p"} 2.0' in desk.runtime.telemetry.metrics()


async def test_gate_that_is_removed_during_a_poll_holds_nobody(desk, provider):
    slot = await desk.slot()
    waiting = desk.ask()
    await asyncio.sleep(0)
    desk.admission.release(slot)
    link = await provider.link()
    await desk.reload(entry(provider, usage=...))
    await poll(link, 99)
    desk.admission.release(await waiting)


async def test_gate_that_is_configured_no_more_lets_its_waiters_go(desk, provider):
    """Its upstream was removed while they waited."""
    slot = await desk.slot()
    waiting = desk.ask()
    await asyncio.sleep(0)
    await desk.reload({**entry(provider), "provider": "q"})
    desk.admission.release(slot)
    async with asyncio.timeout(5):
        desk.admission.release(await waiting)
    assert provider.was_left_alone()


async def test_end_of_the_process_ends_a_poll(tmp_path, provider):
    desk = Desk(tmp_path)
    desk.write(entry(provider), state="memory")
    await desk.start()
    slot = await desk.slot()
    waiting = desk.ask()
    await asyncio.sleep(0)
    desk.admission.release(slot)
    await (await provider.link()).head()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await desk.stop()
    assert desk.said == []
