# Connecting to upstreams: directly, over TLS, and through forward proxies.

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import trustme

from proxy.config import Tls, parse_url
from proxy.config.url import parse_proxy
from proxy.errors import ConnectFailed, ConnectTimedOut
from proxy.wire.dial import Way, dial
from proxy.wire.resolve import Resolver
from proxy.wire.tls import context

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Serve = Callable[..., Awaitable[int]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    servers: list[asyncio.Server] = []
    handlers: set[asyncio.Task[None]] = set()

    async def start(handler: Handler, tls: ssl.SSLContext | None = None) -> int:
        async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            handlers.add(task)
            try:
                await handler(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                return
            finally:
                writer.close()

        servers.append(await asyncio.start_server(closing, "127.0.0.1", 0, ssl=tls))
        return int(servers[-1].sockets[0].getsockname()[1])

    yield start
    for server in servers:
        server.close()
    for task in handlers:
        task.cancel()
    await asyncio.gather(*handlers, return_exceptions=True)


class Heard:
    """The user of a connection: what came, and whether it ended."""

    def __init__(self) -> None:
        self.received = asyncio.Event()
        self.got = b""

    def data(self, data: bytes) -> None:
        self.got += data
        self.received.set()

    def lost(self, error: Exception | None) -> None:
        self.received.set()

    def writable(self, ready: bool) -> None: ...


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)


def authority() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context for localhost and a client's that trusts it alone."""
    ca = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost").configure_cert(server)
    client = ssl.create_default_context()
    ca.configure_trust(client)
    return server, client


async def echoed(way: Way, said: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    connection = await dial(way, Resolver(loop), loop)
    heard = connection.user = Heard()
    connection.write(said)
    await asyncio.wait_for(heard.received.wait(), 10)
    connection.close()
    await asyncio.sleep(0)
    return heard.got


def way(
    url: str, tls: ssl.SSLContext | None = None, proxy: str | None = None, proxy_tls: ssl.SSLContext | None = None
) -> Way:
    through = None if proxy is None else parse_proxy(proxy)
    return Way(url=parse_url(url), tls=tls, timeout_s=10, proxy=through, proxy_tls=proxy_tls)


async def test_a_plain_upstream_is_reached(serve: Serve) -> None:
    assert await echoed(way(f"http://127.0.0.1:{await serve(echo)}"), b"hello") == b"hello"


async def test_a_tls_upstream_is_verified_by_its_configured_name(serve: Serve) -> None:
    server, client = authority()
    port = await serve(echo, server)
    assert await echoed(way(f"https://localhost:{port}", client), b"hello") == b"hello"
    with pytest.raises(ConnectFailed, match="certificate"):
        await echoed(way(f"https://127.0.0.1:{port}", client), b"hello")
    with pytest.raises(ConnectFailed, match="certificate"):
        await echoed(way(f"https://localhost:{port}", context(Tls())), b"hello")
    assert await echoed(way(f"https://127.0.0.1:{port}", context(Tls(verify=False))), b"hello") == b"hello"


@pytest.mark.parametrize("proxy_scheme", ["http", "https"])
async def test_tls_goes_end_to_end_through_a_proxy(serve: Serve, proxy_scheme: str) -> None:
    server, client = authority()
    target = await serve(echo, server)
    asked: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", target)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)

        copying = {
            asyncio.ensure_future(copy(reader, onward_writer)),
            asyncio.ensure_future(copy(onward_reader, writer)),
        }
        try:
            await asyncio.wait(copying, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in copying:
                task.cancel()
            onward_writer.close()

    port = await serve(tunnel, server if proxy_scheme == "https" else None)
    proxy_tls = client if proxy_scheme == "https" else None
    through = way(f"https://localhost:{target}", client, f"{proxy_scheme}://user:secret@localhost:{port}", proxy_tls)
    assert await echoed(through, b"hello") == b"hello"
    assert asked == [
        f"CONNECT localhost:{target} HTTP/1.1\r\nHost: localhost:{target}\r\n".encode()
        + b"Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n\r\n"
    ]


async def test_a_proxy_that_refuses_is_named_with_its_status(serve: Serve) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    port = await serve(refuse)
    with pytest.raises(ConnectFailed, match="407"):
        await echoed(way("https://localhost:1", context(Tls()), f"http://127.0.0.1:{port}"), b"")


async def test_a_proxy_that_hangs_up_is_a_failed_connection(serve: Serve) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    port = await serve(hang_up)
    with pytest.raises(ConnectFailed, match="closed the connection"):
        await echoed(way("https://localhost:1", context(Tls()), f"http://127.0.0.1:{port}"), b"")


async def test_a_refused_port_says_so(serve: Serve) -> None:
    with pytest.raises(ConnectFailed, match="refused"):
        await echoed(way("http://127.0.0.1:1"), b"")


async def test_a_handshake_that_hangs_is_a_time_out(serve: Serve) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_000_000)
        await reader.read(1_000_000)

    url = parse_url(f"https://localhost:{await serve(silent)}")
    loop = asyncio.get_running_loop()
    with pytest.raises(ConnectTimedOut, match=r"within 0\.2 s"):
        await dial(Way(url=url, tls=context(Tls()), timeout_s=0.2), Resolver(loop), loop)
