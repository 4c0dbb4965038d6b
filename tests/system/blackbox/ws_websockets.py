# The library `websockets` on either side.

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from websockets.asyncio.client import connect as dial
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.http11 import Request, Response

from blackbox.waiting import PATIENCE
from blackbox.ws import Control, Door, Ending, Message, RefusedError, vanish

_OPTIONS: dict[str, Any] = {"max_size": None, "ping_interval": None, "close_timeout": PATIENCE, "open_timeout": None}


class End:
    """A Socket of this library."""

    def __init__(self, raw: Connection) -> None:
        self.raw = raw

    @property
    def subprotocol(self) -> str | None:
        return self.raw.subprotocol

    @property
    def extensions(self) -> str:
        return ", ".join(repr(extension) for extension in self.raw.protocol.extensions)

    @property
    def wire(self) -> socket.socket | None:
        return None if self.raw.transport.is_closing() else self.raw.transport.get_extra_info("socket")

    async def say(self, message: Message | Sequence[Message]) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.raw.send(message)

    async def hear(self) -> Message | Control:
        async with asyncio.timeout(PATIENCE):
            return await self.raw.recv()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        async with asyncio.timeout(PATIENCE):
            await self.raw.close(code, reason)

    async def ended(self) -> Ending:
        async with asyncio.timeout(PATIENCE):
            try:
                while True:
                    await self.raw.recv()
            except ConnectionClosed:
                await self.raw.wait_closed()
        return Ending(self.raw.close_code or 0, self.raw.close_reason or "")

    def leave(self, how: str) -> None:
        vanish(self.raw.transport, how)


async def connect(
    url: str,
    *,
    subprotocols: Sequence[str] = (),
    compress: bool = True,
    name: str = "",
    headers: Sequence[tuple[str, str]] = (),
) -> End:
    """A client's end. RefusedError where the answer is not 101."""
    try:
        raw = await dial(
            url,
            proxy=None,
            subprotocols=list(subprotocols) or None,  # type: ignore[arg-type]
            compression="deflate" if compress else None,
            additional_headers=[*headers, *([("x-name", name)] if name else [])],
            **_OPTIONS,
        )
    except InvalidStatus as error:
        answer = error.response
        raise RefusedError(answer.status_code, answer.headers, answer.body) from None
    return End(raw)


class Server:
    """A Server of this library."""

    def __init__(self, *, subprotocols: Sequence[str] = (), tls: ssl.SSLContext | None = None) -> None:
        self.door = Door()
        self.url = ""
        self._subprotocols = list(subprotocols)
        self._tls = tls

    async def start(self) -> None:
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            0,
            process_request=self._refuse,
            subprotocols=self._subprotocols or None,  # type: ignore[arg-type]
            select_subprotocol=self._select,
            ssl=self._tls,
            **_OPTIONS,
        )
        port = next(iter(self._server.sockets)).getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"

    async def stop(self) -> None:
        self.door.clear()
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, raw: ServerConnection) -> None:
        assert raw.request is not None
        self.door.enter(End(raw), raw.request.path, list(raw.request.headers.raw_items()))
        await raw.wait_closed()

    def _refuse(self, raw: ServerConnection, request: Request) -> Response | None:
        refusal = self.door.refusal
        if refusal is None:
            return None
        headers = Headers([*refusal.headers, ("Content-Length", str(len(refusal.body)))])
        return Response(refusal.status, "Refused", headers, refusal.body)

    def _select(self, raw: ServerConnection, offered: Sequence[str]) -> Any:
        return next((name for name in self._subprotocols if name in offered), None)  # its own choice would refuse
