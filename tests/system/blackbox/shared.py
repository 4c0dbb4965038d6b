# One process for several tests, put back to its beginning between them.
#
# Rule 1: whoever leaves it in disorder fails, and the next test gets a new one.

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from blackbox.rig import Options, Rig, a_rig


class Shared:
    """The process that the tests of one module share; a new one after a test that left it in disorder."""

    def __init__(self, directory: Callable[[], Path], upstreams: Mapping[str, Options], top: Options) -> None:
        self._directory, self._upstreams, self._top = directory, upstreams, top
        self._stack = contextlib.AsyncExitStack()
        self.rig: Rig | None = None

    async def get(self) -> Rig:
        if self.rig is None:
            self.rig = await self._stack.enter_async_context(a_rig(self._directory(), self._upstreams, self._top))
        return self.rig

    async def close(self) -> None:
        self.rig = None
        await self._stack.aclose()
