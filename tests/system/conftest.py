# What the system tests are given: `rig`, the module's shared process, put back to its beginning before each test;
# `start`, for a test that needs a process of its own; `tunnels`, a process in front of WebSocket libraries.
#
# Rule 1: all of them run in one event loop, so that a process and its upstreams can outlive a test.
# Rule 2: a process keeps its state in a file of its own. SLOTGATE_TEST_REPLICAS=1 or 3 lets so many replicas share it
#         through Redis instead, as one to whoever looks; with EVERY_TEST the modules of SHARED run so beside.
# Rule 3: a test with `rig` ends at rest: whoever loses a slot fails there, and the next test gets a new process.

import contextlib
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from blackbox import ws_aiohttp, ws_websockets
from blackbox.process import Proxy
from blackbox.replicas import Replicas
from blackbox.rig import DEFAULT, Make, Options, Rig, Starter, a_rig
from blackbox.shared import Shared
from blackbox.ws_rig import Tunnels, tunnels_to
from servers.redis_server import RedisServer

HERE = Path(__file__).parent


IN_A_FILE = 0  # replicas: one process, which shares nothing
# What replicas could get wrong, in no more than a minute and a half; `make test-replicas` runs the rest so.
SHARED = {"order", "hold", "pause", "reduce", "operator", "limits", "cooldown", "gate", "races"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_shared = metafunc.module.__name__.removeprefix("test_system_") in SHARED
    if is_shared and "make_proxy" in metafunc.fixturenames and os.environ.get("EVERY_TEST") and not asked_for():
        metafunc.parametrize("make_proxy", [IN_A_FILE, 3], ids=_named, indirect=True, scope="module")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    in_one_loop = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if HERE in item.path.parents:
            _leave_out(item)
            if pytest_asyncio.is_async_test(item):
                item.add_marker(in_one_loop, append=False)


def asked_for() -> int:
    """How many replicas share the state in this run."""
    return int(os.environ.get("SLOTGATE_TEST_REPLICAS", IN_A_FILE))


def _named(replicas: int) -> str:
    return f"replicas{replicas}" if replicas else "sqlite"


def _leave_out(item: pytest.Item) -> None:
    """What its marks say is about something else than so many replicas."""
    assert isinstance(item, pytest.Function)
    given = item.callspec.params if hasattr(item, "callspec") else {}
    replicas = given.get("make_proxy", asked_for())
    for name, least in (("sqlite", 1), ("one_process", 2)):
        mark = item.get_closest_marker(name)
        if mark is not None and replicas >= least:
            item.add_marker(pytest.mark.skip(reason=f"{name}: {mark.kwargs['reason']}"))


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that keeps nothing, for all tests of this worker."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server.url


@pytest.fixture(scope="module")
def make_proxy(request: pytest.FixtureRequest) -> Make:
    """Makes what is tested: one process, or replicas that share their state apart from all others'."""
    replicas = getattr(request, "param", asked_for())
    if replicas == IN_A_FILE:
        return Proxy
    url = request.getfixturevalue("redis_url")

    def make(directory: Path, config: Options) -> Proxy | Replicas:
        shared = {"state": f"{url}?prefix={uuid4().hex}", **config}
        return Proxy(directory, shared) if replicas == 1 else Replicas(directory, shared, replicas)

    return make


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, make_proxy: Make
) -> AsyncIterator[Shared]:
    """Configured by the module's UPSTREAMS (name → options) and TOP (top-level keys), both optional."""
    module = request.module
    upstreams = getattr(module, "UPSTREAMS", {"up": DEFAULT})
    shared = Shared(lambda: tmp_path_factory.mktemp("proxy"), upstreams, getattr(module, "TOP", {}), make_proxy)
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
async def start(request: pytest.FixtureRequest, tmp_path: Path, make_proxy: Make) -> AsyncIterator[Starter]:
    """`await start({"up": {"limit": 2}}, queue={"max_wait": "2s"})`: a process of the test's own, ended with it."""
    async with contextlib.AsyncExitStack() as stack:

        async def starter(upstreams: Mapping[str, Options] | None = None, *, run: bool = True, **top: Any) -> Rig:
            made = a_rig(tmp_path, upstreams or {"up": DEFAULT}, top, run=run, make=make_proxy)
            rig = await stack.enter_async_context(made)
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
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, make_proxy: Make
) -> AsyncIterator[Tunnels]:
    """Configured by the module's TUNNELS (name → options, `server` names a library), optional."""
    servers = {
        "websockets": ws_websockets.Server(subprotocols=["b"]),
        "aiohttp": ws_aiohttp.Server(subprotocols=["b"]),
        "pinged": ws_aiohttp.Server(autoping=False),
    }
    upstreams = getattr(request.module, "TUNNELS", {name: {} for name in servers})
    async with tunnels_to(tmp_path_factory.mktemp("proxy"), servers, upstreams, make=make_proxy) as tunnels:
        yield tunnels


@pytest_asyncio.fixture(loop_scope="session")
async def tunnels(module_tunnels: Tunnels, request: pytest.FixtureRequest) -> AsyncIterator[Tunnels]:
    """A proxy in front of WebSocket servers of two libraries; at rest again after the test, or the test fails."""
    yield module_tunnels
    _show_logs(request, module_tunnels.rig)
    await module_tunnels.reset()
