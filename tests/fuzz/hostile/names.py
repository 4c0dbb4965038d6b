# Who asked what: each request has a name of its own, and bytes that carry a name tell whose they are.
#
# Rule: names are too long to become another's by a mutation; what is no known name says nothing.

import re
from random import Random

_NAME = re.compile(rb"[0-9a-f]{16}")


class Names:
    """Gives out names, each to one owner."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._owners: dict[bytes, int] = {}

    def new(self, owner: int) -> bytes:
        name = b"%016x" % self._rng.getrandbits(64)
        self._owners[name] = owner
        return name

    def owners(self, raw: bytes) -> set[int]:
        """Whose bytes these are."""
        return {self._owners[name] for name in self.within(raw)}

    def within(self, raw: bytes) -> set[bytes]:
        """The names that these bytes carry."""
        return {name for name in _NAME.findall(raw) if name in self._owners}
