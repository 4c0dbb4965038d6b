# The bare hop is one: what comes in goes out, whoever speaks first, and an end is passed on.

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from .bare import HOST, hop
from .front import free_port

End = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def ends() -> AsyncIterator[tuple[End, End]]:
    """A client's connection, which has said hello, and the upstream's."""
    came: asyncio.Queue[End] = asyncio.Queue()
    upstream = await asyncio.start_server(lambda *end: came.put_nowait(end), HOST, 0)
    port = free_port()
    running = asyncio.create_task(hop(port, upstream.sockets[0].getsockname()[1]))
    await asyncio.sleep(0)
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            client = await asyncio.open_connection(HOST, port)
            break
        await asyncio.sleep(0)
    client[1].write(b"hello")
    yield client, await came.get()
    client[1].close()
    running.cancel()
    upstream.close()
    await asyncio.wait([running])
    await upstream.wait_closed()


async def test_bytes_pass_both_ways(ends: tuple[End, End]) -> None:
    (reader, writer), (there, back) = ends
    assert await there.readexactly(5) == b"hello"
    back.write(b"world")
    assert await reader.readexactly(5) == b"world"
    writer.write(bytes(1 << 20))
    assert await there.readexactly(1 << 20) == bytes(1 << 20)
    back.close()


async def test_an_end_is_passed_on(ends: tuple[End, End]) -> None:
    (_, writer), (there, back) = ends
    assert await there.readexactly(5) == b"hello"
    writer.close()
    assert await there.read() == b""
    back.close()
