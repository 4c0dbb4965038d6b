# A hostile client: what it will send, in which pieces, and how it leaves, is drawn before it connects.

import asyncio
import contextlib
import socket
import struct
from dataclasses import dataclass, field
from random import Random

from hostile import grammar
from hostile.mutation import chance, cut, pick
from hostile.names import Names

QUIET_S = 0.25  # after which nothing more is expected of an answer: the upstream may be one that never answers
PATIENCE_S = 2.0  # with an upstream that never answers, and a proxy that therefore takes no more
READS, HALF_CLOSES, CLOSES, RESETS, IS_DEAF = "reads", "half-closes", "closes", "resets", "is deaf"


@dataclass(slots=True, kw_only=True)
class Client:
    """`sent` is what it says if nothing stops it; `received` what it was told."""

    pieces: list[bytes]
    leaves: str
    sent: bytes
    received: bytearray = field(default_factory=bytearray)

    @classmethod
    def drawn(cls, rng: Random, names: Names, owner: int) -> "Client":
        kind = rng.randrange(20)
        if kind == 0:
            raw = b"".join(_plain(names.new(owner)) for _ in range(100))
        elif kind == 1:
            raw = rng.randbytes(rng.randrange(200))
        else:
            raw = b"".join(grammar.request(rng, names.new(owner)) for _ in range(rng.randint(1, 4)))
        leaves = pick(rng, (READS, READS, READS, READS, HALF_CLOSES, CLOSES, RESETS, IS_DEAF))
        pieces = [raw[at : at + 1] for at in range(len(raw))] if len(raw) < 300 and chance(rng, 30) else cut(rng, raw)
        return cls(pieces=pieces, leaves=leaves, sent=raw)

    async def visit(self, address: tuple[str, int]) -> None:
        """Connect, say it all, hear what comes, leave."""
        loop = asyncio.get_running_loop()
        with socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.TaskGroup() as both:
                sending = both.create_task(self._send(sock))
                if self.leaves in (READS, HALF_CLOSES):
                    both.create_task(self._receive(sock, sending))
            if self.leaves == RESETS:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def _send(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(PATIENCE_S if self.leaves in (READS, HALF_CLOSES) else QUIET_S):
                for piece in self.pieces:
                    await loop.sock_sendall(sock, piece)
                    await asyncio.sleep(0)
                if self.leaves == HALF_CLOSES:
                    sock.shutdown(socket.SHUT_WR)
                elif self.leaves == IS_DEAF:
                    await asyncio.sleep(QUIET_S)

    async def _receive(self, sock: socket.socket, sending: asyncio.Task[None]) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while True:
                try:
                    async with asyncio.timeout(QUIET_S):
                        more = await loop.sock_recv(sock, 65536)
                except TimeoutError:
                    if sending.done():
                        return
                    continue
                if not more:
                    return
                self.received += more


def _plain(name: bytes) -> bytes:
    return b"GET /up/?%s HTTP/1.1\r\nHost: here.test\r\nX-Id: %s\r\n\r\n" % (name, name)
