# What the browser's tests are given: `rig`, the module's proxy with a provider that the test steps by hand; `start`,
# for a test that needs one of its own; `open_window`, windows on the page. A window that complained fails its test.
#
# Rule 1: all of them run in one event loop, so that one browser serves a worker's tests.
# Rule 2: windows share nothing: each has its own profile.

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from blackbox.rig import Options, Rig, Starter, a_rig
from blackbox.shared import Shared
from onscreen import chromium
from onscreen.window import Opener, Window
from playwright.async_api import Browser

HERE = Path(__file__).parent
PROVIDER = "api.example"
BUSY: Options = {"limit": 2, "cooldown": "0s", "provider": PROVIDER}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    in_one_loop = pytest.mark.asyncio(loop_scope="session")
    for item in items:
        if HERE in item.path.parents and pytest_asyncio.is_async_test(item):
            item.add_marker(in_one_loop, append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if chromium.COMMAND is None:
        chromium.missing("chromium")
    async with chromium.a_browser() as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session")
async def start(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Starter]:
    """`await start({"up": {"limit": 2}})`: a proxy, ended with the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def starter(upstreams: Mapping[str, Options] | None = None, *, run: bool = True, **top: Any) -> Rig:
            given = {"up": BUSY} if upstreams is None else upstreams
            return await stack.enter_async_context(a_rig(tmp_path, given, top, run=run))

        yield starter


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shared]:
    shared = Shared(lambda: tmp_path_factory.mktemp("proxy"), {"up": BUSY}, {})
    yield shared
    await shared.close()


@pytest_asyncio.fixture(loop_scope="session")
async def rig(shared: Shared) -> AsyncIterator[Rig]:
    """The module's proxy in front of one provider, `api.example`, with limit 2; at rest again after the test."""
    rig = await shared.get()
    yield rig
    try:
        for workspace in (await rig.admin.get("/concurrency/workspaces")).json["workspaces"]:
            await rig.star(workspace["workspaceId"], False)
        await rig.reset()
    except BaseException:
        await shared.close()
        raise


@pytest_asyncio.fixture(loop_scope="session")
async def open_window(browser: Browser) -> AsyncIterator[Opener]:
    """`await open_window(rig, color_scheme="dark")`: the page in a window of its own; no complaint may come from it."""
    windows: list[Window] = []

    async def opener(rig: Rig, **options: Any) -> Window:
        context = await browser.new_context(**options)
        host, port = rig.proxy.admin_address
        window = Window(await context.new_page(), f"http://{host}:{port}/")
        windows.append(window)
        await window.watch()
        return await window.open()

    yield opener
    complaints = [complaint for window in windows for complaint in window.complaints]
    for window in windows:
        await window.page.context.close()
    assert not complaints, complaints


@pytest_asyncio.fixture(loop_scope="session")
async def window(rig: Rig, open_window: Opener) -> Window:
    """The page of `rig`, live."""
    window = await open_window(rig)
    await window.live()
    return window
