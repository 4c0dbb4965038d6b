# The real request path from listener to upstream connection, on free ports, without the process round it.
#
# Rule 1: nothing is replaced but the store, which keeps nothing, and the log, which goes nowhere.
# Rule 2: a rig that is closed is at rest: no request served, no slot held, no waiter, no body accounted for; and
#         nothing has told the log, or the event loop, of an error.

import asyncio
import json
import os
import random
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from proxy.config import Settings, load
from proxy.config.settings import Log as LogSettings
from proxy.core.scheduler import Scheduler
from proxy.service.admission import Admission
from proxy.service.clock import Clock
from proxy.service.log import Log
from proxy.service.log_rendering import Line
from proxy.service.record import RequestRecord
from proxy.service.runtime import Runtime
from proxy.service.telemetry import Telemetry
from proxy.store import open_store
from proxy.web.clients import ClientListener
from proxy.web.forward import Forwarder
from proxy.wire.client import ClientConnection
from rawsides.peer import PATIENCE, Peer
from rawsides.upstream import Upstream

Options = Mapping[str, Any]


async def becomes(condition: Callable[[], bool], what: str = "") -> None:
    """Wait until `condition` holds."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0.001)
    except TimeoutError:
        raise AssertionError(f"never became true: {what}") from None


IN_ONE_SEGMENT = 60_000  # bytes that arrive in one piece on the loopback


def narrow(connection: ClientConnection) -> None:
    """Let a client's connection say that it is full as soon as its kernel takes no more, which is soon."""
    transport = connection._transport
    assert transport is not None
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    transport.set_write_buffer_limits(high=0)


def settings_of(upstreams: Mapping[str, Options], options: Options) -> Settings:
    """A configuration without presets, state and rests."""
    wanted = {
        "presets": False,
        "state": "memory",
        "upstreams": {name: {"cooldown": 0, **entry} for name, entry in upstreams.items()},
        **options,
    }
    return load(None, env={}, text=json.dumps(wanted))


class Rig:
    """One upstream named `up`, its provider named `up` too. `options` are the configuration's other keys."""

    def __init__(self, upstream: Upstream, entry: Options, options: Options, *, scheme: str = "http") -> None:
        self.upstream = upstream
        self.records: list[RequestRecord] = []
        self.errors: list[str] = []
        self._entry = {"url": f"{scheme}://{upstream.authority}", "provider": "up", **entry}
        self._options = options
        self._clients: list[Peer] = []
        self._null = os.open(os.devnull, os.O_WRONLY)

    async def start(self) -> None:
        settings = await asyncio.to_thread(settings_of, {"up": self._entry}, self._options)
        clock = Clock(asyncio.get_running_loop().time)
        self._log = _Log(settings.log, self.records, self.errors, wall_ms=clock.wall_ms, fd=self._null)
        asyncio.get_running_loop().set_exception_handler(lambda _, about: self.errors.append(repr(about)))
        self.runtime = Runtime(
            settings,
            load=lambda: settings_of({"up": self._entry}, self._options),
            store=open_store("memory", ""),
            telemetry=self._telemetry,
            clock=clock,
            chance=random.Random(1),
            fingerprint_key=b"key of the tests",
        )
        await self.runtime.start()
        self.forwarder = Forwarder(self.runtime)
        self.listener = ClientListener(self.forwarder, lambda: self.runtime.settings.client_header_timeout_s)
        # The protocol is named, as getaddrinfo does for listeners: asyncio's own loop sets TCP_NODELAY only then.
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.setblocking(False)
        sock.bind(("127.0.0.1", 0))
        sock.listen(512)
        self.address: tuple[str, int] = sock.getsockname()
        await self.listener.open([sock])

    async def reconfigure(self, entry: Options, **options: object) -> None:
        """Reload with other values of the upstream's entry and of the top keys."""
        self._entry = {**self._entry, **entry}
        self._options = {**self._options, **options}
        await self.runtime.reload()

    async def client(self, *, receive_buffer: int | None = None) -> Peer:
        peer = await Peer.connect(self.address, receive_buffer=receive_buffer)
        self._clients.append(peer)
        return peer

    async def ask(self, message: bytes, *, receive_buffer: int | None = None) -> tuple[Peer, Peer]:
        """A new client that has sent `message`, and the upstream's side of the new connection on which it arrives."""
        client = await self.client(receive_buffer=receive_buffer)
        await client.send(message)
        return client, await self.upstream.link()

    @property
    def admission(self) -> Admission:
        return self.runtime.admission("up")

    @property
    def scheduler(self) -> Scheduler:
        return self.admission.scheduler

    async def record(self, count: int = 1) -> RequestRecord:
        """The `count`-th record, once it is there."""
        await becomes(lambda: len(self.records) >= count, f"{count} records")
        return self.records[count - 1]

    async def at_rest(self) -> None:
        """Nothing is served, held, waiting or kept; soon, since a client may have left a moment ago."""

        def resting() -> bool:
            kept = (self.scheduler.held, len(self.scheduler.waiting), self.forwarder._budget.used)
            return not self.listener.serving() and kept == (0, 0, 0)

        try:
            await becomes(resting, "at rest")
        except AssertionError:
            raise AssertionError(f"not at rest: {self.listener.serving()} {self.scheduler}") from None

    async def close(self) -> None:
        """End what runs the way a client would; fails if anything is left, or if the log told of an error."""
        for client in self._clients:
            client.close()
        self.upstream.close()
        try:
            await self.at_rest()
        finally:
            await self.abandon()
        assert self.errors == [], self.errors

    async def abandon(self) -> None:
        """Let go of everything, at rest or not."""
        self.listener.stop_accepting()
        self.listener.cut_all()
        await becomes(lambda: not self.listener.connections, "no client connection")
        self.listener.close()
        self.forwarder.close()
        await self.runtime.close()
        await asyncio.to_thread(self._log.close)
        os.close(self._null)

    def _telemetry(self, runtime: Runtime) -> Telemetry:
        return Telemetry(clock=runtime.clock, snapshots=runtime.snapshots, log=self._log, history=runtime.keep_events)


Start = Callable[..., Awaitable[Rig]]


class _Log(Log):
    """Keeps every request's record and every line at level error, beside what it does."""

    def __init__(
        self,
        settings: LogSettings,
        records: list[RequestRecord],
        errors: list[str],
        *,
        wall_ms: Callable[[], int],
        fd: int,
    ) -> None:
        super().__init__(settings, wall_ms=wall_ms, fd=fd)
        self._records = records
        self._errors = errors

    def put(self, level: int, line: Line) -> None:
        if isinstance(line, RequestRecord):
            self._records.append(line)
        super().put(level, line)

    def error(self, event: str, /, **fields: object) -> None:
        self._errors.append(f"{event} {fields}")
        super().error(event, **fields)
