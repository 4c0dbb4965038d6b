# Hundreds of requests on one client connection, while the upstream ends its own in every way and moment there is. Each
# POST is executed once at most, and each is answered: by its upstream, or by a 502 (KA-01).
#
# A request is executed when its upstream answers it. One that was read and not answered is sent again, once, if its
# connection had served before; spec §10 allows no other.

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from rawsides.message import answer, post
from rawsides.peer import Peer
from rawsides.rig import Rig

REQUESTS = 200
AFTER = ["keep", "keep", "announce", "close", "reset", "junk", "surplus"]  # how an answer is followed
JUNK = answer(b"nobody asked", status="408 Request Timeout")
INSTEAD = ["close", "reset"]  # what comes instead of one


class Whimsical:
    """Plays the upstream: takes connections, answers what they bring, and ends them as `chance` has it."""

    def __init__(self, rig: Rig, chance: random.Random) -> None:
        self.read: Counter[bytes] = Counter()
        self.executed: Counter[bytes] = Counter()
        self.fresh_failures: set[bytes] = set()
        self._rig = rig
        self._chance = chance

    async def play(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._serve(await self._rig.upstream.link()))

    async def _serve(self, link: Peer) -> None:
        async for served, name in self._requests(link):
            self.read[name] += 1
            if self._chance.random() < 0.2:
                if not served:
                    self.fresh_failures.add(name)
                _end(link, self._chance.choice(INSTEAD))
                return
            self.executed[name] += 1
            after = self._chance.choice(AFTER)
            said = answer(name, *(["Connection: close"] if after == "announce" else []))
            await link.send(said + JUNK if after == "surplus" else said)
            if after == "junk":
                await link.send(JUNK)
            elif after not in ("keep", "surplus"):
                _end(link, after)
                return

    async def _requests(self, link: Peer) -> AsyncIterator[tuple[int, bytes]]:
        """How many were served before, and the body of the next."""
        for served in itertools.count():
            while b"}" not in link._buffer:
                if not await link._more():
                    return
            yield served, (await link.until(b"}")).partition(b"\r\n\r\n")[2]


def _end(link: Peer, how: str) -> None:
    link.reset() if how == "reset" else link.close()


@pytest.mark.parametrize(("reuse", "seed"), [(True, 1), (True, 2), (False, 3)])
async def test_no_request_is_executed_twice_and_none_is_lost(start, reuse, seed):
    rig = await start({"limit": 1, "reuse": reuse})
    upstream = Whimsical(rig, random.Random(seed))
    playing = asyncio.create_task(upstream.play())
    client = await rig.client()
    refused = set()
    for number in range(REQUESTS):
        name = b"{%d}" % number
        await client.send(post("/up/", name))
        head = await client.head()
        if head.startswith(b"HTTP/1.1 200 "):
            assert await client.exactly(len(name)) == name, "somebody else's answer"
        else:
            assert head.startswith(b"HTTP/1.1 502 "), head
            assert b"upstream_bad_response" in head
            await client.until(b"}}")
            refused.add(name)
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    answered = {b"{%d}" % number for number in range(REQUESTS)} - refused
    assert upstream.executed == Counter(answered), "each answered one was executed once, no other at all"
    assert max(upstream.read.values()) <= (2 if reuse else 1)
    assert refused == upstream.fresh_failures, "only what failed on a fresh connection is given up"
    assert len(rig.records) == REQUESTS
