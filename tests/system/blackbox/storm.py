# Hundreds of clients that leave whenever they like, at an upstream that fails whenever it likes; both by one seeded
# chance.

import asyncio
import random

from blackbox.call import Call
from blackbox.client import RawClient
from blackbox.rig import MESSAGES, Rig
from blackbox.upstream import hold
from blackbox.waiting import until


class Weather:
    """Answers calls and sends clients, both as a seeded chance has it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.refusals: tuple[str, ...] = ()  # codes of the proxy's own that this storm may bring

    async def serve(self, call: Call) -> None:
        """A short answer, a stream, a cut or a silence until the client leaves."""
        kind = self.chance.choices(["short", "stream", "fin", "rst", "late", "error"], [4, 6, 1, 1, 2, 1])[0]
        await asyncio.sleep(self.chance.uniform(0, 0.01))
        if kind == "short":
            await call.answer(200, b"x" * self.chance.choice([2, 3000, 200_000]))
        elif kind == "error":
            await call.answer(500, b"oops")
        elif kind in ("fin", "rst"):
            call.begin()
            call.event("one")
            call.cut(kind)
        else:
            if kind == "late":
                await asyncio.sleep(self.chance.uniform(0, 0.1))
            call.begin()
            for number in range(self.chance.randrange(6)):
                call.event(str(number))
                await asyncio.sleep(self.chance.uniform(0, 0.01))
            if self.chance.random() < 0.5:
                call.event("[DONE]")
                await asyncio.sleep(self.chance.uniform(0, 0.01))
            await call.finish()

    async def visit(self, rig: Rig) -> None:
        """One client: asks, and leaves at some moment, or waits for its answer."""
        client = await rig.proxy.connect()
        leaves = self.chance.random() < 0.6
        body = b"x" * self.chance.choice([2, 2, 2, 30_000, 700_000])
        work = asyncio.create_task(self._ask(client, body))
        try:
            if leaves:
                await asyncio.wait({work}, timeout=self.chance.expovariate(1 / 0.05))
            else:
                await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            client.leave(self.chance.choice(["fin", "rst"]))

    async def _ask(self, client: RawClient, body: bytes) -> None:
        for _ in range(self.chance.choice([1, 1, 2])):
            await client.request("POST", MESSAGES, body=body)
            answer = await client.answer(timeout=60)
            assert answer.status in (200, 429, 500, 502) or answer.code in self.refusals, answer
            if answer.ended != "clean":
                return


async def storm(rig: Rig, weather: Weather, *, clients: int, at_once: int) -> None:
    gate = asyncio.Semaphore(at_once)

    async def one() -> None:
        async with gate:
            await weather.visit(rig)

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(one())


async def as_many_as_the_limit_go_at_once(rig: Rig, limit: int) -> None:
    """Nothing was lost and nothing was made: `limit` fit, and not one more."""

    rig.up.behaviour = hold
    rig.up.calls.clear()
    for number in range(limit):
        await rig.ask(str(number))
    await until(lambda: len(rig.up.calls) == limit)
    await rig.line_up("one more")
    assert (await rig.status())["inFlight"] == limit
