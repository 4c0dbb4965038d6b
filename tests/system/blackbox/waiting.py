# How a test waits: for a thing to become true, with a limit so generous that only a fault reaches it.
#
# Rule 1: nothing here measures; a test that cares for time reads the stamps of the upstream's calls.

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

PATIENCE = 20.0  # seconds; a loaded two-core machine is slow, a fault is for ever


async def until(predicate: Callable[[], Any], *, timeout: float = PATIENCE, every: float = 0.01, what: str = "") -> Any:
    """Calls `predicate` (plain or async) until it answers something true, which is returned."""
    found: object = None
    try:
        async with asyncio.timeout(timeout):
            while True:
                found = predicate()
                if inspect.isawaitable(found):
                    found = await found
                if found:
                    return found
                await asyncio.sleep(every)
    except TimeoutError:
        raise AssertionError(f"never became true in {timeout} s: {what or predicate}; last seen {found!r}") from None


async def never(predicate: Callable[[], object], *, during: float, what: str = "") -> None:
    """Fails if `predicate` becomes true within `during` seconds. Use it only where there is no event to wait for."""
    async with asyncio.timeout(during + PATIENCE):
        end = asyncio.get_running_loop().time() + during
        while asyncio.get_running_loop().time() < end:
            assert not predicate(), what or "became true, and must not"
            await asyncio.sleep(0.01)
