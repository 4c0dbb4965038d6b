# The real process, `python -m proxy serve --config FILE`, on free ports, with its logs kept and its end made sure of.
#
# Rule 1: whatever a test does, `discard` leaves no process behind.
# Rule 2: its output goes to pipes that are always read: a full pipe would stop it.

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from blackbox.admin import Admin
from blackbox.client import Headers, RawClient
from blackbox.events import EventStream
from blackbox.waiting import PATIENCE, until

PORTS = range(20_000, 32_000)  # below those that Linux gives to connections (net.ipv4.ip_local_port_range)
WORKERS = 24  # have ports of their own
STOPPING = '"event": "proxy.stopping"'
START = 30.0  # seconds until it is ready: imports on a busy machine


class Proxy:
    """One slotgate with its directory: configuration, state file, logs. May be started again after its end."""

    def __init__(self, directory: Path, config: Mapping[str, Any]) -> None:
        self.directory = directory
        self.file = directory / "slotgate.yaml"
        self.state = directory / "state.db"
        self.config: dict[str, Any] = {"presets": False, "state": str(self.state), "log": {"format": "json"}, **config}
        self.ready_headers: Headers = ()  # what the question for readiness needs to be answered
        self.output = ""
        self.process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []

    @property
    def address(self) -> tuple[str, int]:
        """Where clients go."""
        return _split(self.config["listen"])

    @property
    def admin_address(self) -> tuple[str, int]:
        return _split(self.config["admin"]["listen"])

    @property
    def admin(self) -> Admin:
        return Admin(self.admin_address)

    @property
    def admins(self) -> list[Admin]:
        """One for each process."""
        return [self.admin]

    async def events(self, headers: Headers) -> EventStream:
        """A reader of the events from now on."""
        return await EventStream.open(self.admin_address, "/concurrency/events", headers)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def write(self, changes: Mapping[str, Any] | None = None) -> None:
        """Writes the configuration file anew, with `changes` merged in at the top level."""
        self.config = {**self.config, **(changes or {})}
        self.file.write_text(yaml.safe_dump(self.config, sort_keys=False))

    async def start(self) -> None:
        """Returns when the admin listener says ready; tries other ports where one was taken meanwhile."""
        for _ in range(3):
            first, second = free_ports(2)
            self.write(
                {
                    "listen": f"127.0.0.1:{first}",
                    "admin": {**self.config.get("admin", {}), "listen": f"127.0.0.1:{second}"},
                }
            )
            if await self._run():
                return
            if "in use" not in self.output:
                break
        raise AssertionError(f"the proxy did not start:\n{self.tail()}")

    async def spawn(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        """Starts the process and returns at once."""
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "proxy", "serve", "--config", str(self.file), *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            self._readers.append(asyncio.create_task(self._read(stream)))

    async def _run(self) -> bool:
        await self.spawn()
        return await self.becomes_ready()

    async def becomes_ready(self) -> bool:
        """Waits for it; False: it has ended before."""
        await until(lambda: self.over() or self._ready(), timeout=START, every=0.03, what="the proxy to be ready")
        return not self.over()

    def over(self) -> bool:
        """Nothing of it runs."""
        return self.process is None or self.process.returncode is not None

    async def _ready(self) -> bool:
        try:
            return (await self.admin.get("/readyz", self.ready_headers)).status == 200
        except (OSError, AssertionError):
            return False

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while more := await stream.read(65536):
            self.output += more.decode(errors="replace")

    # --- its end ---------------------------------------------------------------------------------------------------

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def ended(self, *, timeout: float = PATIENCE) -> int:
        """Waits for the process to end; its exit status."""
        assert self.process is not None
        async with asyncio.timeout(timeout):
            status = await self.process.wait()
            await asyncio.gather(*self._readers)
        self._readers.clear()
        return status

    async def kill(self) -> None:
        """kill -9: no goodbye."""
        self.signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> None:
        """Ends it in order, without a grace."""
        before = self.output.count(STOPPING)
        self.signal(signal.SIGTERM)
        await until(lambda: self.over() or self.output.count(STOPPING) > before, every=0.01, what="the proxy to stop")
        if not self.over():  # a second signal before the first was seen would be the same one
            self.signal(signal.SIGTERM)
        await self.ended()

    async def discard(self) -> None:
        """Makes sure that it is gone; a test that cares how it ends has seen to that before."""
        if not self.over():
            self.signal(signal.SIGKILL)
        if self.process is not None:
            await self.ended()

    async def restart(self) -> None:
        """Started again with the same files and other ports."""
        assert self.over()
        await self.start()

    async def come_back(self) -> None:
        """Started again with the same files at the same addresses: whoever was connected finds it there."""
        assert self.over()
        assert await self._run(), f"the proxy did not come back:\n{self.tail()}"

    # --- what it says ----------------------------------------------------------------------------------------------

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.output.splitlines()[-lines:])

    @property
    def log(self) -> list[dict[str, Any]]:
        """Its log lines (JSON), oldest first."""
        found = []
        for line in self.output.splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                found.append(json.loads(line))
        return [line for line in found if isinstance(line, dict)]

    async def logged(self, predicate: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Waits for a log line of which `predicate` is true: lines are written a moment after what they tell."""
        line: dict[str, Any] = await until(lambda: next(filter(predicate, self.log), None), what="a line in the log")
        return line

    async def connect(self, *, receive_buffer: int | None = None) -> RawClient:
        return await RawClient.connect(self.address, receive_buffer=receive_buffer)


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, and are still: the kernel gives them to nobody by itself, and no other worker
    takes from the same ones. Else a proxy that could not listen was taken for the one that did."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    first = PORTS.start + number * len(PORTS) // WORKERS
    candidates = random.sample(range(first, first + len(PORTS) // WORKERS), len(PORTS) // WORKERS)
    return list(islice(filter(_is_free, candidates), count))


def _is_free(port: int) -> bool:
    with socket.socket() as sock, contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the proxy does
        sock.bind(("127.0.0.1", port))
        return True
    return False


def _split(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    return host, int(port)
