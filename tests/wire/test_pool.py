# Kept connections: only those that are quiet are used again, whatever the event loop has read of them yet.

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from proxy.config import parse_url
from proxy.wire.dial import Way
from proxy.wire.pool import Pool
from proxy.wire.upstream import UpstreamConnection


@pytest.fixture
async def kept() -> AsyncIterator[tuple[Pool, UpstreamConnection, socket.socket]]:
    """A pool, the connection that it keeps, and the upstream's side of that."""
    loop = asyncio.get_running_loop()
    pool = Pool(Way(url=parse_url("http://a.test"), tls=None, timeout_s=10), reuse=True, loop=loop)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    _, connection = await loop.create_connection(lambda: UpstreamConnection(loop), sock=ours)
    pool.give_back(connection)
    with theirs:
        yield pool, connection, theirs
        pool.close()
        connection.close()
        await asyncio.sleep(0)


async def test_quiet_connection_is_used_again(kept) -> None:
    pool, connection, _ = kept
    assert pool.take() is connection
    pool.give_back(connection)
    assert pool.take() is connection


async def test_connection_with_unasked_bytes_is_not_used_again_although_nobody_has_read_them(kept) -> None:
    """They would pass for the answer to the next request, and its own answer for that of the one after."""
    pool, connection, theirs = kept
    theirs.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert pool.take() is None
    assert connection.closed


@pytest.mark.parametrize("how", [socket.SHUT_WR, socket.SHUT_RDWR])
async def test_connection_that_has_ended_is_not_used_again_although_nobody_has_heard_of_it(kept, how) -> None:
    pool, _, theirs = kept
    theirs.shutdown(how)
    assert pool.take() is None
