# The end of tasks that talk to the server.

import asyncio
from collections.abc import Iterable
from typing import Any

CANCEL_S = 0.1


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel all and wait for them, though whoever waits is cancelled meanwhile."""
    running, cancelled = {task for task in tasks if not task.done()}, False
    while running:  # Python 3.11's wait_for, which redis-py uses, loses a cancellation now and then
        for task in running:
            task.cancel()
        try:
            _, running = await asyncio.wait(running, timeout=CANCEL_S)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
