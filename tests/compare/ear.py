# What one side of a comparison hears: every byte, and how the other side then stands.
#
# Rule 1: a test that would hang hears less instead, and can say what.

import asyncio

from model import FIN, OPEN, RST, Seen
from rawsides.peer import Peer

PATIENCE = 5.0  # seconds of silence


class Ear:
    """Reads `peer`; what was not asked for yet is kept."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._buffer = bytearray()
        self._ended = OPEN

    async def hear(self, count: int, *, to_its_end: bool = False) -> Seen:
        """The next `count` bytes, or with `to_its_end` all that come until the other side ends; whatever has come if
        that is silent for too long."""
        while (to_its_end or len(self._buffer) < count) and self._ended == OPEN and await self._more():
            pass
        count = len(self._buffer) if to_its_end else count
        heard = bytes(self._buffer[:count])
        del self._buffer[:count]
        return Seen(heard, OPEN if self._buffer else self._ended)

    async def speaks_before(self, other: "asyncio.Task[Peer]") -> bool:
        """Whether a byte comes here before `other` is done. An end is not a byte."""
        if self._buffer:
            return True
        reading = asyncio.ensure_future(asyncio.get_running_loop().sock_recv(self.peer.sock, 1))
        await asyncio.wait({reading, other}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            return False
        self._take(reading.result() if reading.exception() is None else None)
        return bool(self._buffer)

    async def _more(self) -> bool:
        try:
            async with asyncio.timeout(PATIENCE):
                self._take(await asyncio.get_running_loop().sock_recv(self.peer.sock, 262144))
        except TimeoutError:
            return False
        except ConnectionError:
            self._take(None)
        return True

    def _take(self, data: bytes | None) -> None:
        if not data:
            self._ended = RST if data is None else FIN
        self._buffer += data or b""
