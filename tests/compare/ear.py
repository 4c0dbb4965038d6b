# What one side of a comparison hears: every byte, and how the other side then stands.
#
# Rule 1: a test that would hang hears less instead, and can say what.

import asyncio
from collections.abc import Coroutine
from typing import Any

from model import FIN, OPEN, RST, Seen
from rawsides.peer import Peer

SILENCE = 5.0  # seconds


class Ear:
    """Listens to the other side of `peer`, by TCP or TLS; what was not asked for yet stays there."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    async def hear(self, count: int, *, to_its_end: bool = False) -> Seen:
        """The next `count` bytes, or with `to_its_end` all that come until the other side ends; whatever has come if
        that is silent for too long."""
        peer = self.peer
        while (to_its_end or len(peer._buffer) < count) and await _soon(peer._more()):
            pass
        heard = peer._take(len(peer._buffer) if to_its_end else count)
        return Seen(heard, OPEN if peer._buffer else self._ended)

    async def speaks_before(self, other: "asyncio.Task[Peer]") -> bool:
        """Whether a byte comes here before `other` is done. An end is not a byte."""
        if self.peer._buffer:
            return True
        reading = asyncio.create_task(self.peer._more())
        await asyncio.wait({reading, other}, return_when=asyncio.FIRST_COMPLETED)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        return bool(self.peer._buffer)

    @property
    def _ended(self) -> str:
        """A close_notify, where TLS was spoken, is an end in peace as well."""
        how = self.peer._ended
        return OPEN if how is None else RST if how == RST else FIN


async def _soon(reading: Coroutine[Any, Any, bool]) -> bool:
    try:
        async with asyncio.timeout(SILENCE):
            return await reading
    except TimeoutError:
        return False
