# A client made of one socket: says what the test tells it, byte for byte, and leaves the way the test wants.
#
# Rule 1: it reads only when asked, so that a client which stops reading is one that is not asked.

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from blackbox.message import Dechunker, Head, parse_head
from blackbox.waiting import PATIENCE

Headers = Iterable[tuple[str, str]]
CLEAN, CUT, RESET = "clean", "cut", "reset"  # how an answer ended: by its framing, by a FIN before that, by a RST


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    head: Head
    body: bytes
    ended: str

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def code(self) -> str | None:
        """The code of an answer of the proxy's own; None for the upstream's."""
        return self.head.get("x-slotgate-error")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class RawClient:
    """One TCP connection to the proxy (or to anything)."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = bytearray()
        self._method = "GET"

    @classmethod
    async def connect(cls, address: tuple[str, int], *, receive_buffer: int | None = None) -> "RawClient":
        sock = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        sock.setblocking(False)
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            await asyncio.get_running_loop().sock_connect(sock, address)
        except BaseException:
            sock.close()
            raise
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(sock)

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.get_running_loop().sock_sendall(self._sock, data)

    async def request(self, method: str, target: str, headers: Headers = (), body: bytes | None = None) -> None:
        """Sends one request. With a body (also an empty one) it is framed by Content-Length."""
        await self.send(request_bytes(method, target, headers, body))
        self._method = method

    # --- reading ---------------------------------------------------------------------------------------------------

    async def receive(self, *, timeout: float = PATIENCE) -> bytes:
        """What the socket gives next; empty at a FIN. ConnectionResetError at a RST."""
        async with asyncio.timeout(timeout):
            return await asyncio.get_running_loop().sock_recv(self._sock, 65536)

    def take(self) -> bytes:
        """What was read already and not used."""
        taken = bytes(self._buffer)
        self._buffer.clear()
        return taken

    async def until(self, marker: bytes, *, timeout: float = PATIENCE) -> bytes:
        """Everything up to and including `marker`; what follows stays for the next read."""
        async with asyncio.timeout(timeout):
            while (at := self._buffer.find(marker)) < 0:
                more = await self.receive(timeout=timeout)
                assert more, f"closed before {marker!r} came; {bytes(self._buffer[-300:])!r} did"
                self._buffer += more
        taken = bytes(self._buffer[: at + len(marker)])
        del self._buffer[: at + len(marker)]
        return taken

    async def head(self, *, timeout: float = PATIENCE) -> Head:
        """The next head, interim ones included."""
        return parse_head(await self.until(b"\r\n\r\n", timeout=timeout))

    async def answer(self, *, timeout: float = PATIENCE) -> Answer:
        """The final answer, whole: interim heads are skipped."""
        head = await self.head(timeout=timeout)
        while head.status < 200:
            head = await self.head(timeout=timeout)
        body, ended = await self.body(head, timeout=timeout)
        return Answer(head=head, body=body, ended=ended)

    async def body(self, head: Head, *, timeout: float = PATIENCE) -> tuple[bytes, str]:
        """The rest of the answer that `head` began, without its framing, and how it ended."""
        if self._method == "HEAD" or head.status in (204, 304):
            return b"", CLEAN
        if head.chunked:
            return await self._chunks(timeout)
        data, length = self._buffer, head.length
        while length is None or len(data) < length:
            more = await self._more(timeout)
            if isinstance(more, str):
                self._buffer = bytearray()
                return bytes(data), CLEAN if length is None and more == CUT else more
            data += more
        self._buffer = data[length:]
        return bytes(data[:length]), CLEAN

    async def _chunks(self, timeout: float) -> tuple[bytes, str]:
        chunks = Dechunker()
        chunks.feed(bytes(self._buffer))
        self._buffer = bytearray()
        while not chunks.ended:
            more = await self._more(timeout)
            if isinstance(more, str):
                return bytes(chunks.data), more
            chunks.feed(more)
        self._buffer += chunks.rest
        return bytes(chunks.data), CLEAN

    async def _more(self, timeout: float) -> bytes | str:
        try:
            return await self.receive(timeout=timeout) or CUT
        except (ConnectionResetError, BrokenPipeError):
            return RESET

    async def closed(self, *, timeout: float = PATIENCE) -> str:
        """Waits until the other side closed, and says how: "cut" or "reset". What it still sends is dropped."""
        while not isinstance(more := await self._more(timeout), str):
            pass
        return more

    # --- leaving ---------------------------------------------------------------------------------------------------

    def leave(self, how: str) -> None:
        """`how` is "fin" or "rst"."""
        {"fin": self.close, "rst": self.rst}[how]()

    def fin(self) -> None:
        """Half-closes: nothing more will be said, answers can still be read."""
        self._sock.shutdown(socket.SHUT_WR)

    def rst(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()

    def close(self) -> None:
        """Leaves in order: a FIN (the kernel makes it a RST where unread bytes wait)."""
        self._sock.close()


def request_bytes(method: str, target: str, headers: Headers = (), body: bytes | None = None) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if not any(name.lower() == "host" for name, _ in headers):
        lines.insert(1, "Host: proxy.test")
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")
