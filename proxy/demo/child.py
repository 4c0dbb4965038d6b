# The proxy: a real `slotgate serve`, a process of its own with a configuration of its own.
#
# Rule 1: it is in a session of its own: a Ctrl-C at the terminal reaches the demo alone, which then ends it.
# Rule 2: `end` leaves no process behind, whatever it does; where nobody could call it, the end of its stdin does.

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import yaml

import proxy
from proxy.demo.terms import REFUSED_S, Terms

START_S = 60.0  # imports on a busy machine
_LOOK_S = 0.05
_END_S = 5.0
_TRIES = 3  # a port that was free may be taken meanwhile
_TAIL_LINES = 5
# The package from where this one is, never from a folder `proxy` in which somebody happens to stand (-P).
_MAIN = "import sys; sys.path.append(sys.argv.pop(1)); from proxy.demo.leash import main; main()"
_HOME = str(Path(proxy.__file__).parents[1])
RESTORE_S = 60.0  # after so long without a refusal the limit goes up again


class NotStarted(Exception):
    """The proxy did not come up; the message says why."""


class Proxy:
    """Has `clients` and `admin`, the URLs of its listeners, once it is started."""

    def __init__(self, folder: Path, upstream: str, terms: Terms) -> None:
        self._folder, self._upstream, self._terms = folder, upstream, terms
        self._process: asyncio.subprocess.Process | None = None
        self.clients = self.admin = ""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self, session: aiohttp.ClientSession) -> None:
        """Returns when it is ready."""
        for _ in range(_TRIES):
            await self._spawn()
            if await self._ready(session):
                return
            if "in use" not in self.last_words():
                break
        raise NotStarted(f"the proxy did not start: {self.last_words() or 'it said nothing'}")

    async def ended(self) -> int:
        """Waits for the process to end: its exit status."""
        assert self._process is not None
        return await self._process.wait()

    async def end(self) -> None:
        """Tell it to end, and see to it."""
        if self._process is None or self._process.returncode is not None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await self._process.wait()
                    return

    def last_words(self) -> str:
        """The end of what it said."""
        with contextlib.suppress(OSError):
            lines = (self._folder / "log").read_text(errors="replace").splitlines()
            return "\n".join(lines[-_TAIL_LINES:])
        return ""

    async def _spawn(self) -> None:
        first, second = _free_ports()
        self.clients, self.admin = f"http://127.0.0.1:{first}", f"http://127.0.0.1:{second}"
        file = self._folder / "slotgate.yaml"
        file.write_text(yaml.safe_dump(self._config(first, second), sort_keys=False))
        with (self._folder / "log").open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-P", "-c", _MAIN, _HOME, "serve", "--config", str(file)),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=_environment(os.environ),
                start_new_session=True,
            )

    def _config(self, clients: int, admin: int) -> dict[str, Any]:
        def life(seconds: float) -> str:
            return f"{max(1, round(seconds / self._terms.speed))}s"

        upstream = {
            "url": self._upstream,
            "provider": "demo",
            "preset": "anthropic",
            "limit": self._terms.limit,
            "pause": {"default": life(REFUSED_S)},
            "auto_restore": life(RESTORE_S),
        }
        return {
            "listen": f"127.0.0.1:{clients}",
            "admin": {"listen": f"127.0.0.1:{admin}"},
            "state": str(self._folder / "state.db"),
            "presets": False,
            "log": {"format": "json"},
            "shutdown": {"grace": 0},
            "upstreams": {"demo": upstream},
        }

    async def _ready(self, session: aiohttp.ClientSession) -> bool:
        assert self._process is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                while self._process.returncode is None:
                    with contextlib.suppress(aiohttp.ClientError):
                        async with session.get(f"{self.admin}/readyz") as response:
                            if response.status == 200:
                                return True
                    await asyncio.sleep(_LOOK_S)
        return False


def _free_ports() -> tuple[int, int]:
    """Two that were free a moment ago."""
    with socket.socket() as first, socket.socket() as second:
        for sock in (first, second):
            sock.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Ours, without what a service manager says to this process alone."""
    return {name: value for name, value in ours.items() if not name.startswith(("LISTEN_", "NOTIFY_", "WATCHDOG_"))}
