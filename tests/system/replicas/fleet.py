# Several replicas in front of one upstream, and what a test says to them together.
#
# Rule 1: a request says by which replica it went (`x-replica`), so that the upstream can tell.
# Rule 2: nothing here knows how replicas share what they share.

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from blackbox.call import Call
from blackbox.client import RawClient
from blackbox.process import Proxy, free_ports
from blackbox.rig import Options, Rig
from blackbox.upstream import FakeUpstream, hold
from blackbox.waiting import PATIENCE, until

LEASE = 15.0  # seconds after which a dead replica's slots go to others (spec §16)
RENEWED = 5.0  # a replica says that it lives at least this often: its lease may end so much sooner after its death
NOTICED = 5.0  # what others need to act on a lease's end, on a busy machine
TOLD = 15.0  # until a replica says that Redis is away, or that it is back


class Replica(Proxy):
    """With an environment of its own, which it keeps over restarts."""

    environment: Mapping[str, str] = {}

    async def spawn(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        await super().spawn(*arguments, environment={**self.environment, **(environment or {})})


class Fleet:
    """`fleet[0]` is the first replica's rig; `up` is the upstream of all."""

    def __init__(self, rigs: Sequence[Rig]) -> None:
        self.rigs = rigs
        self.up = rigs[0].up
        self._asked = 0

    def __getitem__(self, number: int) -> Rig:
        return self.rigs[number % len(self.rigs)]

    def __len__(self) -> int:
        return len(self.rigs)

    @property
    def living(self) -> list[Rig]:
        return [rig for rig in self.rigs if rig.proxy.process is not None and rig.proxy.process.returncode is None]

    # --- clients ---------------------------------------------------------------------------------------------------

    async def ask(self, name: str, at: int, **options: Any) -> RawClient:
        """A counted request through the replica of that number."""
        number = at % len(self)
        return await self[number].ask(name, headers=[("x-replica", str(number))], **options)

    async def line_up(self, names: Mapping[str, int], *, first: int = 0) -> dict[str, RawClient]:
        """Asks for each name, with its prompt start, at one replica after the other; all see it in the queue before the
        next one asks."""
        already = (await self[first].status())["queued"]
        clients = {}
        for count, (name, started_at) in enumerate(names.items()):
            clients[name] = await self.ask(name, first + count, started_at=started_at)
            await self.queued(already + count + 1)
        return clients

    # --- what all say ----------------------------------------------------------------------------------------------

    async def queued(self, count: int, *, timeout: float = PATIENCE) -> None:
        """Every living replica knows of so many waiters."""
        for rig in self.living:
            await rig.queued(count, timeout=timeout)

    async def in_flight(self, count: int) -> None:
        for rig in self.living:
            await rig.in_flight(count)

    async def at_rest(self, *, timeout: float = PATIENCE) -> None:
        """Every living replica says that nobody holds and nobody waits."""
        for rig in self.living:
            await until(
                lambda rig=rig: _rests(rig), timeout=timeout, what=f"rest, as {rig.proxy.directory.name} sees it"
            )

    def open_by_others_than(self, number: int) -> list[Call]:
        """What is open at the upstream and did not come through that replica."""
        open_now = [call for call in self.up.calls if call.counted and not call.done.is_set()]
        return [call for call in open_now if call.head.get("x-replica") != str(number)]

    async def hear_each_other(self, limit: int) -> None:
        """Whoever waits at a replica is woken when a slot becomes free at another, long before a lease."""
        self.up.behaviour = hold
        for number in range(len(self)):
            before = len(self.up.calls)
            held = [await self.ask(f"held {at}", number + 1) for at in range(limit)]
            await until(lambda before=before: len(self.up.calls) == before + limit, what=f"{limit} that are held")
            waiting = await self.ask(f"waits at {number}", number)
            await self.queued(1)
            await self.up.calls[before].answer()
            await until(lambda before=before: len(self.up.calls) == before + limit + 1, timeout=NOTICED, what="a wake")
            for call in self.up.calls[before + 1 :]:
                await call.answer()
            for client in (*held, waiting):
                assert (await client.answer()).status == 200

    async def grants_at_once(self, limit: int, *, timeout: float = PATIENCE) -> None:
        """Nothing was lost and nothing was made: `limit` requests fit, and not one more."""
        self.up.behaviour = hold
        before = len(self.up.calls)
        there = [number for number, rig in enumerate(self.rigs) if rig in self.living]
        clients = [await self.ask(f"fits {number}", there[number % len(there)]) for number in range(limit)]
        await until(lambda: len(self.up.calls) == before + limit, timeout=timeout, what=f"{limit} that fit")
        clients.append(await self.ask("one more", there[-1]))
        await self.queued(1)
        await self.in_flight(limit)
        for call in self.up.calls[before:]:
            await call.answer()
        await until(lambda: len(self.up.calls) == before + limit + 1, what="the one more")
        await self.up.calls[-1].answer()
        for client in clients:
            assert (await client.answer()).status == 200


async def _rests(rig: Rig) -> bool:
    found = await rig.slots()
    return not found["slots"] and not found["waiters"]


@contextlib.asynccontextmanager
async def a_fleet(
    directory: Path,
    states: Sequence[str | None],
    upstream: Options,
    *,
    environments: Sequence[Mapping[str, str]] = (),
    **top: Any,
) -> AsyncIterator[Fleet]:
    """A running replica for each of `states`, which say where it shares its state (None: a file of its own)."""
    up = FakeUpstream()
    await up.start()
    rigs = []
    ports = iter(free_ports(2 * len(states)))  # at once: who starts beside the others would take the same ones
    for number, state in enumerate(states):
        place = directory / f"replica-{number}"
        place.mkdir()
        shared = {} if state is None else {"state": state}
        replica = Replica(place, {**top, **shared, "upstreams": {"up": {"url": up.url, **upstream}}})
        replica.environment = environments[number] if environments else {}
        replica.write({"listen": f"127.0.0.1:{next(ports)}", "admin": {"listen": f"127.0.0.1:{next(ports)}"}})
        rigs.append(Rig(replica, {"up": up}))
    try:
        await asyncio.gather(*(rig.proxy.come_back() for rig in rigs))
        yield Fleet(rigs)
    finally:
        for rig in rigs:
            rig.leave()
        await asyncio.gather(*(rig.proxy.discard() for rig in rigs))
        await up.stop()
