# The proxies under test, each as a process of its own on the front's core, in front of the one upstream.
#
# Rule 1: Slotgate is compiled, as an installation is, where the bench is told of a compiled copy; the sources as they
#         are then stand beside it as `plain`. Both have everything on that a user has by default: queue and cooldown,
#         log to a file, metrics, state in SQLite. The limit is so high that nobody waits, unless that is the row.
# Rule 2: HAProxy and nginx do the plain hop: one thread, connections kept to the upstream, each byte passed on at once.
#         Neither writes a log.
# Rule 3: bare (bare.py) is no proxy, but what a hop costs on Slotgate's loop if nothing is done there: Python's floor.

import json
import shutil
import sys
import urllib.request
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .child import TOP
from .descriptors import connections
from .front import Front, free_port, version_in

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


class Slotgate(Front):
    name = "slotgate"
    command = sys.executable

    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        self._admin = free_port()
        url = f"http://127.0.0.1:{upstream}"
        options = dict(queue or NO_WAITING)
        names = options.pop("names", ["up"])
        state = options.pop("state", str(self.directory / "state.db"))
        config = {
            "listen": f"127.0.0.1:{self.port}",
            "admin": {"listen": f"127.0.0.1:{self._admin}"},
            "state": state,
            "queue": {"max_waiting": 100_000, "max_wait": "1h"},
            "upstreams": {name: {"url": url, "provider": name, **options} for name in names},
        }
        file = self.directory / "slotgate.yaml"
        file.write_text(json.dumps(config))  # JSON is YAML
        return [sys.executable, "-m", "proxy", "serve", "--config", str(file)]

    def tell(self, method: str, path: str, body: object = None) -> Any:
        """Calls the admin API."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._admin}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._admin}/readyz", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    @classmethod
    def version(cls) -> str:
        return version_in([sys.executable, "-m", "proxy", "--version"], cls.home)


class Plain(Slotgate):
    name = "plain"
    command = None  # there is no other beside it yet


class Haproxy(Front):
    name = "haproxy"
    command = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")

    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        assert self.command is not None
        maxconn = f"maxconn {queue['limit']}" if queue else ""
        file = self.directory / "haproxy.cfg"
        file.write_text(HAPROXY.format(port=self.port, upstream=upstream, maxconn=maxconn, connections=connections()))
        return [self.command, "-db", "-f", str(file)]

    @classmethod
    def version(cls) -> str:
        assert cls.command is not None
        return version_in([cls.command, "-v"])


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

    @classmethod
    def version(cls) -> str:
        assert cls.command is not None
        return version_in([cls.command, "-v"])


class Bare(Front):
    name = "bare"
    command = sys.executable

    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        assert not queue, "bare has no queue"
        return [sys.executable, "-m", "tests.bench.bare", str(self.port), str(upstream)]

    @classmethod
    def version(cls) -> str:
        return f"uvloop {version('uvloop')}"


FRONTS: tuple[type[Front], ...] = (Slotgate, Haproxy, Nginx)
HOPS: tuple[type[Front], ...] = (Slotgate, Plain, Haproxy, Nginx, Bare)


def use_compiled(copy: Path) -> None:
    """Slotgate is this copy from now on, and what lies in the checkout stands beside it."""
    Slotgate.home, Plain.home, Plain.command = copy, TOP, sys.executable


def present(fronts: tuple[type[Front], ...] = FRONTS) -> list[type[Front]]:
    """Those that are installed."""
    return [front for front in fronts if front.command is not None]
