# WebSockets as two libraries speak them: what a test may ask of a socket, whichever library it is of, on either side.
#
# Rule 1: a test plays both sides itself: it connects a client, takes the server's end of it, and speaks for both.
# Rule 2: keepalives of the libraries' own are off and sizes unlimited: what moves or ends was the test or the proxy.

import asyncio
import contextlib
import select
import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from blackbox.waiting import PATIENCE

Message = str | bytes
Headers = list[tuple[str, str]]
ABNORMAL = 1006  # RFC 6455 7.1.5: what a library reports where no close frame came
UPGRADE = (  # what makes a GET of a raw client an upgrade
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Sec-WebSocket-Version", "13"),
)


class Ending(NamedTuple):
    """How a library says that its socket ended."""

    code: int
    reason: str


class Control(NamedTuple):
    """A ping or a pong that a socket without `autoping` heard."""

    kind: str
    payload: bytes


class Refusal(NamedTuple):
    """What a server answers to an upgrade instead of 101."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class RefusedError(Exception):
    """What the client's library was told instead of 101; `body` is None where it does not show it."""

    def __init__(self, status: int, headers: Any, body: bytes | None) -> None:
        super().__init__(f"{status} {body!r}")
        self.status, self.headers, self.body = status, headers, body


class Socket(Protocol):
    """One end of a WebSocket; `raw` is the library's own object."""

    raw: Any

    @property
    def subprotocol(self) -> str | None: ...
    @property
    def extensions(self) -> str:
        """What was agreed on, in the library's own words; empty for nothing."""
        ...

    async def say(self, message: Message | Sequence[Message]) -> None:
        """One message; a list is sent in that many frames."""
        ...

    async def hear(self) -> Message | Control: ...
    async def close(self, code: int = 1000, reason: str = "") -> None: ...
    async def ended(self) -> Ending:
        """Waits for the end; messages before it are dropped."""
        ...

    def leave(self, how: str) -> None:
        """Vanishes without a close frame, by "fin" or "rst"."""
        ...

    @property
    def wire(self) -> socket.socket | None:
        """The socket below; None once it is closed."""
        ...


class Door:
    """Where a server's sockets wait for the test. `refusal` is what every upgrade gets instead while it is set."""

    def __init__(self) -> None:
        self.refusal: Refusal | None = None
        self.names: list[str | None] = []  # of the sockets that came in, in their order (`x-name`)
        self.upgrades: list[tuple[str, Headers]] = []  # the target and the headers of each
        self.peak = 0  # how many were open at once
        self._sockets: list[Socket] = []
        self._waiting: asyncio.Queue[Socket] = asyncio.Queue()

    def enter(self, end: Socket, target: str, headers: Headers) -> None:
        """A server has accepted an upgrade."""
        self.upgrades.append((target, headers))
        self.names.append(next((value for key, value in headers if key.lower() == "x-name"), None))
        self._sockets = [other for other in self._sockets if is_open(other)]
        self._sockets.append(end)
        self.peak = max(self.peak, len(self._sockets))
        self._waiting.put_nowait(end)

    async def socket(self) -> Socket:
        """The server's end of the next one that came in."""
        async with asyncio.timeout(PATIENCE):
            return await self._waiting.get()

    def clear(self) -> None:
        """Ends every socket and forgets all of them."""
        for end in self._sockets:
            end.leave("rst")
        self._sockets.clear()
        self.names.clear()
        self.upgrades.clear()
        self.refusal, self.peak = None, 0
        while not self._waiting.empty():
            self._waiting.get_nowait()


class Server(Protocol):
    """A library's server on a free port of the loopback."""

    door: Door
    url: str

    async def start(self) -> None: ...
    async def stop(self) -> None: ...


def is_open(end: Socket) -> bool:
    """Whether neither side has closed the socket's connection, as the kernel knows it."""
    below = end.wire
    if below is None or below.fileno() < 0:
        return False
    polling = select.poll()
    polling.register(below.fileno(), select.POLLRDHUP)
    return not polling.poll(0)


def vanish(transport: asyncio.Transport | None, how: str) -> None:
    """Closes a connection as the end of its process would."""
    if transport is None or transport.is_closing():
        return
    if how == "rst":
        with contextlib.suppress(OSError):
            below = transport.get_extra_info("socket")
            below.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
