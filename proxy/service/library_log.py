# What libraries say through the standard logging module, as lines of our log.
#
# Rule: only the first line of their words, and without the arguments: those and the further lines quote requests
# (aiohttp) or whole tasks with their results (asyncio). The exception is written by the log's own rule.

from logging import ERROR, WARNING, Handler, LogRecord

from aiohttp.http_exceptions import HttpProcessingError

from proxy.service.log import Log


class LibraryLog(Handler):
    """A handler for the root logger: warnings and errors become `library.logged`."""

    def __init__(self, log: Log) -> None:
        super().__init__(WARNING)
        self._log = log

    def emit(self, record: LogRecord) -> None:
        """One line, at warning or error; at debug what a peer sent that is no HTTP, since anybody can send it."""
        error = record.exc_info[1] if record.exc_info else None
        say = self._log.error if record.levelno >= ERROR else self._log.warning
        if isinstance(error, HttpProcessingError):
            say = self._log.debug
        say("library.logged", logger=record.name, words=str(record.msg).partition("\n")[0], exc_info=error)
