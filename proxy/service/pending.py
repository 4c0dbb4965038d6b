# What is on its way to the store: given in order, all that has come meanwhile at once, while nobody waits.

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from proxy.service.tasks import Tasks

T = TypeVar("T")


class Pending(Generic[T]):
    """Takes items and gives them to `write` soon, in a task called `name`. What `write` says is its own affair."""

    def __init__(self, name: str, write: Callable[[Sequence[T]], Awaitable[object]], tasks: Tasks) -> None:
        self._name = name
        self._write = write
        self._tasks = tasks
        self._items: list[T] = []
        self._task: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Pending {self._name}: {len(self._items)}>"

    def add(self, items: Sequence[T]) -> None:
        """Soon, after those of before."""
        self._items += items
        if self._items and (self._task is None or self._task.done()):
            self._task = self._tasks.start(self._name, self._give())

    async def done(self) -> None:
        """Wait until everything that was added has been written, or has failed."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def _give(self) -> None:
        while self._items:
            items, self._items = self._items, []
            await self._write(items)
