# Clients that ask one after the other without a pause, at an upstream that answers at once: many grants in little time.

import asyncio
from collections.abc import Awaitable, Callable

from blackbox.call import Call

from replicas.fleet import Fleet
from replicas.scene import LIMIT

CLIENTS = 9


async def under_load(fleet: Fleet, trouble: Callable[[], Awaitable[None]], *, times: int, every: float = 0.2) -> None:
    """Each client asks `times` times, while `trouble` comes again and again. Every request is answered, and was sent
    once; never were there too many, and nothing is left."""
    fleet.up.behaviour = _briefly
    async with asyncio.timeout(80), asyncio.TaskGroup() as group:
        clients = [group.create_task(_ask(fleet, number, times)) for number in range(CLIENTS)]
        troubles = group.create_task(_again(trouble, every))
        await asyncio.wait(clients)
        troubles.cancel()
    assert len(fleet.up.calls) == CLIENTS * times, "each was sent once, and once only"
    await fleet.at_rest()
    await fleet.hear_each_other(LIMIT)
    assert fleet.up.peak == LIMIT


async def _ask(fleet: Fleet, number: int, times: int) -> None:
    for time in range(times):
        client = await fleet.ask(f"{number}-{time}", number + time)
        answer = await client.answer()
        assert answer.status == 200, answer
        client.close()


async def _briefly(call: Call) -> None:
    await asyncio.sleep(0.01)
    await call.answer()


async def _again(trouble: Callable[[], Awaitable[None]], every: float) -> None:
    while True:
        await asyncio.sleep(every)
        await trouble()
