# One process for several tests, put back to its beginning between them.
#
# Rule 1: whoever leaves it in disorder fails, and the next test gets a new one.

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from blackbox.process import Proxy
from blackbox.rig import Make, Options, Rig, a_rig


class Shared:
    """The process that the tests of one module share; a new one after a test that left it in disorder."""

    def __init__(
        self, directory: Callable[[], Path], upstreams: Mapping[str, Options], top: Options, make: Make = Proxy
    ) -> None:
        self._directory, self._upstreams, self._top, self._make = directory, upstreams, top, make
        self._stack = contextlib.AsyncExitStack()
        self.rig: Rig | None = None

    async def get(self) -> Rig:
        if self.rig is None:
            made = a_rig(self._directory(), self._upstreams, self._top, make=self._make)
            self.rig = await self._stack.enter_async_context(made)
        return self.rig

    async def close(self) -> None:
        self.rig = None
        await self._stack.aclose()
