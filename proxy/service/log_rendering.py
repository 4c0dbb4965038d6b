# How one line of the log looks: JSON for programs, columns for people.
#
# Rule 1: what clients chose (a workspace, a conversation) is data: cut to MAX_CHARS, and no control character of it
#         reaches a terminal or ends a line. JSON is pure ASCII, and the console shows every string as its repr.
# Rule 2: an exception's own words may quote what a client sent, so only the words of our errors and of the system's
#         are written; of all others the type and the place.

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from types import TracebackType
from typing import Protocol

from structlog.dev import ConsoleRenderer, plain_traceback

from proxy.errors import SlotgateError
from proxy.service.quoting import MAX_CHARS, cut, iso

MAX_FRAMES = 20  # of one exception, the innermost; deeper ones are the event loop's and the library's


class Line(Protocol):
    """What is said now and written later; nobody changes it meanwhile. `at_ms` is epoch milliseconds."""

    @property
    def at_ms(self) -> int: ...

    @property
    def level(self) -> str: ...

    @property
    def event(self) -> str: ...

    @property
    def fields(self) -> dict[str, object]: ...

    def json(self) -> str: ...


@dataclass(slots=True)
class PlainLine:
    """A line whose fields were given when it was said."""

    at_ms: int
    level: str
    event: str
    fields: dict[str, object]

    def json(self) -> str:
        return _encode(_whole(self))


Renderer = Callable[[Line], str]


def renderer(form: str, fd: int) -> Renderer:
    """What makes a Line text, without its line end. `form` is "json", "console", or "auto": console on a terminal."""
    terminal = os.isatty(fd)
    if form == "json" or (form == "auto" and not terminal):
        return methodcaller("json")
    console = ConsoleRenderer(
        colors=terminal and "NO_COLOR" not in os.environ,
        repr_native_str=True,
        sort_keys=False,
        exception_formatter=plain_traceback,
    )

    def as_columns(line: Line) -> str:
        return console(None, line.level, _whole(line))

    return as_columns


def told(error: BaseException) -> str:
    """An exception with its causes, first cause last, without a word that could be a client's."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        words = f": {cause}" if isinstance(cause, SlotgateError | OSError) else ""
        lines += [type(cause).__qualname__ + words, *_places(cause.__traceback__)]
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\n".join(lines)


def _places(traceback: TracebackType | None) -> list[str]:
    # traceback.extract_tb would read every source file, on the event loop.
    places = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        places.append(f"  {code.co_filename}:{traceback.tb_lineno} {code.co_qualname}")
        traceback = traceback.tb_next
    return places[-MAX_FRAMES:]


_encode = json.JSONEncoder(default=str).encode  # made once: json.dumps with arguments makes one for each line


def _whole(line: Line) -> dict[str, object]:
    fields = line.fields
    whole = {"timestamp": iso(line.at_ms), "level": line.level, "event": line.event, **fields}
    for key, value in fields.items():
        if isinstance(value, str) and len(value) > MAX_CHARS:
            whole[key] = cut(value)
    return whole
