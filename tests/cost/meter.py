# Counts what Python executes: opcodes, and calls of functions in Python and in C, by function; and writes.
#
# Rule 1: no clock: a busy machine counts the same as an idle one.
# Rule 2: counted are the thread that calls `install`, and every one that starts after it.
# Rule 3: what C code does inside one call is not seen, but for the system's calls that write: a send to the network is
#         the dearest single thing that a proxy does. The bench is for the rest.

import contextlib
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

_IO = Path("/proc/self/io")


@dataclass(slots=True)
class Counts:
    """Of one unit of work, by function. A call is counted for the function that was called in Python, and for the
    caller where that was one in C. `writes` are write() and its like, to whatever; Python's own sockets send()."""

    opcodes: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    writes: int = 0


class Meter:
    """Counts while somebody is in `unit`, in whatever thread."""

    def __init__(self) -> None:
        self._counts: Counts | None = None

    def install(self) -> None:
        sys._getframe().f_trace_opcodes = True  # 3.12 tells of opcodes only if some frame wants them at settrace()
        threading.settrace(self._began)
        threading.setprofile(self._called)
        sys.settrace(self._began)
        sys.setprofile(self._called)

    @contextlib.contextmanager
    def unit(self) -> Iterator[Counts]:
        counts = self._counts = Counts()
        before = _writes()
        try:
            yield counts
        finally:
            self._counts = None
            counts.writes = _writes() - before

    def _began(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        """A function begins, or a coroutine goes on."""
        if self._counts is None:
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        return self._traced

    def _traced(self, frame: FrameType, event: str, _arg: Any) -> Any:
        counts = self._counts
        if event == "opcode" and counts is not None:
            counts.opcodes[_name_of(frame)] += 1
        return self._traced

    def _called(self, frame: FrameType, event: str, _arg: Any) -> None:
        counts = self._counts
        if event in ("call", "c_call") and counts is not None:
            counts.calls[_name_of(frame)] += 1


def _writes() -> int:
    """Of all threads of this process since it began. Linux counts them (proc_pid_io(5)); elsewhere there are none, and
    opcodes and calls are what is held."""
    if not _IO.exists():
        return 0
    found = re.search(r"^syscw: (\d+)", _IO.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def _name_of(frame: FrameType) -> str:
    """proxy.wire.head.RequestHead.get, asyncio.base_events.BaseEventLoop.call_soon."""
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"
