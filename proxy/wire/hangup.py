# Hearing that a peer has left although its socket is not being read.
#
# Rule 1: pausing a transport takes its socket out of the event loop's poll, FIN and RST included. A socket that is
#         watched here reports those alone, never data, so that backpressure stays what it is.
# Rule 2: the loop sees one descriptor however many sockets are watched: an epoll of our own, which is readable when
#         one of them has hung up.
# Rule 3: where there is no epoll (not Linux), a peer that leaves while it is paused is noticed when it is read again.

import asyncio
import select
from collections.abc import Callable


class Hangups:
    """Watches sockets by their descriptors; `unwatch` before one is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._calls: dict[int, Callable[[bool], None]] = {}
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        self._loop = loop
        if self._epoll is not None:
            loop.add_reader(self._epoll.fileno(), self._heard)

    def __repr__(self) -> str:
        return f"<Hangups of {len(self._calls)} sockets>"

    def watch(self, fd: int, call: Callable[[bool], None]) -> None:
        """Call `call` once when the peer of `fd` has closed its side (False), or the connection is broken (True)."""
        if self._epoll is not None:
            self._calls[fd] = call
            self._epoll.register(fd, select.EPOLLRDHUP)  # EPOLLHUP and EPOLLERR are always reported

    def unwatch(self, fd: int) -> None:
        """Forget `fd`; does nothing if it is not watched."""
        if self._epoll is not None and self._calls.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def close(self) -> None:
        """Stop watching altogether."""
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._epoll = None

    def _heard(self) -> None:
        assert self._epoll is not None
        for fd, events in self._epoll.poll(0):
            call = self._calls.get(fd)
            self.unwatch(fd)
            if call is not None:
                call(bool(events & (select.EPOLLHUP | select.EPOLLERR)))
