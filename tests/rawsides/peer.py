# One end of a TCP connection. It says what the test tells it, byte for byte, and leaves the way the test wants.
#
# Rule 1: it reads only when asked, so that a peer which stops reading is one that is not asked.
# Rule 2: nothing waits longer than PATIENCE; a test that hangs says for what.

import asyncio
import contextlib
import socket
import struct

PATIENCE = 10.0
FIN, RST = "fin", "rst"  # how the other side ended


class Peer:
    """A connected socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._buffer = bytearray()
        self._ended: str | None = None

    def __repr__(self) -> str:
        return f"<Peer {bytes(self._buffer[:80])!r}>"

    @classmethod
    async def connect(cls, address: tuple[str, int], *, receive_buffer: int | None = None) -> "Peer":
        sock = socket.socket()
        sock.setblocking(False)
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        await asyncio.get_running_loop().sock_connect(sock, address)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(sock)

    # --- saying ---

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.get_running_loop().sock_sendall(self.sock, data)

    def send_what_fits(self, data: bytes) -> int:
        """As much of `data` as the socket takes at once."""
        try:
            return self.sock.send(data)
        except BlockingIOError:
            return 0

    # --- hearing ---

    async def until(self, marker: bytes) -> bytes:
        """Everything up to and including `marker`; what follows stays for the next call."""
        while (at := self._buffer.find(marker)) < 0:
            assert await self._more(), f"{self._ended} before {marker!r}; heard {bytes(self._buffer[-300:])!r}"
        return self._take(at + len(marker))

    async def head(self) -> bytes:
        """The next head, its empty line included."""
        return await self.until(b"\r\n\r\n")

    async def exactly(self, count: int) -> bytes:
        """The next `count` bytes."""
        while len(self._buffer) < count:
            assert await self._more(), f"{self._ended} after {len(self._buffer)} of {count} bytes"
        return self._take(count)

    async def end(self) -> tuple[bytes, str]:
        """What still comes, and how the other side ended: FIN or RST."""
        while await self._more():
            pass
        assert self._ended is not None
        return self._take(len(self._buffer)), self._ended

    async def ended(self) -> str:
        """How the other side ended; nothing may come before that."""
        rest, how = await self.end()
        assert rest == b"", f"heard {rest[:300]!r} before {how}"
        return how

    def unheard(self) -> int:
        """Bytes that wait in the kernel or here, at most 1 MiB of them."""
        with contextlib.suppress(BlockingIOError):
            return len(self._buffer) + len(self.sock.recv(1024**2, socket.MSG_PEEK))
        return len(self._buffer)

    # --- leaving ---

    def fin(self) -> None:
        """Half-close: nothing more will be said."""
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self) -> None:
        """FIN in both directions; the kernel makes it a RST where unread bytes wait."""
        self.sock.close()

    # --- inside ---

    async def _more(self) -> bool:
        if self._ended is not None:
            return False
        try:
            async with asyncio.timeout(PATIENCE):
                data = await asyncio.get_running_loop().sock_recv(self.sock, 262144)
        except (ConnectionResetError, BrokenPipeError):
            self._ended = RST
            return False
        if not data:
            self._ended = FIN
        self._buffer += data
        return bool(data)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken
