# The end of a command that runs until somebody ends it.
#
# Rule 1: it ends by an exception, whoever ends it, so that a terminal is put back and a connection closed on the way.
# Rule 2: Ctrl-C, and a reader of our stdout who has read enough, are how such a command is meant to end: status 0.

import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from select import poll
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ends_in_order() -> Iterator[None]:
    """Within it these signals, and the end of stdout, raise SystemExit. For the main thread."""
    before = {number: signal.signal(number, _end) for number in _SIGNALS}
    _watch_stdout()
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter's last flush fails
        raise SystemExit(0) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # a second one must not interrupt the putting back
    raise SystemExit(0 if number == signal.SIGINT else 128 + number)


def _watch_stdout() -> None:
    """Ends the command when nobody reads its output any more, also while it has nothing to write."""
    try:
        number = sys.stdout.fileno()
        mode = os.fstat(number).st_mode
    except (OSError, ValueError):  # not a file at all: a test's
        return
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        threading.Thread(target=_await_end, args=(number, threading.get_ident()), name="stdout", daemon=True).start()


def _await_end(number: int, main: int) -> None:
    waiting = poll()
    waiting.register(number, 0)  # errors and hang-ups are always told
    waiting.poll()
    signal.pthread_kill(main, signal.SIGINT)
