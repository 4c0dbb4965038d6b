# Counts what Python executes: opcodes, and calls of functions in Python and in C, by function.
#
# Rule 1: no clock: a busy machine counts the same as an idle one.
# Rule 2: counted are the thread that calls `install`, and every one that starts after it.
# Rule 3: what C code does inside one call is not seen. The bench is for that.

import contextlib
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one unit of work, by function. A call is counted for the function that was called in Python, and for the
    caller where that was one in C."""

    opcodes: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)


class Meter:
    """Counts while somebody is in `unit`, in whatever thread."""

    def __init__(self) -> None:
        self._counts: Counts | None = None

    def install(self) -> None:
        threading.settrace(self._began)
        threading.setprofile(self._called)
        sys.settrace(self._began)
        sys.setprofile(self._called)

    @contextlib.contextmanager
    def unit(self) -> Iterator[Counts]:
        counts = self._counts = Counts()
        try:
            yield counts
        finally:
            self._counts = None

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


def _name_of(frame: FrameType) -> str:
    """proxy.wire.head.RequestHead.get, asyncio.base_events.BaseEventLoop.call_soon."""
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"
