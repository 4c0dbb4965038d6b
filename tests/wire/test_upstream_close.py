# Closing an upstream connection: it is over when `close` returns, not in a later turn of the event loop.

import asyncio
import select
import socket
import ssl

import pytest
import trustme

from proxy.wire.upstream import UpstreamConnection


async def connected(tls: bool) -> tuple[UpstreamConnection, socket.socket]:
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    _, connection = await loop.create_connection(lambda: UpstreamConnection(loop), sock=ours)
    if not tls:
        return connection, theirs
    ca = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    ca.issue_cert("localhost").configure_cert(server)
    ca.configure_trust(client)

    def accept() -> socket.socket:
        return server.wrap_socket(theirs, server_side=True)

    _, wrapped = await asyncio.gather(connection.secure(client, "localhost"), asyncio.to_thread(accept))
    return connection, wrapped


@pytest.mark.parametrize("tls", [False, True])
async def test_the_upstream_hears_the_end_before_close_returns(tls: bool) -> None:
    """The slot goes on in the same turn, and whoever gets it may write at once."""
    connection, peer = await connected(tls)
    try:
        connection.write(b"the beginning of something")
        await asyncio.sleep(0)
        connection.close()
        # No await since then: only what close() did itself can have reached the other side.
        with socket.socket(fileno=peer.detach()) as raw:
            while True:
                readable, _, _ = select.select([raw], [], [], 10)
                assert readable, "the connection is still open"
                if not raw.recv(65536):
                    break
    finally:
        peer.close()
        await asyncio.sleep(0.01)  # the transport's own close


async def test_closing_twice_is_closing_once() -> None:
    connection, peer = await connected(tls=False)
    connection.close()
    connection.close()
    peer.close()
    await asyncio.sleep(0.01)
    connection.close()
    assert connection.closed
