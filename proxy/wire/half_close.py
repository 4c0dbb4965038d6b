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
from collections.abc import Callable
from typing import Any

from proxy.wire.sock_diag import peer_inode

FIRST_S, LATEST_S = 0.01, 1.0  # between two looks: soon first, as a process lets go just after its FIN has left


def may_read(sock: Any) -> bool:
    """Whether the peer of a connected socket that has sent a FIN is known to be there still."""
    return held(sock) is True


def held(sock: Any) -> bool | None:
    """Whether a process holds the other end of a connected socket; None if that cannot be known."""
    with contextlib.suppress(OSError, ValueError):
        if sock.family == socket.AF_UNIX:
            return not _hung_up(sock.fileno())
        inode = peer_inode(sock)
        return None if inode is None else inode != 0
    return None


def _hung_up(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, 0)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


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
