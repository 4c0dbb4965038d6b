# The log: one wide line per request, one per change of state.
#
# Rule 1: names of events are noun.verb (`request.ended`, `provider.paused`); everything else is a field.
# Rule 2: never a body, a key, a cookie or a query in a field, whoever says it.
# Rule 3: saying something costs the caller a few microseconds and never waits; the writer's thread does the rest.

import sys
from collections.abc import Callable
from logging import DEBUG, ERROR, INFO, WARNING

from proxy.config.settings import Log as LogSettings
from proxy.service.log_rendering import Line, PlainLine, renderer, told
from proxy.service.log_writer import LogWriter

STDERR = 2
CLOSE_S = 1.0  # how long the last lines may take at the end; a disk that hangs must not keep the process

_NAMES = {DEBUG: "debug", INFO: "info", WARNING: "warning", ERROR: "error"}
_LEVELS = {name: level for level, name in _NAMES.items()}


class Log:
    """Says lines to the descriptor `fd`. `exc_info` among the fields is an exception, or True for the one being
    handled. `debugging` is whether `debug` writes anything: spares making fields that nobody reads. May be used from
    any thread."""

    def __init__(self, settings: LogSettings, *, wall_ms: Callable[[], int], fd: int = STDERR) -> None:
        self._wall_ms = wall_ms
        self._fd = fd
        self._writer = LogWriter(fd, renderer(settings.format, fd))
        self._set_level(settings)

    def configure(self, settings: LogSettings) -> None:
        """A reload: level and format from now on."""
        self._set_level(settings)
        self._writer.render = renderer(settings.format, self._fd)

    def debug(self, event: str, /, **fields: object) -> None:
        """What happens for each request, and what only a developer wants to know."""
        self.say(DEBUG, event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        """What happens in a normal day."""
        self.say(INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        """What somebody should look at."""
        self.say(WARNING, event, fields)

    def error(self, event: str, /, **fields: object) -> None:
        """What went wrong here."""
        self.say(ERROR, event, fields)

    def say(self, level: int, event: str, fields: dict[str, object]) -> None:
        """One line at a level of the logging module; `fields` are the log's from now on."""
        if level < self._level:
            return
        if "exc_info" in fields:
            error = fields.pop("exc_info")
            error = sys.exc_info()[1] if error is True else error
            if isinstance(error, BaseException):
                fields["exception"] = told(error)
        self._writer.put(PlainLine(self._wall_ms(), _NAMES[level], event, fields))

    def put(self, level: int, line: Line) -> None:
        """The same for one that makes its fields itself, in the writer's thread: it is not changed from now on."""
        if level >= self._level:
            self._writer.put(line)

    def close(self, timeout_s: float = CLOSE_S) -> bool:
        """Write what was said so far; False if that took longer than `timeout_s`. What is said later is lost. Waits, so
        it is for after the event loop."""
        return self._writer.close(timeout_s)

    def _set_level(self, settings: LogSettings) -> None:
        self._level = _LEVELS[settings.level]
        self.debugging = self._level <= DEBUG
