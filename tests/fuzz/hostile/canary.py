# A client that behaves, between hostile ones: whatever they do, it gets its own answers, byte for byte, on one
# connection.

import asyncio
from random import Random

from hostile.grammar import marked
from hostile.mutation import pick
from hostile.names import Names
from hostile.upstream import POLITE, polite

PATIENCE_S = 20.0


class Canary:
    """`asked` is what it said."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked = bytearray()
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, address: tuple[str, int]) -> "Canary":
        return cls(*await asyncio.open_connection(*address))

    async def sing(self, rng: Random, names: Names, owner: int, times: int) -> None:
        """Ask so often, one request after the other."""
        for _ in range(times):
            name, method = names.new(owner), pick(rng, (b"POST", b"GET", b"HEAD"))
            body = marked(name) if method == b"POST" else b""
            line = b"%s /up%s?%s HTTP/1.1\r\nHost: here.test\r\nX-Id: %s\r\n" % (method, POLITE, name, name)
            message = line + (b"Content-Length: %d\r\n\r\n%s" % (len(body), body) if body else b"\r\n")
            self.asked += message
            self._writer.write(message)
            answer = polite(name, method)
            async with asyncio.timeout(PATIENCE_S):
                heard = await self._reader.readexactly(len(answer))
            assert heard == answer, (message, heard)
            await asyncio.sleep(0.01)

    async def leave(self) -> None:
        """Hang up, having heard nothing else."""
        self._writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            assert await self._reader.read() == b""
        self._writer.close()
        await self._writer.wait_closed()
