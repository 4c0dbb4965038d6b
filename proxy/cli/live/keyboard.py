# The bytes that a terminal sends for keys, as the keys' names.
#
# Rule 1: pure. A sequence may come in pieces; an escape that nothing follows is the key, which only `settle` can tell.
# Rule 2: what is no key of ours is swallowed whole: half a sequence must not act as letters.

import re

_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\[O])", re.DOTALL)
_BEGUN = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")
_NAMED = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1b[1~": "home",
    b"\x1b[4~": "end",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1bOH": "home",
    b"\x1bOF": "end",
    b"\x03": "ctrl-c",
    b"\x04": "ctrl-d",
    b"\r": "enter",
    b"\n": "enter",
}


class Keyboard:
    """`feed` bytes; it answers the names of the keys: a letter or sign is its own name."""

    def __init__(self) -> None:
        self._rest = b""

    @property
    def pending(self) -> bool:
        """Whether a sequence has begun, or the escape key was pressed."""
        return bool(self._rest)

    def feed(self, more: bytes) -> list[str]:
        data, self._rest = self._rest + more, b""
        keys = []
        while data:
            if _BEGUN.match(data):
                self._rest = data
                break
            found = _SEQUENCE.match(data)
            size = found.end() if found else 1
            keys.append(_named(data[:size]))
            data = data[size:]
        return [key for key in keys if key]

    def settle(self) -> list[str]:
        """Nothing more came for a while."""
        rest, self._rest = self._rest, b""
        return ["escape"] if rest == b"\x1b" else []


def _named(key: bytes) -> str:
    """Its name, "" if it has none here."""
    return _NAMED.get(key) or (key.decode() if len(key) == 1 and b" " <= key <= b"~" else "")
