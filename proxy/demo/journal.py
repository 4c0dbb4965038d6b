# What happens in the demo, in order: one document for each thing, which programs read as they are.
#
# Rule 1: who tells never waits, and one reads. A document has `event` and `at` (epoch ms), then what belongs to it.
# Rule 2: a task that crashes ends the demo, loudly.

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

Document = dict[str, Any]


class Ended(Exception):
    """Nothing more is told. `failure` says in a sentence what went wrong, "" where somebody ended it or time was up."""

    def __init__(self, failure: str = "") -> None:
        super().__init__(failure)
        self.failure = failure


class Journal:
    """`tell` writes, `read` waits for the next document and raises Ended after the last."""

    def __init__(self) -> None:
        self._told: asyncio.Queue[Document | BaseException] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    def tell(self, event: str, **more: object) -> None:
        self._told.put_nowait({"event": event, "at": time.time_ns() // 1_000_000, **more})

    def end(self, failure: str = "") -> None:
        """The last word; what is told after it is not heard."""
        self._told.put_nowait(Ended(failure))

    async def read(self) -> Document:
        told = await self._told.get()
        if isinstance(told, BaseException):
            raise told
        return told

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let somebody act until `close`."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def close(self) -> None:
        """Nobody acts any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._told.put_nowait(error)
