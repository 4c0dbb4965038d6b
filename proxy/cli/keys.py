# A terminal that shows none of the keys that are pressed.
#
# Rule 1: it is as before at the end, whatever the end is; what was typed meanwhile and not read is thrown away, since
#         it was not meant for the shell.

import termios
from collections.abc import Iterator
from contextlib import contextmanager

_IFLAG, _LFLAG, _CC = 0, 3, 6


@contextmanager
def raw_keys(terminal: int) -> Iterator[None]:
    """Within it each key can be read at once, Ctrl-C and Ctrl-S like others."""
    with _changed(terminal, termios.IXON, termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN):
        yield


@contextmanager
def hidden_keys(terminal: int) -> Iterator[None]:
    """Within it no key does anything but Ctrl-C. Ctrl-Z does not: a stopped process would leave the screen as it is."""
    with _changed(terminal, 0, termios.ICANON | termios.ECHO):
        yield


@contextmanager
def _changed(terminal: int, input_flags: int, local_flags: int) -> Iterator[None]:
    """Without these flags."""
    before, changed = termios.tcgetattr(terminal), termios.tcgetattr(terminal)
    changed[_IFLAG] &= ~input_flags
    changed[_LFLAG] &= ~local_flags
    changed[_CC][termios.VMIN], changed[_CC][termios.VTIME] = 1, 0
    changed[_CC][termios.VSUSP] = b"\0"
    try:
        termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
