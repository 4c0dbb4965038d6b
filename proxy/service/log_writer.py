# The thread that writes the log, so that a disk or a reader that hangs never holds up the event loop.
#
# Rule 1: `put` never waits and never fails. When the queue is full the newest lines are dropped, and counted.
# Rule 2: how many lines are missing is written as soon as a line can be written again.
# Rule 3: no failure ends the thread. What cannot be rendered becomes a line that says so; what cannot be written is
#         counted as missing, and the next lines are tried afresh.

import os
import select
import stat
import threading
from collections.abc import Iterator
from queue import SimpleQueue

from proxy.service.log_rendering import Line, PlainLine, Renderer

CAPACITY = 10_000  # lines, some 10 MB
BATCH = 64  # lines rendered at a stretch, under 1 ms: the event loop waits for the interpreter's lock meanwhile
GATHER_S = 0.02  # how long a line waits for others to be written with it: spares both threads most of the switching


class LogWriter:
    """Writes lines to the descriptor `fd`, which it does not close. `render` may be replaced at any time."""

    def __init__(self, fd: int, render: Renderer, *, capacity: int = CAPACITY) -> None:
        self.render = render
        self._fd = fd
        self._capacity = capacity
        # In C, like the lock below: to wait for a threading.Event takes longer than to write a line.
        self._lines: SimpleQueue[Line | None] = SimpleQueue()  # None: the end
        self._dropped = 0  # lines, since the start; each of the three has one thread that changes it
        self._lost = 0
        self._told = 0
        self._pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
        self._torn = False  # whether the last write ended inside a line
        self._closed = False
        self._open = threading.Lock()  # held until then
        self._open.acquire()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<LogWriter fd {self._fd} waiting {self._lines.qsize()} missing {self._missing}>"

    def put(self, line: Line) -> None:
        """Take `line` to be written soon, or drop it."""
        if self._lines.qsize() < self._capacity:
            self._lines.put(line)
        else:
            self._dropped += 1

    def close(self, timeout_s: float) -> bool:
        """Write what was put before; False if that took longer than `timeout_s` and was given up."""
        if not self._closed:
            self._closed = True
            self._lines.put(None)
            self._open.release()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def _missing(self) -> int:
        return self._dropped + self._lost - self._told

    def _run(self) -> None:
        ended = False
        while not ended:
            taken = [self._lines.get()]
            if self._lines.qsize() < BATCH and self._open.acquire(timeout=GATHER_S):
                self._open.release()  # closed: nothing more comes
            taken += [self._lines.get() for _ in range(min(BATCH - 1, self._lines.qsize()))]
            lines = [line for line in taken if line is not None]
            ended = len(lines) < len(taken)
            if lines:
                self._write_batch(lines)

    def _write_batch(self, lines: list[Line]) -> None:
        missing = self._missing
        if missing:
            lines.append(PlainLine(lines[-1].at_ms, "warning", "log.dropped", {"lines": missing}))
        text = "".join([self._text(line) + "\n" for line in lines])
        if self._write(text.encode(errors="backslashreplace")):
            self._told += missing
        else:
            self._lost += len(lines) - bool(missing)

    def _text(self, line: Line) -> str:
        try:
            return self.render(line)
        except Exception as error:  # noqa: BLE001  this thread's top handler, see rule 3
            about: dict[str, object] = {"about": line.event, "error": type(error).__name__}
            return self.render(PlainLine(line.at_ms, "error", "log.failed", about))

    def _write(self, data: bytes) -> bool:
        """In pieces that are whole where several processes write to one pipe."""
        data = b"\n" + data if self._torn else data
        self._torn = False
        return all(map(self._write_piece, _pieces(data, select.PIPE_BUF) if self._pipe else [data]))

    def _write_piece(self, data: bytes) -> bool:
        rest = memoryview(data)
        whole = len(rest)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:  # another program made the terminal that we share non-blocking
                poll = select.poll()
                poll.register(self._fd, select.POLLOUT)
                poll.poll()
            except OSError:
                self._torn = len(rest) < whole
                return False
        return True


def _pieces(data: bytes, most: int) -> Iterator[bytes]:
    """Of whole lines and not longer than `most`, where no line is longer by itself."""
    while len(data) > most:
        end = data.rfind(b"\n", 0, most) + 1 or data.find(b"\n") + 1
        yield data[:end]
        data = data[end:]
    if data:
        yield data
