# A new connection to an upstream, directly or through a forward proxy.
#
# Rule 1: a name is looked up for each connection, so that a changed address is followed; slow addresses are tried side
#         by side (RFC 8305).
# Rule 2: through a forward proxy TLS goes end to end, inside CONNECT; plain HTTP is spoken to the proxy itself, with
#         absolute targets (RFC 9112 3.2.2), which whoever writes the head sees to.
# Rule 3: whatever goes wrong, or is cancelled, leaves no socket behind.

import asyncio
import base64
import contextlib
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

import aiohappyeyeballs

from proxy.config import BaseUrl
from proxy.errors import BadMessage, ConnectFailed, ConnectTimedOut
from proxy.wire.head import parse_response
from proxy.wire.head_reader import HeadReader
from proxy.wire.resolve import Resolver

HAPPY_EYEBALLS_S = 0.25  # RFC 8305 5: how long an address is tried alone
_P = TypeVar("_P", bound=asyncio.Protocol)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How an upstream is reached. `tls` is None for plain http; `proxy_tls` for a proxy that is reached so."""

    url: BaseUrl
    tls: ssl.SSLContext | None
    timeout_s: float
    proxy: BaseUrl | None = None
    proxy_tls: ssl.SSLContext | None = None


async def dial(way: Way, protocol: Callable[[], _P], resolver: Resolver, loop: asyncio.AbstractEventLoop) -> _P:
    """The protocol of a new connection. ConnectFailed or ConnectTimedOut, with the reason."""
    try:
        async with asyncio.timeout(way.timeout_s):
            if way.proxy is None:
                return await _open(way.url, way.tls, protocol, resolver, loop)
            if way.tls is None:
                return await _open(way.proxy, way.proxy_tls, protocol, resolver, loop)
            return await _open_through(way, way.proxy, way.tls, protocol, resolver, loop)
    except TimeoutError:
        raise ConnectTimedOut(f"no connection within {way.timeout_s:g} s") from None
    except (OSError, ssl.CertificateError) as error:
        raise ConnectFailed(_reason(error)) from error


def proxy_authorization(proxy: BaseUrl) -> bytes | None:
    """The value of Proxy-Authorization for a proxy's credentials, if it has any (RFC 7617)."""
    if proxy.userinfo is None:
        return None
    return b"Basic " + base64.b64encode(proxy.userinfo.encode())


async def _open(
    url: BaseUrl,
    tls: ssl.SSLContext | None,
    protocol: Callable[[], _P],
    resolver: Resolver,
    loop: asyncio.AbstractEventLoop,
) -> _P:
    infos = await resolver.look_up(url.host, url.port)
    sock = await aiohappyeyeballs.start_connection(
        infos, happy_eyeballs_delay=HAPPY_EYEBALLS_S, interleave=1, loop=loop
    )
    try:
        _, made = await loop.create_connection(
            protocol, sock=sock, ssl=tls, server_hostname=None if tls is None else url.host
        )
    except BaseException:
        with contextlib.suppress(OSError):
            sock.close()
        raise
    return made


async def _open_through(
    way: Way,
    proxy: BaseUrl,
    tls: ssl.SSLContext,
    protocol: Callable[[], _P],
    resolver: Resolver,
    loop: asyncio.AbstractEventLoop,
) -> _P:
    asking = await _open(proxy, way.proxy_tls, lambda: _Connect(loop), resolver, loop)
    try:
        await asking.ask(way.url, proxy_authorization(proxy))
        made = protocol()
        inside = await loop.start_tls(asking.transport, made, tls, server_hostname=way.url.host)
    except BaseException:
        asking.transport.abort()
        raise
    made.connection_made(cast(asyncio.Transport, inside))  # start_tls leaves that to its caller
    return made


class _Connect(asyncio.Protocol):
    """Asks a proxy for a tunnel (RFC 9110 9.3.6)."""

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._answer: asyncio.Future[int] = loop.create_future()
        self._heads = HeadReader()

    async def ask(self, url: BaseUrl, authorization: bytes | None) -> None:
        place = (url.authority if ":" in url.authority.rpartition("]")[2] else f"{url.authority}:{url.port}").encode()
        lines = [b"CONNECT %s HTTP/1.1" % place, b"Host: " + place]
        if authorization is not None:
            lines.append(b"Proxy-Authorization: " + authorization)
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n")
        status = await self._answer
        if not 200 <= status < 300:
            raise ConnectFailed(f"the proxy answered CONNECT with {status}")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._heads.buffer += data
        try:
            while (raw := self._heads.take()) is not None and not self._answer.done():
                status = parse_response(raw).status
                if status >= 200:
                    self._answer.set_result(status)
        except BadMessage as error:
            self.connection_lost(ConnectionError(f"the proxy's answer to CONNECT: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._answer.done():
            reason = "the proxy closed the connection" if exc is None else str(exc)
            self._answer.set_exception(ConnectFailed(reason))


def _reason(error: OSError | ssl.CertificateError) -> str:
    """What went wrong, for people: addresses are the operator's own, nothing of the request is in it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate: {error.verify_message}"
    if error.errno is not None and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__
