# The whole terminal, for a command that draws in place.
#
# Rule 1: it is an alternate screen: what stood on the terminal is there again at the end, whatever the end is.
# Rule 2: a new size is drawn at once.

import os
import select
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from types import FrameType, TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text


class Screen:
    """A context manager. Lines are given from the top; those that have no room are not shown."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._live = Live(console=self._console, screen=True, auto_refresh=False)
        self._stack = ExitStack()
        self._poked, self._poke = -1, -1

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, as of now."""
        return self._console.width, self._console.height

    def __enter__(self) -> "Screen":
        with ExitStack() as stack:
            self._poked, self._poke = os.pipe()
            os.set_blocking(self._poke, False)
            stack.callback(os.close, self._poked)
            stack.callback(os.close, self._poke)
            stack.callback(signal.signal, signal.SIGWINCH, signal.signal(signal.SIGWINCH, self._on_resize))
            stack.callback(self._live.stop)  # before the start: a signal may end us in the middle of it
            self._live.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def draw(self, lines: Sequence[Text]) -> None:
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        self._live.update(Group(*lines[: self._console.height]), refresh=True)

    def wait(self, seconds: float, *files: int) -> list[int] | None:
        """Which of `files` can be read, as soon as one can; none of them when the size is a new one or somebody pokes;
        None when the time is over."""
        ready, _, _ = select.select([self._poked, *files], [], [], max(seconds, 0.0))
        if not ready:
            return None
        if self._poked in ready:
            os.read(self._poked, 4096)
            ready.remove(self._poked)
        return ready

    def poke(self) -> None:
        """Ends a `wait`; from any thread."""
        try:
            os.write(self._poke, b"w")
        except BlockingIOError:
            return  # full: it is known

    def _on_resize(self, _: int, __: FrameType | None) -> None:
        self.poke()
