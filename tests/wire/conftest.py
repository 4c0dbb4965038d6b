# Each test of the wire runs on uvloop and on asyncio's own loop, unless it says otherwise; those in test_hop_* run
# through us and through HAProxy instead, to show that the tests are right.

import asyncio
import os
from collections.abc import Callable, Mapping

import uvloop
from rawsides.fixtures import between, front, haproxy, hop, rig, start, start_hop

__all__ = ["between", "front", "haproxy", "hop", "rig", "start", "start_hop"]


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Both loops; with ONE_LOOP in the environment, where time is short, the one that nearly all run on."""
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"uvloop": uvloop.new_event_loop}
    if not os.environ.get("ONE_LOOP"):
        loops["asyncio"] = asyncio.new_event_loop
    return loops
