# Each test of the wire runs on uvloop and on asyncio's own loop, unless it says otherwise; those in test_hop_* run
# through us and through HAProxy instead, to show that the tests are right.

import asyncio
from collections.abc import Callable, Mapping

import uvloop
from rawsides.fixtures import between, front, haproxy, hop, rig, start, start_hop

__all__ = ["between", "front", "haproxy", "hop", "rig", "start", "start_hop"]


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}
