# The real process under a service manager that a test plays: sockets handed down, and what it says of itself.

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PATIENCE_S = 30.0
# Puts the sockets where systemd does, and says whose they are.
AS_SYSTEMD = """
import fcntl, os, sys
config, *given = sys.argv[1:]
for place, fd in enumerate([fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in given], start=3):
    os.dup2(fd, place)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.executable, [sys.executable, "-m", "proxy", "serve", "--config", config])
"""


@dataclass
class Manager:
    """Has the sockets and hears the messages, across restarts of the service."""

    folder: Path
    clients: socket.socket
    admin: socket.socket
    ear: socket.socket

    @contextmanager
    def service(self) -> Iterator[subprocess.Popen[bytes]]:
        fds = [self.clients.fileno(), self.admin.fileno()]
        env = {
            **os.environ,
            "LISTEN_FDS": "2",
            "LISTEN_FDNAMES": "clients:admin",
            "NOTIFY_SOCKET": self.ear.getsockname(),
            "WATCHDOG_USEC": "400000",
        }
        process = subprocess.Popen(
            [sys.executable, "-c", AS_SYSTEMD, str(self.folder / "slotgate.yaml"), *map(str, fds)],
            env=env,
            pass_fds=fds,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def hears(self, wanted: str) -> str:
        """The next message of this kind; signs of life may come in between."""
        while True:
            message = self.ear.recv(1000).decode()
            if message != "WATCHDOG=1" or wanted == message:
                assert message.startswith(wanted)
                return message


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    (tmp_path / "slotgate.yaml").write_text(
        # Nobody can listen there: the sockets that are handed down take the place of these.
        "listen: unix:/proc/none\nadmin: {listen: unix:/proc/none2}\nstate: memory\n"
    )
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        ear = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        ear.bind(str(tmp_path / "notify"))
        ear.settimeout(PATIENCE_S)
        yield Manager(tmp_path, *listening, ear)


def ask(listener: socket.socket, path: str) -> socket.socket:
    """Connects and sends a request; the answer may come later."""
    sock = socket.create_connection(listener.getsockname(), timeout=PATIENCE_S)
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    return sock


def answer(sock: socket.socket) -> bytes:
    with sock, sock.makefile("rb") as file:
        return file.read()


def test_a_restart_refuses_no_connection(manager: Manager) -> None:
    with manager.service() as first:
        manager.hears("READY=1")
        assert b" 200 " in answer(ask(manager.admin, "/healthz"))
        assert b"unknown_upstream" in answer(ask(manager.clients, "/none/x"))
        first.send_signal(signal.SIGTERM)
        manager.hears("STOPPING=1")
        assert first.wait(PATIENCE_S) == 0
    waiting = ask(manager.clients, "/none/x")
    with manager.service():
        assert b"unknown_upstream" in answer(waiting)


def test_a_reload_is_told_with_its_time_and_ends_with_ready(manager: Manager) -> None:
    with manager.service() as process:
        manager.hears("READY=1")
        before_us = time.monotonic_ns() // 1000
        process.send_signal(signal.SIGHUP)
        said = re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=(\d+)", manager.hears("RELOADING=1"))
        assert said
        assert before_us <= int(said[1]) <= time.monotonic_ns() // 1000
        manager.hears("READY=1")


def test_signs_of_life_keep_coming(manager: Manager) -> None:
    with manager.service():
        manager.hears("READY=1")
        for _ in range(3):
            manager.hears("WATCHDOG=1")
