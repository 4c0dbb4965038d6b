# Sockets to listen on: opened by us, or handed down by a service manager.

import errno
import os
import resource
import socket
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress

from proxy.config import Address
from proxy.errors import SlotgateError

BACKLOG = 4096  # connections that wait to be accepted; the kernel caps it at net.core.somaxconn
UNIX_MODE = 0o600  # spec §3.1
CLIENTS, ADMIN = "clients", "admin"  # what listeners are for; FileDescriptorName of the socket units


class ListenError(SlotgateError):
    """An address cannot be listened on; the message says which, and why."""


def open_sockets(address: Address, *, spread: bool = False) -> list[socket.socket]:
    """Listening sockets for `address`: one, or for a name one per address that it has. `spread`: others may listen
    there as well, and the kernel gives each of them its share."""
    if address.kind == "unix":
        return [_open_unix(address)]
    try:
        infos = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ListenError(f"cannot listen on {address}: {error.strerror}") from error
    opened: list[socket.socket] = []
    try:
        for family, kind, protocol, _, place in dict.fromkeys(infos):
            sock = socket.socket(family, kind, protocol)
            opened.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if spread:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.setblocking(False)
            sock.bind(place)
            sock.listen(BACKLOG)
    except OSError as error:
        for sock in opened:
            sock.close()
        raise _refused(address, error) from error
    return opened


def check_free(address: Address) -> None:
    """ListenError if somebody listens on `address`: another one whose sockets let others listen beside them would be no
    hindrance, and would take a part of the connections."""
    if address.kind == "tcp":
        for sock in open_sockets(address):
            sock.close()


def raise_descriptor_limit() -> None:
    """Allow this process as many descriptors as it may allow itself: the usual soft limit of 1024 is there for programs
    that use select(2), and a queue of 1000 waiters is over it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):  # a system whose hard limit is more than it gives
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Sockets:
    """All listening sockets of the process. `inherited` are the descriptors of those that a service manager opened, by
    their names; one that is named neither way is the admin's if it has the admin's address, else the clients'."""

    def __init__(self, inherited: Mapping[str, list[int]], admin: Address | None = None) -> None:
        self._inherited: dict[str, list[socket.socket]] = {CLIENTS: [], ADMIN: []}
        self._open: list[socket.socket] = []
        self._names: dict[int, str] = {}
        self._files: dict[str, int] = {}  # of unix sockets that we made, with their inodes
        for name, fds in inherited.items():
            for fd in fds:
                sock = socket.socket(fileno=fd)
                sock.setblocking(False)
                role = name if name in self._inherited else ADMIN if name_of(sock) == str(admin) else CLIENTS
                self._inherited[role].append(sock)
                self._names[fd] = name_of(sock)

    def of(self, role: str, addresses: Sequence[Address], *, spread: bool = False) -> list[socket.socket]:
        """The sockets that were handed down for `role`, CLIENTS or ADMIN, or else new ones for `addresses`; `spread` as
        above."""
        found = list(self._inherited[role])
        if not found:
            for address in addresses:
                if spread:
                    check_free(address)
                found += self.keep(open_sockets(address, spread=spread))
        return found

    def keep(self, opened: list[socket.socket]) -> list[socket.socket]:
        """`opened`, which are ours to close from now on."""
        self._open += opened
        for sock in opened:
            self._names[sock.fileno()] = name_of(sock)
            if sock.family == socket.AF_UNIX:
                self._files[sock.getsockname()] = os.stat(sock.getsockname()).st_ino
        return opened

    def opened(self, sock: socket.socket) -> bool:
        """Whether we opened it."""
        return sock in self._open

    def name(self, sock: socket.socket) -> str:
        """The address of one of ours, as in the configuration file."""
        return self._names[sock.fileno()]

    def close(self) -> None:
        """Close what we opened; the files of unix sockets go too, those of inherited sockets stay."""
        for sock in self._open:
            sock.close()
        for path, inode in self._files.items():
            with suppress(OSError):
                if os.stat(path).st_ino == inode:  # not one that was made there meanwhile
                    os.unlink(path)


def name_of(sock: socket.socket) -> str:
    """The address as in the configuration file: host:port, [host]:port or unix:/path."""
    place = sock.getsockname()
    if sock.family == socket.AF_UNIX:
        return f"unix:{place}"
    host, port = place[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _open_unix(address: Address) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        _remove_dead(address.path)
        before = os.umask(0o777 & ~UNIX_MODE)  # so that it is never open to others, not even for a moment
        try:
            sock.bind(address.path)
        finally:
            os.umask(before)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise _refused(address, error) from error
    return sock


def _refused(address: Address, error: OSError) -> ListenError:
    remedy = ""
    if error.errno == errno.EADDRINUSE:
        remedy = "; perhaps by another slotgate: `listen` and `admin.listen` in the configuration choose others"
    return ListenError(f"cannot listen on {address}: {error.strerror}{remedy}")


def _remove_dead(path: str) -> None:
    """Remove the socket file of a process that is gone; one that answers, or another kind of file, stays."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)
