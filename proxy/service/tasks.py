# Background tasks: named, owned, and loud when they crash.

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

CANCEL_S = 1.0

Complain = Callable[[str, BaseException], None]


class Tasks:
    """Starts tasks and keeps them alive; `complain` hears of each that failed, by name."""

    def __init__(self, complain: Complain) -> None:
        self._complain = complain
        self._running: set[asyncio.Task[Any]] = set()

    def __repr__(self) -> str:
        return f"<Tasks {sorted(task.get_name() for task in self._running)}>"

    def start(self, name: str, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` until it ends or `close` is called."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel what runs and wait for it."""
        while self._running:
            for task in list(self._running):
                task.cancel()  # again where it was lost: asyncio's wait_for does that on Python 3.11
            await asyncio.wait(list(self._running), timeout=CANCEL_S)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._complain(task.get_name(), error)
