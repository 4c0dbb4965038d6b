# What every async test outside tests/system and tests/browser is held to: no task outlives it, and nothing in it blocks
# the event loop.
#
# Rule 1: a task that is left is named in the failure; whoever starts one ends it.
# Rule 2: only blocking calls made by the package count; a test may open its files.
# Rule 3: no example of a property has a deadline: how long one takes says how busy the machine is.

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from blockbuster import blockbuster_ctx
from hypothesis import settings

OUTSIDE = {Path(__file__).parent / name for name in ("system", "browser")}  # they run the real process, in one loop

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if pytest_asyncio.is_async_test(item) and OUTSIDE.isdisjoint(item.path.parents):
            assert isinstance(item, pytest.Function)
            item.fixturenames.insert(0, "leaves_nothing_behind")
