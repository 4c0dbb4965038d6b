# What every async test outside tests/system and tests/browser is held to: no task outlives it, and nothing in it blocks
# the event loop. And the order of all: what waits for processes that it has started comes first.
#
# Rule 1: a task that is left is named in the failure; whoever starts one ends it.
# Rule 2: only blocking calls made by the package count; a test may open its files.
# Rule 3: no example of a property has a deadline: how long one takes says how busy the machine is.

import asyncio
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest
import pytest_asyncio
from blockbuster import blockbuster_ctx
from hypothesis import settings

HERE = Path(__file__).parent
OUTSIDE = {HERE / name for name in ("system", "browser")}  # they run the real process, in one loop
FIRST = [
    "system",
    "browser",
    "simulator",
    "demo",
    "monitoring",
    "replicas",
    "cli",
    "compare",
]  # they wait, and end last

settings.register_profile("slotgate", settings.default, deadline=None)
settings.load_profile("slotgate")


@pytest_asyncio.fixture
async def leaves_nothing_behind() -> AsyncIterator[None]:
    """Fails the test in whose loop a task is still running at its end, or in which the package blocked."""
    with blockbuster_ctx(scanned_modules=["proxy"]):
        yield
    for _ in range(3):  # what was cancelled a moment ago may end
        await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not left, f"left running: {left}"


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Two workers for each core: for half of their time tests wait."""
    return 2 * (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _place(item.path.relative_to(HERE).parts[0]))
    for item in items:
        if pytest_asyncio.is_async_test(item) and OUTSIDE.isdisjoint(item.path.parents):
            assert isinstance(item, pytest.Function)
            item.fixturenames.insert(0, "leaves_nothing_behind")


def _place(folder: str) -> int:
    return FIRST.index(folder) if folder in FIRST else len(FIRST)
