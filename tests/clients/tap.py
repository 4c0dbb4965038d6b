# A TCP relay in front of the proxy that keeps what passed, so that what a client sent can be compared with what the
# upstream received in the same run.
#
# Rule 1: bytes pass as they come, and a close is passed on as what it was, a FIN or a RST: no client we run closes one
#         direction alone.

import asyncio
import socket
import struct


class Tap:
    """`lines` are the connections that clients made, in the order of their coming."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self.lines: list[Line] = []
        self.port = 0

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._line, "127.0.0.1", 0, backlog=256)
        self.port = self._server.sockets[0].getsockname()[1]

    def _line(self) -> "Line":
        line = Line(self._target)
        self.lines.append(line)
        return line

    def stop(self) -> None:
        self._server.close()
        for line in self.lines:
            line.close()


class Line(asyncio.Protocol):
    """One connection. `sent` came from the client, `received` from the proxy; `left_at` is when the client closed."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self.sent, self.received = bytearray(), bytearray()
        self.left_at: float | None = None
        self._far: asyncio.Transport | None = None
        self._reaching: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._near = transport
        self._reaching = asyncio.get_running_loop().create_task(self._reach())

    async def _reach(self) -> None:
        far, _ = await asyncio.get_running_loop().create_connection(lambda: _Far(self), *self._target)
        if self.left_at is not None:
            far.close()
            return
        self._far = far
        if self.sent:
            far.write(bytes(self.sent))

    def data_received(self, data: bytes) -> None:
        self.sent += data
        if self._far is not None:
            self._far.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.left_at is None:
            self.left_at = asyncio.get_running_loop().time()
        if self._far is not None:
            _leave(self._far, reset=exc is not None)

    # --- of the far side ---

    def answered(self, data: bytes) -> None:
        self.received += data
        self._near.write(data)

    def far_lost(self, exc: Exception | None) -> None:
        _leave(self._near, reset=exc is not None)

    def close(self) -> None:
        if self._reaching is not None:
            self._reaching.cancel()
        self._near.abort()
        if self._far is not None:
            self._far.abort()


class _Far(asyncio.Protocol):
    def __init__(self, line: Line) -> None:
        self._line = line

    def data_received(self, data: bytes) -> None:
        self._line.answered(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._line.far_lost(exc)


def _leave(transport: asyncio.Transport, *, reset: bool) -> None:
    if transport.is_closing():
        return
    if reset:
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    else:
        transport.close()
