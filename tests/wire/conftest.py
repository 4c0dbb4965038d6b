# What the tests of the wire are given: `start`, which makes a rig; each test runs on uvloop and on asyncio's own loop.

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import uvloop
from rawsides.rig import Rig, Start
from rawsides.upstream import Upstream


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """`await start(upstream={…}, **options)`: a rig with these keys in its upstream's entry and in its configuration.
    At the end every rig must be at rest."""
    rigs: list[Rig] = []

    async def begin(
        upstream: Mapping[str, object] | None = None,
        *,
        receive_buffer: int | None = None,
        scheme: str = "http",
        **options: object,
    ) -> Rig:
        rig = Rig(Upstream(receive_buffer=receive_buffer), upstream or {}, options, scheme=scheme)
        await rig.start()
        rigs.append(rig)
        return rig

    yield begin
    for rig in rigs:
        await rig.close()


@pytest.fixture
async def rig(start: Start) -> Rig:
    """A rig with the defaults: no limit, so that nobody waits."""
    return await start()
