# A proxy under test: a process of its own on the front's core, in front of the one upstream.

import contextlib
import random
import re
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .child import TOP
from .processor import Processor, on_core

START_S = 60.0  # LiteLLM takes half of it
PORTS = (20_000, 32_000)  # below Linux' net.ipv4.ip_local_port_range


class Front(ABC):
    """Started when it is made; `stop` ends it. `command` is what starts it, None where that is not installed."""

    name: str
    command: str | None
    home = TOP  # where it runs

    def __init__(self, directory: Path, core: int, upstream: int, queue: Mapping[str, Any] | None = None) -> None:
        """`queue` holds options of Slotgate's provider; its limit is HAProxy's `maxconn` of the server."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        arguments = self.prepare(upstream, queue)
        self._output = (directory / "output").open("wb")
        with on_core(core):
            self._process = subprocess.Popen(
                arguments, cwd=self.home, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output
            )
        self.processor = Processor(self._process.pid)
        self._wait_until_ready()

    @property
    def address(self) -> list[Any]:
        return ["127.0.0.1", self.port]

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Of an installed one."""

    @abstractmethod
    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        """Writes the configuration; the command to start."""

    def is_ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """Fails if it has ended before."""
        died = self._process.poll()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)
        self._output.close()
        if died is not None:
            raise RuntimeError(f"{self.name} ended with {died}: {self._last_words()}")

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + START_S
        while not self.is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self.name} did not start: {self._last_words()}")
            time.sleep(0.02)

    def _last_words(self) -> str:
        return (self.directory / "output").read_text(errors="replace")[-2000:]


def free_port() -> int:
    """One that was free a moment ago, and that the kernel gives to no outgoing connection: the load makes thousands."""
    while True:
        port = random.randrange(*PORTS)
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port


def version_in(command: list[str], home: Path = TOP) -> str:
    """The first version that it says."""
    said = subprocess.run(command, cwd=home, capture_output=True, text=True)
    found = re.search(r"\d+\.\d[\w.+~-]*", said.stdout + said.stderr)
    return found[0] if found else "unknown"
