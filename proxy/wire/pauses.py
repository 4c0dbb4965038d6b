# Holding a client up, by not reading its socket, while still hearing that it has left.
#
# Rule: a FIN behind more than the sockets hold does not arrive while nobody reads. So who is held up for long is also
#       looked after, where that is possible: whether a process still holds the other end.

import asyncio
from collections.abc import Callable

from proxy.wire.half_close import held
from proxy.wire.hangup import Hangups

LOOK_S = 1.0  # between two looks


class Pauses:
    """The pauses of one transport's reading: counted, each needs its `undo`. `hung_up` is told of an end that comes
    meanwhile, as Hangups.watch says."""

    def __init__(
        self,
        transport: asyncio.Transport,
        hangups: Hangups,
        hung_up: Callable[[bool], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.count = 0
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._transport = transport
        self._hangups = hangups
        self._hung_up = hung_up
        self._watched: int | None = None  # the descriptor

    def __repr__(self) -> str:
        return f"<Pauses {self.count}>"

    def add(self) -> None:
        """Stop reading."""
        self.count += 1
        if self.count == 1:
            self._transport.pause_reading()
            sock = self._transport.get_extra_info("socket")
            if sock is not None:
                self._watched = sock.fileno()
                self._hangups.watch(self._watched, self._hung_up)
                self._timer = self._loop.call_later(LOOK_S, self._look)

    def undo(self) -> None:
        """Undo one pause; without one it does nothing."""
        if self.count:
            self.count -= 1
            if self.count == 0:
                self.stop_watching()
                self._transport.resume_reading()

    def undo_all(self) -> None:
        """Read again, whoever asked for a pause."""
        self.count = min(self.count, 1)
        self.undo()

    def stop_watching(self) -> None:
        """Before the socket is closed."""
        if self._watched is not None:
            self._hangups.unwatch(self._watched)
            self._watched = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if held(self._transport.get_extra_info("socket")) is False:
            self._hung_up(False)
        else:
            self._timer = self._loop.call_later(LOOK_S, self._look)
