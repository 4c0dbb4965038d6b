# Real servers for tests: Redis on a socket or a port, with what it is told, killed and back; Sentinel; a Cluster.
#
# Rule: a server is there when `start` returns, and gone when `kill` does; nothing of it outlives its `with`.

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
import redis

PATIENCE_S = 30.0


class RedisServer:
    """Without persistence, in a folder of its own. It listens on `socket`, and on `port` if it is given one."""

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        self.socket = folder / "r.sock"
        self.port = port
        self.url = f"unix://{self.socket}"
        self._command = [
            *(command(), "--dir", str(folder), "--port", str(port), "--unixsocket", str(self.socket)),
            *("--save", "", "--appendonly", "no", *options),
        ]
        self._process: subprocess.Popen[str] | None = None

    def start(self, *more: str) -> Self:
        """`more` options than it was made with."""
        self._process = _started([*self._command, *more], "eady to accept")
        return self

    def kill(self) -> None:
        """As a crash would. All that it has kept is lost."""
        _killed(self._process)
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @contextmanager
    def connection(self, **options: object) -> Iterator["redis.Redis"]:
        """One that the proxy knows nothing of."""
        with redis.Redis(unix_socket_path=str(self.socket), **options) as connection:  # type: ignore[arg-type]
            yield connection


@contextmanager
def sentinel(folder: Path, service: str, primary: int) -> Iterator[int]:
    """A Sentinel that knows the server at the port `primary` as `service`; its own port."""
    port, file = free_port(), folder / "sentinel.conf"
    file.write_text(f"port {port}\ndir {folder}\nsentinel monitor {service} 127.0.0.1 {primary} 1\n")
    process = _started([command(), str(file), "--sentinel"], "+monitor master")
    try:
        yield port
    finally:
        _killed(process)


@contextmanager
def cluster(folder: Path, *options: str) -> Iterator[list[RedisServer]]:
    """A Cluster of two primaries."""
    with ExitStack() as stack:
        nodes = []
        for name in ("a", "b"):
            (folder / name).mkdir()
            asked = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()), *options)
            nodes.append(stack.enter_context(RedisServer(folder / name, *asked, port=free_port())))
        first, second = (stack.enter_context(node.connection()) for node in nodes)
        first.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 8191)
        second.execute_command("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
        bus = nodes[0]._command[nodes[0]._command.index("--cluster-port") + 1]
        second.execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[0].port, bus)
        for connection in (first, second):
            until(lambda each=connection: each.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
        yield nodes


def until(happened: Callable[[], bool]) -> None:
    """Waits for what has no other sign; it fails after PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command() -> str:
    """The program; without it the test is skipped."""
    found = shutil.which("redis-server")
    if found is None:
        assert not os.environ.get("EVERY_TEST"), "redis-server is missing"
        pytest.skip("redis-server is missing")
    return found


def _started(command: list[str], ready: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said = []
    while ready not in (line := process.stdout.readline()):
        said.append(line)
        if not line:
            process.wait()
            process.stdout.close()
            raise AssertionError(f"it did not start: {''.join(said)}")
    return process


def _killed(process: subprocess.Popen[str] | None) -> None:
    if process is not None:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
