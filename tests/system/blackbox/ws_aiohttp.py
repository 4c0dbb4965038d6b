# The library aiohttp on either side. Without `autoping` an end hears pings and pongs, and answers none by itself.

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from aiohttp import ClientSession, ClientWSTimeout, WSMsgType, WSServerHandshakeError, web

from blackbox.waiting import PATIENCE
from blackbox.ws import Control, Door, Ending, Message, RefusedError, vanish


class End:
    """A Socket of this library; `session` is a client's."""

    def __init__(self, raw: Any, transport: asyncio.Transport | None, session: ClientSession | None = None) -> None:
        self.raw = raw
        self.over = asyncio.Event()
        self._transport = transport
        self._session = session
        self._ending: Ending | None = None

    @property
    def subprotocol(self) -> str | None:
        found: str | None = self.raw.protocol if self._session else self.raw.ws_protocol
        return found

    @property
    def extensions(self) -> str:
        return f"deflate {self.raw.compress}" if self.raw.compress else ""

    @property
    def wire(self) -> socket.socket | None:
        transport = self._transport
        return None if transport is None or transport.is_closing() else transport.get_extra_info("socket")

    async def say(self, message: Message | Sequence[Message]) -> None:
        assert isinstance(message, str | bytes), "this library sends no fragments"
        async with asyncio.timeout(PATIENCE):
            await (self.raw.send_str(message) if isinstance(message, str) else self.raw.send_bytes(message))

    async def hear(self) -> Message | Control:
        async with asyncio.timeout(PATIENCE):
            message = await self.raw.receive()
        if message.type in (WSMsgType.PING, WSMsgType.PONG):
            return Control(message.type.name.lower(), bytes(message.data))
        assert message.type in (WSMsgType.TEXT, WSMsgType.BINARY), message
        data: Message = message.data
        return data

    async def close(self, code: int = 1000, reason: str = "") -> None:
        async with asyncio.timeout(PATIENCE):
            await self.raw.close(code=code, message=reason.encode())
        await self._end(Ending(self.raw.close_code, ""))

    async def ended(self) -> Ending:
        async with asyncio.timeout(PATIENCE):
            while self._ending is None:
                message = await self.raw.receive()
                if message.type is WSMsgType.CLOSE:
                    await self._end(Ending(message.data, message.extra or ""))
                elif message.type in (WSMsgType.CLOSED, WSMsgType.ERROR):
                    await self._end(Ending(self.raw.close_code, ""))
        return self._ending

    def leave(self, how: str) -> None:
        vanish(self._transport, how)
        self.over.set()

    async def _end(self, ending: Ending) -> None:
        self._ending = self._ending or ending
        self.over.set()
        if self._session is not None:
            await self._session.close()


async def connect(
    url: str,
    *,
    subprotocols: Sequence[str] = (),
    compress: bool = True,
    name: str = "",
    headers: Sequence[tuple[str, str]] = (),
    autoping: bool = True,
) -> End:
    """A client's end. RefusedError where the answer is not 101."""
    session = ClientSession()
    try:
        raw = await session.ws_connect(
            url.replace("ws", "http", 1),
            protocols=subprotocols,
            compress=15 if compress else 0,
            headers=[*headers, *([("x-name", name)] if name else [])],
            autoping=autoping,
            max_msg_size=0,
            timeout=ClientWSTimeout(ws_close=PATIENCE),
        )
    except BaseException as error:
        await session.close()
        if isinstance(error, WSServerHandshakeError):
            raise RefusedError(error.status, error.headers, None) from None
        raise
    return End(raw, raw._conn.transport, session)


class Server:
    """A Server of this library."""

    def __init__(
        self, *, subprotocols: Sequence[str] = (), tls: ssl.SSLContext | None = None, autoping: bool = True
    ) -> None:
        self.door = Door()
        self.url = ""
        self._subprotocols = subprotocols
        self._tls = tls
        self._autoping = autoping

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/{rest:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        self.door.clear()
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        refusal = self.door.refusal
        if refusal is not None:
            return web.Response(status=refusal.status, body=refusal.body, headers=dict(refusal.headers))
        raw = web.WebSocketResponse(
            protocols=self._subprotocols, autoping=self._autoping, max_msg_size=0, timeout=PATIENCE
        )
        await raw.prepare(request)
        end = End(raw, request.transport)
        self.door.enter(end, request.path_qs, list(request.headers.items()))
        await end.over.wait()
        return raw
