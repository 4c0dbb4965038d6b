# Which process is at the other end of a connection that does not leave this machine (Linux).
#
# Rule 1: `whose` asks the kernel, which answers within the call. `holder` looks through /proc, which takes tens of
#         milliseconds: never on the event loop.
# Rule 2: nothing raises. A process that may not be looked into, or has ended, is none.

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from ipaddress import IPv6Address, ip_address
from typing import Any, NamedTuple

from proxy.wire.sock_diag import peer_inode

PROC = "/proc"
SEARCH_S = 1.0  # a machine with more processes than can be looked through in that time keeps its secret
_CREDENTIALS = struct.Struct("3i")  # ucred: pid, uid, gid


class Whose(NamedTuple):
    """A process by its id, or by the socket that it holds."""

    pid: int | None = None
    inode: int | None = None


def can_be_known() -> bool:
    """Whether this system tells."""
    return hasattr(socket, "AF_NETLINK") and hasattr(socket, "SO_PEERCRED") and os.path.isdir(f"{PROC}/self/fd")


def whose(sock: Any) -> Whose | None:
    """Who is at the other end of a connected socket; None if nobody on this machine."""
    with contextlib.suppress(OSError, ValueError, struct.error):
        if sock.family == socket.AF_UNIX:
            told = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            pid = _CREDENTIALS.unpack(told)[0]
            return Whose(pid=pid) if pid > 0 else None  # 0: in another namespace
        if _is_loopback(sock.getpeername()[0]):
            inode = peer_inode(sock)
            return Whose(inode=inode) if inode else None
    return None


def holder(inode: int, first: Iterable[int]) -> int | None:
    """The process that holds the socket with this inode; those in `first` are looked at first, then the older before
    the younger: a child may have inherited it."""
    until = time.monotonic() + SEARCH_S
    link = f"socket:[{inode}]"
    for pid in (*first, *_processes()):
        if _holds(pid, link):
            return pid
        if time.monotonic() > until:
            break
    return None


def _is_loopback(host: str) -> bool:
    address = ip_address(host.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def _processes() -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from sorted(int(name) for name in os.listdir(PROC) if name.isdecimal())


def _holds(pid: int, link: str) -> bool:
    folder = f"{PROC}/{pid}/fd"
    with contextlib.suppress(OSError):  # not ours to look into, or it has ended
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):  # closed a moment ago
                if os.readlink(f"{folder}/{name}") == link:
                    return True
    return False
