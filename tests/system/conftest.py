# What the system tests are given: `rig`, the module's shared process, put back to its beginning before each test;
# `start`, for a test that needs a process of its own; `tunnels`, a process in front of WebSocket libraries.
#
# Rule 1: all of them run in one event loop, so that a process and its upstreams can outlive a test.
# Rule 2: a test with `rig` ends at rest: whoever loses a slot fails there, and the next test gets a new process.

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from blackbox import ws_aiohttp, ws_websockets
from blackbox.rig import DEFAULT, Options, Rig, Starter, a_rig
from blackbox.shared import Shared
from blackbox.ws_rig import Tunnels, tunnels_to

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    in_one_loop = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if HERE in item.path.parents and pytest_asyncio.is_async_test(item):
            item.add_marker(in_one_loop, append=False)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shared]:
    """Configured by the module's UPSTREAMS (name → options) and TOP (top-level keys), both optional."""
    module = request.module
    upstreams = getattr(module, "UPSTREAMS", {"up": DEFAULT})
    shared = Shared(lambda: tmp_path_factory.mktemp("proxy"), upstreams, getattr(module, "TOP", {}))
    yield shared
    await shared.close()


@pytest_asyncio.fixture(loop_scope="session")
async def rig(shared: Shared, request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """The module's process, at rest; at rest again after the test, or the test fails."""
    rig = await shared.get()
    yield rig
    _show_logs(request, rig)
    try:
        await rig.reset()
    except BaseException:
        _show_logs(request, rig, always=True)
        await shared.close()
        raise


@pytest_asyncio.fixture(loop_scope="session")
async def start(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Starter]:
    """`await start({"up": {"limit": 2}}, queue={"max_wait": "2s"})`: a process of the test's own, ended with it."""
    async with contextlib.AsyncExitStack() as stack:

        async def starter(upstreams: Mapping[str, Options] | None = None, *, run: bool = True, **top: Any) -> Rig:
            rig = await stack.enter_async_context(a_rig(tmp_path, upstreams or {"up": DEFAULT}, top, run=run))
            stack.callback(_show_logs, request, rig)
            return rig

        yield starter


_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.when == "call":
        item.stash[_failed] = report.failed
    return report


def _show_logs(request: pytest.FixtureRequest, rig: Rig, *, always: bool = False) -> None:
    """Prints the end of the proxy's logs under a failed test."""
    if always or request.node.stash.get(_failed, False):
        print(f"--- the proxy's last words ---\n{rig.proxy.tail()}")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def module_tunnels(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Tunnels]:
    """Configured by the module's TUNNELS (name → options, `server` names a library), optional."""
    servers = {
        "websockets": ws_websockets.Server(subprotocols=["b"]),
        "aiohttp": ws_aiohttp.Server(subprotocols=["b"]),
        "pinged": ws_aiohttp.Server(autoping=False),
    }
    upstreams = getattr(request.module, "TUNNELS", {name: {} for name in servers})
    async with tunnels_to(tmp_path_factory.mktemp("proxy"), servers, upstreams) as tunnels:
        yield tunnels


@pytest_asyncio.fixture(loop_scope="session")
async def tunnels(module_tunnels: Tunnels, request: pytest.FixtureRequest) -> AsyncIterator[Tunnels]:
    """A proxy in front of WebSocket servers of two libraries; at rest again after the test, or the test fails."""
    yield module_tunnels
    _show_logs(request, module_tunnels.rig)
    await module_tunnels.reset()
