# Not a proxy: what comes in on one connection goes out on another, unread. `python -m tests.bench.bare PORT UPSTREAM`.
#
# Rule 1: nothing less can be done by a hop on this loop: each client has its own connection to the upstream, made when
#         it comes and kept as long as it stays.
# Rule 2: who reads slowly is waited for, as in any proxy.

import asyncio
import sys
from typing import cast

HOST = "127.0.0.1"


class Side(asyncio.Protocol):
    """One of two connections; `other` is the transport of the other one."""

    other: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are none by inheritance

    def data_received(self, data: bytes) -> None:
        self.other.write(data)

    def pause_writing(self) -> None:
        self.other.pause_reading()

    def resume_writing(self) -> None:
        self.other.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self.other.close()


class Newcomer(asyncio.Protocol):
    """A client whose way to the upstream is being made."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._early = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connecting = asyncio.create_task(self._connect())

    def data_received(self, data: bytes) -> None:
        self._early += data

    def connection_lost(self, error: Exception | None) -> None:
        self._connecting.cancel()

    async def _connect(self) -> None:
        there, upstream = await asyncio.get_running_loop().create_connection(Side, HOST, self._upstream)
        client = Side()
        client.connection_made(self._transport)
        client.other, upstream.other = there, self._transport
        self._transport.set_protocol(client)
        there.write(self._early)


async def hop(port: int, upstream: int) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Newcomer(upstream), HOST, port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(hop(int(sys.argv[1]), int(sys.argv[2])))
