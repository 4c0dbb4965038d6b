# What is on its way to the store goes in order, together, and somebody can wait for it.

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from proxy.service.pending import Pending
from proxy.service.tasks import Tasks


class Writer:
    """Writes when it is let go."""

    def __init__(self) -> None:
        self.written: list[list[int]] = []
        self.may_go = asyncio.Event()

    async def write(self, items: Sequence[int]) -> bool:
        await self.may_go.wait()
        self.written.append(list(items))
        return False


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    failed: list[str] = []
    made = Tasks(lambda name, error: failed.append(name))
    yield made
    await made.close()
    assert failed == []


async def test_what_comes_while_one_batch_is_written_goes_together_afterwards(tasks: Tasks) -> None:
    writer = Writer()
    pending = Pending("save", writer.write, tasks)
    pending.add([1])
    await asyncio.sleep(0)
    pending.add([2, 3])
    pending.add([4])
    assert repr(pending) == "<Pending save: 3>"
    waiting = asyncio.create_task(pending.done())
    await asyncio.sleep(0)
    assert not waiting.done()
    writer.may_go.set()
    await waiting
    assert writer.written == [[1], [2, 3, 4]]


async def test_nothing_is_written_for_nothing(tasks: Tasks) -> None:
    writer = Writer()
    pending = Pending("save", writer.write, tasks)
    pending.add([])
    await pending.done()
    assert writer.written == []
    assert repr(tasks) == "<Tasks []>"


async def test_it_begins_again_after_a_rest(tasks: Tasks) -> None:
    writer = Writer()
    writer.may_go.set()
    pending = Pending("save", writer.write, tasks)
    for item in (1, 2):
        pending.add([item])
        await pending.done()
    assert writer.written == [[1], [2]]


async def test_who_stops_waiting_stops_nothing(tasks: Tasks) -> None:
    writer = Writer()
    pending = Pending("save", writer.write, tasks)
    pending.add([1])
    waiting = asyncio.create_task(pending.done())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    writer.may_go.set()
    await pending.done()
    assert writer.written == [[1]]
