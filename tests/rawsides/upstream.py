# A listening provider without a mind: the test takes each connection and plays its side.

import asyncio
import socket

from rawsides.peer import PATIENCE, Peer


class Upstream:
    """`receive_buffer` bounds what the kernel takes for a peer that does not read."""

    def __init__(self, *, receive_buffer: int | None = None) -> None:
        self._sock = socket.socket()
        self._sock.setblocking(False)
        if receive_buffer is not None:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._sock.bind(("127.0.0.1", 0))
        self._sock.listen(512)
        self.port: int = self._sock.getsockname()[1]
        self.links: list[Peer] = []

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def link(self) -> Peer:
        """The next connection that the proxy has made."""
        async with asyncio.timeout(PATIENCE):
            sock, _ = await asyncio.get_running_loop().sock_accept(self._sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.links.append(Peer(sock))
        return self.links[-1]

    def was_left_alone(self) -> bool:
        """Whether no connection waits to be taken."""
        try:
            sock, _ = self._sock.accept()
        except BlockingIOError:
            return True
        sock.close()
        return False

    def refuse(self) -> None:
        """Stop listening: connecting fails from now on."""
        self._sock.close()

    def close(self) -> None:
        self._sock.close()
        for link in self.links:
            link.close()
