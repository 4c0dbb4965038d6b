# Clients that vanish: each at one phase of its request's life, each in one way, as a seeded chance has it.
#
# Rule 1: the same seed and number make the same client, so that rounds can be compared.
# Rule 2: a client that cannot reach its phase, since its upstream misbehaved or it waits for others, leaves all the
#         same; `reached` counts those that did reach it.

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from blackbox.client import RawClient, request_bytes
from blackbox.rig import MESSAGES, Rig
from blackbox.rough import DEEDS

IMPATIENCE_S = 0.5  # the longest that a client works towards its phase
EXITS = ("fin", "rst", "half")
SIZES = (2, 2, 2000, 30_000, 300_000)  # bytes of a request's body
UPGRADE = (("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"))


class Vanisher:
    """One client. Its phases are its methods; each returns once it is there."""

    def __init__(self, client: RawClient, chance: random.Random) -> None:
        self._client = client
        self._chance = chance
        self._deed = chance.choice(list(DEEDS))
        self._body = b"x" * chance.choice(SIZES)

    def _request(self, target: str = MESSAGES) -> bytes:
        return request_bytes("POST", target, [("x-do", self._deed)], self._body)

    async def before_a_head(self) -> None:
        pass

    async def inside_a_head(self) -> None:
        await self._client.send(self._request()[: self._chance.randrange(1, 60)])

    async def inside_a_body(self) -> None:
        target = self._chance.choice([MESSAGES, "/up/v1/files"])
        self._body = self._body.ljust(2000, b"x")
        await self._client.send(self._request(target)[: -self._chance.randrange(1, 1500)])

    async def in_the_queue(self) -> None:
        await self._client.send(self._request("/narrow/v1/messages"))
        await asyncio.sleep(self._chance.uniform(0, 0.03))

    async def dialling(self) -> None:
        await self._client.send(self._request("/hanging/v1/messages"))
        await asyncio.sleep(self._chance.uniform(0, 0.03))

    async def refused_by_nobody(self) -> None:
        await self._client.send(self._request("/absent/v1/messages"))
        await self._client.until(b"upstream_unreachable")

    async def before_the_first_byte(self) -> None:
        self._deed = "silence"
        await self._client.send(self._request())
        await asyncio.sleep(self._chance.uniform(0, 0.03))

    async def in_the_stream(self) -> None:
        self._deed = self._chance.choice(["stream", "slow_stream", "cut_by_fin", "bad_chunk", "framed_by_close"])
        await self._client.send(self._request())
        await self._client.until(b"\n\n")

    async def after_the_last_byte(self) -> None:
        for _ in range(self._chance.choice([1, 2])):
            await self._client.send(self._request())
            await self._client.answer()

    async def in_a_tunnel(self) -> None:
        await self._client.request("GET", "/up/v1/realtime", UPGRADE)
        await self._client.until(b"hello\n\n")
        await self._client.send(b"more")

    async def in_a_refusal(self) -> None:
        whole = self._chance.choice([self._request("/nobody/v1"), b"POST / HTTP/1.1\r\nHost proxy\r\n\r\n"])
        await self._client.send(whole[: len(whole) - self._chance.choice([0, 1])])
        await self._client.send(whole[-1:])

    async def too_large(self) -> None:
        head = request_bytes("POST", MESSAGES, [("Content-Length", str(1024**3))])
        await self._client.send(head + self._body)
        await self._client.until(b"body_too_large")

    async def with_more_behind(self) -> None:
        await self._client.send(self._request() * self._chance.randint(2, 6))
        await self._client.until(b"HTTP/1.1 200")

    async def leave(self) -> None:
        how = self._chance.choice(EXITS)
        if how == "half":
            with contextlib.suppress(OSError, TimeoutError):
                self._client.fin()
                await self._client.closed(timeout=self._chance.uniform(0, 0.05))
        self._client.leave("rst" if how == "rst" else "fin")


Phase = Callable[[Vanisher], Awaitable[None]]
PHASES: dict[str, Phase] = {
    name: method for name, method in vars(Vanisher).items() if not name.startswith("_") and name != "leave"
}


class Crowd:
    """Any number of vanishers. `reached` counts, for each phase, who got there."""

    def __init__(self, rig: Rig, seed: int) -> None:
        self.reached: Counter[str] = Counter()
        self._rig = rig
        self._seed = seed

    async def come_and_go(self, *, clients: int, at_once: int) -> None:
        numbers = iter(range(clients))

        async def one_after_the_other() -> None:
            for number in numbers:
                await self._visit(number)

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(one_after_the_other())

    async def _visit(self, number: int) -> None:
        chance = random.Random(f"{self._seed} {number}")
        phase = chance.choice(list(PHASES))
        vanisher = Vanisher(await self._rig.proxy.connect(), chance)
        try:
            async with asyncio.timeout(IMPATIENCE_S):
                await PHASES[phase](vanisher)
            self.reached[phase] += 1
        except (TimeoutError, OSError, AssertionError):
            pass  # rule 2: the upstream was rough, or others were first
        await vanisher.leave()
