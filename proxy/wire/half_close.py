# Telling a client that has said its last word from one that has left. Both send the same FIN.
#
# Rule 1: a peer on this machine can be asked about: the kernel knows whether a process still holds its socket
#         (sock_diag, Linux), and a unix socket that is closed hangs up, where one that is half closed does not.
# Rule 2: a peer that nothing can be learned about counts as gone: clients that give up close, and few half-close.
# Rule 3: a half-closed peer that leaves later says nothing more, so it is asked about again and again.

import asyncio
import contextlib
import select
import socket
import struct
from collections.abc import Callable
from typing import Any

FIRST_S, LATEST_S = 0.01, 1.0  # between two looks: soon first, as a process lets go just after its FIN has left

_SOCK_DIAG = 4  # linux/netlink.h NETLINK_SOCK_DIAG
_BY_FAMILY = 20  # linux/sock_diag.h SOCK_DIAG_BY_FAMILY; its answer has the same type
_REQUEST = 1  # linux/netlink.h NLM_F_REQUEST
_ANY = 0xFFFFFFFF  # all states; no cookie
_HEADER = struct.Struct("=IHHII")  # nlmsghdr
_INODE = struct.Struct("=I")
_INODE_AT = _HEADER.size + 68  # inet_diag_msg.idiag_inode; 0: no process holds the socket


def may_read(sock: Any) -> bool:
    """Whether the peer of a connected socket that has sent a FIN is known to be there still."""
    return held(sock) is True


def held(sock: Any) -> bool | None:
    """Whether a process holds the other end of a connected socket; None if that cannot be known."""
    with contextlib.suppress(OSError, ValueError):
        if sock.family == socket.AF_UNIX:
            return not _hung_up(sock.fileno())
        if hasattr(socket, "AF_NETLINK"):
            return _held(sock.family, sock.getpeername(), sock.getsockname())
    return None


def _hung_up(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, 0)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


def _held(family: int, peer: tuple[Any, ...], here: tuple[Any, ...]) -> bool | None:
    """Whether a process holds the other end of the connection; None if that is not in this network namespace."""
    ports = struct.pack("!HH", peer[1], here[1])
    addresses = b"".join(socket.inet_pton(family, end[0].partition("%")[0]).ljust(16, b"\0") for end in (peer, here))
    asked = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, _ANY) + ports + addresses
    asked += struct.pack("=III", 0, _ANY, _ANY)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
        kernel.setblocking(False)  # the kernel answers within the call
        kernel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
        told = kernel.recv(4096)
    _, kind, _, _, _ = _HEADER.unpack_from(told)
    return bool(_INODE.unpack_from(told, _INODE_AT)[0]) if kind == _BY_FAMILY else None


class HalfClosed:
    """Calls `gone` once the peer of `sock` has left altogether, within LATEST_S of it; `stop` ends the watch."""

    def __init__(self, sock: Any, loop: asyncio.AbstractEventLoop, gone: Callable[[], None]) -> None:
        self._sock = sock
        self._loop = loop
        self._gone = gone
        self._wait_s = FIRST_S
        self._timer = loop.call_later(self._wait_s, self._look)

    def __repr__(self) -> str:
        return f"<HalfClosed {self._sock!r}>"

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        if may_read(self._sock):
            self._wait_s = min(2 * self._wait_s, LATEST_S)
            self._timer = self._loop.call_later(self._wait_s, self._look)
        else:
            self._gone()
