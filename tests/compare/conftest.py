# What the comparison is given: `stage`, on which an exchange is played with and without the proxy in between.
# On uvloop alone, as in production: tests/wire shows that both loops do the same.

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import uvloop
from rawsides.fixtures import rig, start
from rawsides.rig import Rig
from rawsides.tls_fixtures import authority, names, start_tls, tls_rig
from stage import Stage

__all__ = ["authority", "names", "rig", "start", "start_tls", "tls_rig"]


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def stage(rig: Rig) -> AsyncIterator[Stage]:
    """In front of an upstream without a limit."""
    stage = Stage(rig.address, rig.upstream)
    yield stage
    stage.clear()
