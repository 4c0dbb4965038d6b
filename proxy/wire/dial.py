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
from dataclasses import dataclass

import aiohappyeyeballs

from proxy.config import BaseUrl
from proxy.errors import BadMessage, ConnectFailed, ConnectTimedOut
from proxy.wire.head import parse_response
from proxy.wire.head_reader import HeadReader
from proxy.wire.resolve import Resolver
from proxy.wire.upstream import UpstreamConnection

HAPPY_EYEBALLS_S = 0.25  # RFC 8305 5: how long an address is tried alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How an upstream is reached. `tls` is None for plain http; `proxy_tls` for a proxy that is reached so."""

    url: BaseUrl
    tls: ssl.SSLContext | None
    timeout_s: float
    proxy: BaseUrl | None = None
    proxy_tls: ssl.SSLContext | None = None


async def dial(way: Way, resolver: Resolver, loop: asyncio.AbstractEventLoop) -> UpstreamConnection:
    """A new connection. ConnectFailed or ConnectTimedOut, with the reason."""
    try:
        async with asyncio.timeout(way.timeout_s):
            connection = await _open(way.url if way.proxy is None else way.proxy, resolver, loop)
            try:
                await _prepare(connection, way, loop)
            except BaseException:
                connection.close()
                raise
    except TimeoutError:
        raise ConnectTimedOut(f"no connection within {way.timeout_s:g} s") from None
    except (OSError, ssl.CertificateError) as error:
        raise ConnectFailed(_reason(error)) from error
    if connection.closed:  # before anybody could hear of it
        raise ConnectFailed("the connection was closed at once")
    return connection


def proxy_authorization(proxy: BaseUrl) -> bytes | None:
    """The value of Proxy-Authorization for a proxy's credentials, if it has any (RFC 7617)."""
    if proxy.userinfo is None:
        return None
    return b"Basic " + base64.b64encode(proxy.userinfo.encode())


async def _open(url: BaseUrl, resolver: Resolver, loop: asyncio.AbstractEventLoop) -> UpstreamConnection:
    infos = await resolver.look_up(url.host, url.port)
    sock = await aiohappyeyeballs.start_connection(
        infos, happy_eyeballs_delay=HAPPY_EYEBALLS_S, interleave=1, loop=loop
    )
    try:
        _, made = await loop.create_connection(lambda: UpstreamConnection(loop), sock=sock)
    except BaseException:
        with contextlib.suppress(OSError):
            sock.close()
        raise
    return made


async def _prepare(connection: UpstreamConnection, way: Way, loop: asyncio.AbstractEventLoop) -> None:
    """Put TLS and the tunnel through a proxy between the socket and whoever will use the connection."""
    if way.proxy is not None:
        if way.proxy.tls and way.proxy_tls is not None:
            await connection.secure(way.proxy_tls, way.proxy.host)
        if way.tls is not None:
            await _Connect(connection, loop).ask(way.url, proxy_authorization(way.proxy))
    if way.tls is not None:
        await connection.secure(way.tls, way.url.host)


class _Connect:
    """Asks a proxy for a tunnel (RFC 9110 9.3.6); the connection's user until it is there."""

    def __init__(self, connection: UpstreamConnection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._answer: asyncio.Future[int] = loop.create_future()
        self._heads = HeadReader()

    async def ask(self, url: BaseUrl, authorization: bytes | None) -> None:
        """ConnectFailed if the proxy says no."""
        place = (url.authority if ":" in url.authority.rpartition("]")[2] else f"{url.authority}:{url.port}").encode()
        lines = [b"CONNECT %s HTTP/1.1" % place, b"Host: " + place]
        if authorization is not None:
            lines.append(b"Proxy-Authorization: " + authorization)
        self._connection.user = self
        self._connection.write(b"\r\n".join(lines) + b"\r\n\r\n")
        status = await self._answer
        self._connection.user = None
        if not 200 <= status < 300:
            raise ConnectFailed(f"the proxy answered CONNECT with {status}")

    # --- User ---

    def data(self, data: bytes) -> None:
        self._heads.buffer += data
        try:
            while not self._answer.done() and (raw := self._heads.take()) is not None:
                status = parse_response(raw).status
                if status >= 200:
                    self._answer.set_result(status)
        except BadMessage as error:
            self._fail(f"the proxy's answer to CONNECT: {error}")
        if self._answer.done() and self._heads.buffer and not self._answer.exception():
            self._connection.close()  # it speaks for the upstream, whom nobody has asked yet

    def half_closed(self) -> bool:
        return False

    def lost(self, error: Exception | None) -> None:
        self._fail("the proxy closed the connection" if error is None else str(error))

    def writable(self, ready: bool) -> None:
        """A head is short: nobody has to wait."""

    def _fail(self, reason: str) -> None:
        if not self._answer.done():
            self._answer.set_exception(ConnectFailed(reason))


def _reason(error: OSError | ssl.CertificateError) -> str:
    """What went wrong, for people: addresses are the operator's own, nothing of the request is in it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate: {error.verify_message}"
    if error.errno is not None and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__
