# What the tests of several replicas are given: `a_redis`, which starts servers of the test's own, and `start_fleet`.

import contextlib
import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest_asyncio

from replicas.fleet import Fleet, a_fleet
from replicas.redis_server import FORGETS, RedisServer
from replicas.scene import UPSTREAM


class RedisStarter(Protocol):
    async def __call__(self, options: Sequence[str] = FORGETS, **where: Any) -> RedisServer: ...


class FleetStarter(Protocol):
    async def __call__(
        self, *states: str | None, environments: Sequence[Mapping[str, str]] = (), **upstream: Any
    ) -> Fleet: ...


@pytest_asyncio.fixture(loop_scope="session")
async def a_redis(tmp_path: Path) -> AsyncIterator[RedisStarter]:
    """`await a_redis(KEEPS)`: a running redis-server, ended with the test."""
    numbers = itertools.count()
    async with contextlib.AsyncExitStack() as stack:

        async def starter(options: Sequence[str] = FORGETS, **where: Any) -> RedisServer:
            server = RedisServer(tmp_path / f"redis-{next(numbers)}", options, **where)
            stack.push_async_callback(server.discard)
            await server.start()
            return server

        yield starter


@pytest_asyncio.fixture(loop_scope="session")
async def start_fleet(tmp_path: Path) -> AsyncIterator[FleetStarter]:
    """`await start_fleet(*[redis.url] * 3, cooldown="50ms")`: a replica for each state, ended with the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def starter(
            *states: str | None, environments: Sequence[Mapping[str, str]] = (), **upstream: Any
        ) -> Fleet:
            options = {**UPSTREAM, **upstream}
            fleet = await stack.enter_async_context(a_fleet(tmp_path, states, options, environments=environments))
            stack.callback(_show_logs, fleet)
            return fleet

        yield starter


def _show_logs(fleet: Fleet) -> None:
    """pytest shows what is printed here under a test that failed."""
    for rig in fleet.rigs:
        print(f"--- {rig.proxy.directory.name}'s last words ---\n{rig.proxy.tail(40)}")
