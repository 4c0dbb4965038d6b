# An upstream and clients for bodies that are too large to keep: what is sent is made on the way, what arrives
# is hashed.
#
# Rule 1: nobody reads ahead: the upstream waits for the kernel to take each piece, so `Flood.sent` tells how far the
#         proxy has let it go.

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from blackbox.client import RawClient
from blackbox.generated import ChunksTally, Generated, Seen, Tally
from blackbox.message import Head, parse_head
from blackbox.waiting import PATIENCE

LENGTH, CHUNKED, CLOSE = "length", "chunked", "close"  # how a body is framed
BULK_PATIENCE = 100.0  # seconds for a whole body; a loaded machine moves a gigabyte in less
PIECE = 65_536

Handler = Callable[[Head, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def bulk_upstream(handler: Handler) -> AsyncIterator[str]:
    """The URL of an upstream that gives each connection's one request to `handler`; fails with what that raised."""
    tasks: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(parse_head(await reader.readuntil(b"\r\n\r\n")), reader, writer)
        except ConnectionError:
            pass  # the proxy closed, as it does when its client leaves
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.create_task(serve(reader, writer)))

    async with await asyncio.start_server(accept, "127.0.0.1", 0, backlog=512) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*tasks)


def framing_lines(framing: str, size: int) -> list[tuple[str, str]]:
    return {LENGTH: [("Content-Length", str(size))], CHUNKED: [("Transfer-Encoding", "chunked")], CLOSE: []}[framing]


class Flood:
    """A generated answer on its way out. `sent` counts what the kernel, or the writer's small buffer, took."""

    def __init__(self, size: int, framing: str) -> None:
        self.body = Generated(size)
        self.sent = 0
        self._framing = framing

    async def pour(self, writer: asyncio.StreamWriter) -> None:
        lines = [f"{name}: {value}\r\n" for name, value in framing_lines(self._framing, self.body.size)]
        writer.write(f"HTTP/1.1 200 OK\r\n{''.join(lines)}\r\n".encode())
        for piece in self.body.pieces(chunked=self._framing == CHUNKED):
            writer.write(piece)
            await writer.drain()
            self.sent += len(piece)


async def sink(head: Head, reader: asyncio.StreamReader) -> Seen:
    """Reads a request's body to its end."""
    if head.chunked:
        chunks = ChunksTally()
        while not chunks.ended:
            chunks.take(await _some(reader))
        return chunks.tally.seen
    tally = Tally()
    while tally.size < (head.length or 0):
        tally.take(await _some(reader))
    return tally.seen


async def _some(reader: asyncio.StreamReader) -> bytes:
    data = await reader.read(PIECE)
    assert data, "the request was cut"
    return data


async def drink(client: RawClient, framing: str, size: int) -> Seen:
    """Reads an answer of `size` bytes to its end."""
    async with asyncio.timeout(BULK_PATIENCE):
        await client.head()
        if framing == CHUNKED:
            chunks = ChunksTally()
            chunks.take(client.take())
            while not chunks.ended:
                chunks.take(await _more(client))
            return chunks.tally.seen
        tally = Tally()
        tally.take(client.take())
        while tally.size < size:
            tally.take(await _more(client))
        if framing == CLOSE:
            assert await client.receive() == b"", "more than the body came"
        return tally.seen


async def _more(client: RawClient) -> bytes:
    data = await client.receive()
    assert data, "the answer was cut"
    return data
