# Each test of the wire runs on uvloop and on asyncio's own loop, unless it says otherwise.

import asyncio
from collections.abc import Callable, Mapping

import uvloop
from rawsides.fixtures import rig, start

__all__ = ["rig", "start"]


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}
