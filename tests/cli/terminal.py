# A terminal of our own: a command runs on it in a process, its screen is read, keys are typed.
#
# Rule 1: what is on the screen is what a terminal would show: the bytes go through pyte.
# Rule 2: whatever a test does, the process is gone afterwards.

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator
from typing import Any

import pyte
from blackbox.waiting import PATIENCE, until


class Terminal:
    """`raw` is every byte that the command wrote."""

    def __init__(self, columns: int, lines: int) -> None:
        self._ours, self.theirs = pty.openpty()
        self.raw = b""
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._size(columns, lines)
        self.before = self.attributes
        self.process: asyncio.subprocess.Process | None = None

    @property
    def attributes(self) -> list[Any]:
        return termios.tcgetattr(self.theirs)

    @property
    def rows(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    async def start(self, *arguments: str, code: str = "", **environment: str) -> None:
        """The command, or what `code` makes of it."""
        python = ("-c", code) if code else ("-m", "proxy")
        hidden = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "SLOTGATE_ADMIN", "SLOTGATE_TOKEN_FILE")
        inherited = {name: value for name, value in os.environ.items() if name not in hidden}
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, *python, *arguments),
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**inherited, "TERM": "xterm-256color", "SLOTGATE_CONFIG": "", **environment},
        )
        asyncio.get_running_loop().add_reader(self._ours, self._read)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    async def shows(self, *words: str) -> None:
        """Waits until all of them are on the screen."""
        await self.until(lambda: all(word in self.text for word in words), f"{words} on the screen")

    async def until(self, predicate: Any, what: str) -> None:
        try:
            await until(predicate, what=what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text}") from None

    def resize(self, columns: int, lines: int) -> None:
        self._screen.resize(lines, columns)
        self._size(columns, lines)

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def ended(self) -> int:
        """Waits for the command's end: its exit status."""
        assert self.process is not None
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()

    async def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._ours)
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        os.close(self._ours)
        os.close(self.theirs)

    def _size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _read(self) -> None:
        try:
            more = os.read(self._ours, 65536)
        except OSError:
            more = b""
        if not more:
            asyncio.get_running_loop().remove_reader(self._ours)
        self.raw += more
        self._stream.feed(more)


@contextlib.asynccontextmanager
async def a_terminal(
    *arguments: str, size: tuple[int, int] = (100, 30), code: str = "", **environment: str
) -> AsyncIterator[Terminal]:
    """A command on a terminal of its own; ended with the test."""
    terminal = Terminal(*size)
    try:
        await terminal.start(*arguments, code=code, **environment)
        yield terminal
    finally:
        await terminal.close()
