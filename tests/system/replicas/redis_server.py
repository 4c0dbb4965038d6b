# A real redis-server with a directory and a port of its own, and its end made sure of.
#
# Rule 1: it keeps its port and its directory over its deaths: whoever was connected finds it there, with what it kept.
# Rule 2: what is asked of it here goes over a connection that ends with the answer.

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio
from blackbox.process import free_ports
from blackbox.waiting import PATIENCE, until

FORGETS = ("--save", "", "--appendonly", "no")
KEEPS = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")


class RedisServer:
    """`options` end its command line; `within` is what starts it (`ip netns exec …`), `host` where it listens."""

    def __init__(
        self, directory: Path, options: Sequence[str] = FORGETS, *, host: str = "127.0.0.1", within: Sequence[str] = ()
    ) -> None:
        self.directory, self.options, self.host, self.within = directory, options, host, within
        self.port = free_ports(1)[0]
        self.process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"redis://{self.host}:{self.port}/0"

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    async def start(self) -> None:
        """Returns when it answers."""
        self.directory.mkdir(exist_ok=True)
        listening = ("--port", str(self.port), "--bind", self.host, "--protected-mode", "no")
        kept = ("--dir", str(self.directory), "--logfile", str(self.directory / "redis.log"))
        command = [*self.within, program("redis-server"), *self._file(), *listening, *kept, *self.options]
        self.process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL)
        await until(self._answers, every=0.03, what="redis-server to answer")

    def _file(self) -> Sequence[str]:
        """The configuration file, where it has one."""
        return ()

    async def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.returncode is None, (self.directory / "redis.log").read_text()
        with contextlib.suppress(redis.ConnectionError, redis.BusyLoadingError, redis.TimeoutError, OSError):
            return bool(await self.ask("PING"))
        return False

    async def ask(self, *words: str | int) -> Any:
        """One command, and its answer."""
        async with redis.asyncio.Redis(host=self.host, port=self.port, socket_timeout=PATIENCE, retry=None) as client:
            return await client.execute_command(*words)

    # --- what may happen to it -------------------------------------------------------------------------------------

    async def kill(self) -> None:
        """kill -9: it keeps what its options let it keep."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def restart(self) -> None:
        await self.kill()
        await self.start()

    def freeze(self) -> None:
        """Connections stay, and nothing is answered."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    async def discard(self) -> None:
        if self.process is not None:
            await self.kill()


def program(name: str) -> str:
    """Where that program lies; a test is skipped where it is missing, and fails in CI."""
    found = shutil.which(name)
    if found is None:
        assert not os.environ.get("EVERY_TEST"), f"{name} is missing"
        pytest.skip(f"{name} is missing")
    return found
