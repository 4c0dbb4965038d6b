# Replicas of one process, each with a real Link and a SharedAdmission, at one redis-server; and what lies in Redis.
#
# Rule: what is counted here is what a replica's callers have: a slot is held from the return of `acquire` to `release`.

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import redis

from proxy.core.model import Effect, Policy, Slot, Ticket
from proxy.core.turns import Turns
from proxy.replicas.link import Link
from proxy.replicas.server import Server
from proxy.service.admission import Admission, Tell
from proxy.service.clock import Clock
from proxy.service.shared_admission import SharedAdmission

PATIENCE_S = 30.0
EMPTY_AT_REST = {"held", "queue", "rests", "tickets", "of", "room", "heads", "progress", "cooling", "rested"}
Starts = Mapping[str, Any]


def file(limit: int | None, cooldown_s: float) -> dict[str, Any]:
    """What a file says that names both."""
    return {
        "limit_said": limit or False,
        "limit": limit or False,
        "learns_limit": False,
        "cooldown_said": cooldown_s,
        "cooldown_s": cooldown_s,
        "learns_cooldown": False,
    }


class Shared:
    """What replicas share: the server, the limit that they start with, and who holds what over all."""

    def __init__(self, server: "redis.Redis[bytes]", url: str, *, limit: int | None, cooldown_s: float, policy: Policy):
        self.server, self.url, self.policy = server, url, policy
        self.start: dict[str, Any] = {"limit": limit, "cooldown_s": cooldown_s, "file": file(limit, cooldown_s)}
        self.held: set[tuple[int, int]] = set()
        self.peak = 0
        self.served: list[int] = []
        self.replicas: list[Replica] = []
        self._ids = 0
        self._stack = AsyncExitStack()

    async def replica(self, **start: Any) -> "Replica":
        """A new one, known to the server."""
        replica = Replica(self)
        link = await asyncio.to_thread(replica.linked, asyncio.get_running_loop())  # it reads files, as a start may
        replica.begin(link, {**self.start, **start})
        self._stack.push_async_callback(replica.close)
        self.replicas.append(replica)
        await replica.link.connected()
        replica.admission.begin()
        await replica.admission.settled()
        return replica

    async def close(self) -> None:
        await self._stack.aclose()

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    @property
    def left(self) -> dict[str, int]:
        """How much lies in each key that is empty when nobody holds a slot, waits or rests."""
        found = {}
        for packed in self.server.keys("*{p}:*"):
            name = packed.decode().partition("{p}:")[2]
            if name.partition(":")[0] in EMPTY_AT_REST:
                found[name] = self._size(packed)
        return found

    def kill(self, kind: str) -> int:
        """All connections of this kind: `normal`, those that call, or `pubsub`."""
        return int(self.server.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"))

    def _size(self, key: bytes) -> int:
        match self.server.type(key):
            case b"zset":
                return int(self.server.zcard(key))
            case b"hash":
                return int(self.server.hlen(key))
        return int(self.server.scard(key))


class Replica:
    """One replica; `seen`, `kept` and `heard` are the effects that it observed, kept and overheard."""

    link: Link
    admission: SharedAdmission

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.seen: list[Effect] = []
        self.kept: list[Effect] = []
        self.heard: list[Effect] = []
        self.stars: set[str] = set()
        self.faults: list[BaseException] = []
        self.states: list[str | None] = []
        self.others: list[str] = []  # providers that only other replicas have
        self.deaths: list[tuple[str, int, int]] = []
        self.polls: list[tuple[Mapping[str, str], Tell]] = []

    def linked(self, loop: asyncio.AbstractEventLoop) -> Link:
        return Link(
            Server(self.shared.url),
            now=loop.time,
            wall_ms=lambda: time.time_ns() // 1_000_000,
            changed=self.states.append,
            heard_of=self.others.append,
            warn=lambda why: None,
            complain=self.faults.append,
        )

    def begin(self, link: Link, start: Starts) -> None:
        loop = asyncio.get_running_loop()
        self.link = link
        self.admission = SharedAdmission(
            "p",
            self.shared.policy,
            start,
            self.stars,
            Turns(gap_s=600.0),
            link=link,
            clock=Clock(loop.time),
            loop=loop,
            observe=lambda _, effect: self.seen.append(effect),
            keep=lambda _, effect: self.kept.append(effect),
            overhear=lambda _, effect: self.heard.append(effect),
            overhear_star=lambda workspace, starred: (self.stars.add if starred else self.stars.discard)(workspace),
            tell_of_death=lambda _, replica, held, waited: self.deaths.append((replica, held, waited)),
            poll=self._poll,
            chance=random.Random(1),
        )
        self._running = loop.create_task(link.run(), name=link.replica)

    def ticket(self, workspace: str = "w", started: int = 0) -> Ticket:
        return Ticket(
            id=self.shared.next_id(), workspace=workspace, conversation=None, prompt_started_at=started, path="/"
        )

    async def acquire(self, ticket: Ticket | None = None, credentials: Mapping[str, str] | None = None) -> Slot:
        """A slot, which counts as held from now on."""
        return self._holds(await self.admission.acquire(ticket or self.ticket(), credentials or {}))

    async def acquire_again(self, slot: Slot, *, stated_ms: int | None = None, patience_s: float = 60.0) -> Slot:
        """Another for this one, which is held no more from now on."""
        self.shared.held.discard((slot.id, slot.grant))
        return self._holds(await self.admission.acquire_again(slot, {}, 1, stated_ms, patience_s))

    def release(self, slot: Slot, *, reached: bool = True) -> None:
        self.shared.held.discard((slot.id, slot.grant))
        self.admission.release(slot, reached=reached)

    def ask(self, ticket: Ticket | None = None, credentials: Mapping[str, str] | None = None) -> "asyncio.Task[Slot]":
        """A caller of its own."""
        return asyncio.create_task(self.acquire(ticket, credentials))

    async def waiter(self, workspace: str = "w", started: int = 0, **credentials: str) -> "asyncio.Task[Slot]":
        """One that waits, as the server knows."""
        task = self.ask(self.ticket(workspace, started), credentials)
        await asyncio.sleep(0)
        await self.admission.settled()
        assert not task.done()
        return task

    @property
    def remembered(self) -> int:
        """Of how many requests anything is kept here."""
        one = self.admission
        return sum(len(kept) for kept in (one._waiting, one._slots, one._ended, one._untold, one._refused_tickets))

    def names(self) -> list[str]:
        return [type(effect).__name__ for effect in self.seen]

    async def stop(self) -> None:
        """As a crash would: nothing more is said or heard."""
        self.admission.close()
        while not self._running.done():
            self._running.cancel()
            await asyncio.wait([self._running], timeout=2.0)

    async def close(self) -> None:
        await self.stop()
        assert not self.faults, str(self.faults[0])

    def _poll(self, admission: Admission, credentials: Mapping[str, str], tell: Tell) -> None:
        assert admission is self.admission
        self.polls.append((credentials, tell))

    def _holds(self, slot: Slot) -> Slot:
        shared = self.shared
        shared.held.add((slot.id, slot.grant))
        shared.served.append(slot.id)
        shared.peak = max(shared.peak, len(shared.held))
        return slot


async def until(happened: Callable[[], object]) -> None:
    """Waits for what has no other sign; it fails after PATIENCE_S."""
    async with asyncio.timeout(PATIENCE_S):
        while not happened():
            await asyncio.sleep(0.002)


async def soon(task: "asyncio.Future[Any]") -> Any:
    """What comes of it, within PATIENCE_S."""
    async with asyncio.timeout(PATIENCE_S):
        return await task


@asynccontextmanager
async def sharing(
    server: "redis.Redis[bytes]", path: str, limit: int | None = 1, *, cooldown_s: float = 0.0, **policy: Any
) -> AsyncIterator[Shared]:
    """An empty server, and replicas that end with the test."""
    server.flushall()
    shared = Shared(server, f"unix://{path}", limit=limit, cooldown_s=cooldown_s, policy=Policy(**policy))
    try:
        yield shared
    finally:
        await shared.close()
