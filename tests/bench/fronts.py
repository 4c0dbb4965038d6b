# The proxies under test, each as a process of its own on the front's core, in front of the one upstream.
#
# Rule 1: Slotgate has everything on that a user has by default: queue and cooldown, log to a file, metrics, state in
#         SQLite. Its limit is so high that nobody waits, unless a row is about waiting.
# Rule 2: HAProxy and nginx do the plain hop: one thread, connections kept to the upstream, each byte passed on at once.
#         Neither writes a log.

import contextlib
import json
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .child import TOP
from .descriptors import connections
from .processor import Processor, on_core

START_S = 30.0
PORTS = (20_000, 32_000)  # below Linux' net.ipv4.ip_local_port_range
NO_WAITING = {"limit": 100_000}

HAPROXY = """
global
    nbthread 1
    maxconn {connections}
    tune.maxaccept 200
defaults
    mode http
    option http-no-delay
    http-reuse always
    timeout connect 5s
    timeout client 300s
    timeout server 300s
    timeout queue 300s
frontend clients
    bind 127.0.0.1:{port} backlog 4096
    default_backend provider
backend provider
    server up 127.0.0.1:{upstream} {maxconn}
"""
NGINX = """
daemon off;
master_process off;
pid {directory}/nginx.pid;
error_log stderr error;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    client_max_body_size 0;
    keepalive_requests 1000000000;
    upstream provider {{
        server 127.0.0.1:{upstream};
        keepalive 4000;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://provider;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_read_timeout 300s;
        }}
    }}
}}
"""


class Front(ABC):
    """Started when it is made; `stop` ends it. `version` is what it says of itself."""

    name: str
    command: str | None

    def __init__(self, directory: Path, core: int, upstream: int, queue: Mapping[str, Any] | None = None) -> None:
        """`queue` holds options of Slotgate's provider; its limit is HAProxy's `maxconn` of the server."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        arguments = self.prepare(upstream, queue)
        self._output = (directory / "output").open("wb")
        with on_core(core):
            self._process = subprocess.Popen(
                arguments, cwd=TOP, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output
            )
        self.processor = Processor(self._process.pid)
        self._wait_until_ready()

    @property
    def address(self) -> list[Any]:
        return ["127.0.0.1", self.port]

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


class Slotgate(Front):
    name = "slotgate"
    command = sys.executable

    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        self._admin = free_port()
        url = f"http://127.0.0.1:{upstream}"
        options = dict(queue or NO_WAITING)
        names = options.pop("names", ["up"])
        config = {
            "listen": f"127.0.0.1:{self.port}",
            "admin": {"listen": f"127.0.0.1:{self._admin}"},
            "state": str(self.directory / "state.db"),
            "queue": {"max_waiting": 100_000, "max_wait": "1h"},
            "upstreams": {name: {"url": url, "provider": name, **options} for name in names},
        }
        file = self.directory / "slotgate.yaml"
        file.write_text(json.dumps(config))  # JSON is YAML
        return [sys.executable, "-m", "proxy", "serve", "--config", str(file)]

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._admin}/readyz", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


class Haproxy(Front):
    name = "haproxy"
    command = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")

    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        assert self.command is not None
        maxconn = f"maxconn {queue['limit']}" if queue else ""
        file = self.directory / "haproxy.cfg"
        file.write_text(HAPROXY.format(port=self.port, upstream=upstream, maxconn=maxconn, connections=connections()))
        return [self.command, "-db", "-f", str(file)]


class Nginx(Front):
    name = "nginx"
    command = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")

    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        assert self.command is not None
        assert not queue, "nginx has no queue"
        file = self.directory / "nginx.conf"
        both_sides = 2 * connections()
        file.write_text(
            NGINX.format(directory=self.directory, port=self.port, upstream=upstream, connections=both_sides)
        )
        return [self.command, "-p", str(self.directory), "-e", "stderr", "-c", str(file)]


FRONTS: tuple[type[Front], ...] = (Slotgate, Haproxy, Nginx)


def present(fronts: tuple[type[Front], ...] = FRONTS) -> list[type[Front]]:
    """Those that are installed."""
    return [front for front in fronts if front.command is not None]


def free_port() -> int:
    """One that was free a moment ago, and that the kernel gives to no outgoing connection: the load makes thousands."""
    while True:
        port = random.randrange(*PORTS)
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port


def version_of(front: type[Front]) -> str:
    """Of an installed one."""
    if front is Slotgate:
        return subprocess.run(
            [sys.executable, "-m", "proxy", "--version"], cwd=TOP, capture_output=True, text=True, check=True
        ).stdout.strip()
    assert front.command is not None
    said = subprocess.run([front.command, "-v"], capture_output=True, text=True, check=True)
    found = re.search(r"\d+\.\d[\w.+~-]*", said.stdout + said.stderr)
    return found[0] if found else "unknown"
