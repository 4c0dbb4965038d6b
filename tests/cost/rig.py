# The proxy between blocking sockets: nothing happens but what a unit of work does next.
#
# Rule 1: the proxy is what `slotgate serve` starts, in this process, with everything on that a user has by default.
# Rule 2: slots rest for a moment only, so that the end of a rest falls into the unit whose slot it was.

import json
import socket
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bench.front import free_port
from tests.rawsides.tls_authority import Authority

PATIENCE_S = 30.0
COOLDOWN = "1ms"


class Rig:
    """A proxy's configuration, and the sockets on both of its sides. Upstreams: `up`, at which nobody waits; `one`,
    with one slot; `tls`, as `up` over TLS."""

    def __init__(self, directory: Path) -> None:
        self.config = directory / "slotgate.yaml"
        self._port, self._admin = free_port(), free_port()
        self._plain, self._tls = _listening(), _listening()
        authority = Authority(directory)
        self._context = authority.server("localhost")
        plain = f"http://127.0.0.1:{_port_of(self._plain)}"
        upstreams: Mapping[str, Mapping[str, Any]] = {
            "up": {"url": plain, "provider": "up", "limit": 100_000},
            "one": {"url": plain, "provider": "one", "limit": 1},
            "tls": {
                "url": f"https://localhost:{_port_of(self._tls)}",
                "limit": 100_000,
                "tls": {"ca_file": str(authority.file)},
            },
        }
        self.config.write_text(
            json.dumps(  # JSON is YAML
                {
                    "listen": f"127.0.0.1:{self._port}",
                    "admin": {"listen": f"127.0.0.1:{self._admin}"},
                    "state": str(directory / "state.db"),
                    "shutdown": {"grace": 0},
                    "upstreams": {name: {"cooldown": COOLDOWN, **options} for name, options in upstreams.items()},
                }
            )
        )

    def client(self) -> socket.socket:
        """A new connection to the proxy."""
        return _prompt(socket.create_connection(("127.0.0.1", self._port), PATIENCE_S))

    def upstream(self) -> socket.socket:
        """The proxy's next new connection to `up` or `one`."""
        return _prompt(self._plain.accept()[0])

    def tls_upstream(self) -> socket.socket:
        """The proxy's next new connection to `tls`."""
        return self._context.wrap_socket(_prompt(self._tls.accept()[0]), server_side=True)

    def wait_for_queue(self, length: int) -> None:
        """Until so many wait at `one`; what brought them there is then over."""
        while self._queued() < length:
            time.sleep(0.05)

    def _queued(self) -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._admin}/concurrency/status/one") as answer:
            queued: int = json.load(answer)["queued"]
        return queued


def receive(sock: socket.socket, end: bytes) -> None:
    """Returns when the last bytes that came are `end`."""
    held = b""
    while not held.endswith(end):
        more = sock.recv(65536)
        if not more:
            raise ConnectionError(f"closed after {held[-200:]!r}")
        held += more


def _listening() -> socket.socket:
    sock = socket.create_server(("127.0.0.1", 0))
    sock.settimeout(PATIENCE_S)
    return sock


def _port_of(sock: socket.socket) -> int:
    port: int = sock.getsockname()[1]
    return port


def _prompt(sock: socket.socket) -> socket.socket:
    sock.settimeout(PATIENCE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock
