# HAProxy in the proxy's place: one real process for all tests, and a hop through it for each.
#
# Rule 1: it is told to do what a plain hop does and nothing else: no log, no retry, no header of its own; the Host that
#         the upstream sees is the upstream's, as with us.
# Rule 2: its limits are wider than ours (spec §10): what it refuses, it refuses for its shape.
# Rule 3: it gets its listening sockets from us, open: nobody waits for it to start, and no port is guessed.
# Rule 4: what a test leaves behind reaches no other: each has an upstream of its own, and connections to the one before
#         are dropped as the address changes.

import shutil
import socket
import subprocess

from rawsides.peer import PATIENCE, Peer
from rawsides.upstream import Upstream

COMMAND = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")  # where only root looks by itself
WRITTEN_DOWN = "2.6."  # what tests say that HAProxy does otherwise was seen with this version, Debian 12's
CONFIG = """
global
    nbthread 1
    tune.bufsize 300000
    tune.http.maxhdr 300
    stats socket fd@{admin} level admin
defaults
    mode http
    option http-no-delay
    option abortonclose
    http-reuse always
    retries 0
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout tunnel 60s
frontend clients
    bind fd@{clients}
    default_backend provider
backend provider
    http-request replace-header Host .* %[var(proc.authority)]
    server up 127.0.0.1:9
"""
# Away from the last one first: what is still open to it is closed even if the kernel gives the same port again.
POINT_AT = (
    "experimental-mode on; set var proc.authority str({authority}); "
    "set server provider/up addr 127.0.0.1 port 9; set server provider/up addr {host} port {port}\n"
)


def _listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0), backlog=512)


class HaproxyProcess:
    """Runs until it is stopped."""

    def __init__(self) -> None:
        assert COMMAND is not None
        about = subprocess.run([COMMAND, "-v"], capture_output=True, check=True, text=True).stdout
        self.version = about.split()[2]  # HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/
        with _listening() as clients, _listening() as admin:
            self.address: tuple[str, int] = clients.getsockname()
            self._admin: tuple[str, int] = admin.getsockname()
            fds = {"clients": clients.fileno(), "admin": admin.fileno()}
            self._process = subprocess.Popen(
                [COMMAND, "-db", "-f", "/dev/stdin"], stdin=subprocess.PIPE, pass_fds=list(fds.values())
            )
        assert self._process.stdin is not None
        with self._process.stdin as stdin:
            stdin.write(CONFIG.format(**fds).encode())

    def point_at(self, upstream: Upstream) -> None:
        """From now on `upstream` is where requests go."""
        host, _, port = upstream.authority.partition(":")
        with socket.create_connection(self._admin, PATIENCE) as sock, sock.makefile("rw") as admin:
            admin.write(POINT_AT.format(authority=upstream.authority, host=host, port=port))
            admin.flush()
            said = admin.read()
        assert f"port changed from '9' to '{port}'" in said, said

    def stop(self) -> None:
        """Fails if it has ended before."""
        died = self._process.poll()
        self._process.terminate()
        self._process.wait(PATIENCE)
        assert died is None, f"haproxy ended with {died}"


class Haproxy:
    """What tests of both fronts use of a Rig, with HAProxy in its middle."""

    def __init__(self, process: HaproxyProcess, upstream: Upstream) -> None:
        self.upstream = upstream
        self._address = process.address
        self._clients: list[Peer] = []
        process.point_at(upstream)

    async def client(self, *, receive_buffer: int | None = None) -> Peer:
        peer = await Peer.connect(self._address, receive_buffer=receive_buffer)
        self._clients.append(peer)
        return peer

    async def ask(self, message: bytes, *, receive_buffer: int | None = None) -> tuple[Peer, Peer]:
        """A new client that has sent `message`, and the upstream's side of the new connection on which it arrives."""
        client = await self.client(receive_buffer=receive_buffer)
        await client.send(message)
        return client, await self.upstream.link()

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self.upstream.close()
