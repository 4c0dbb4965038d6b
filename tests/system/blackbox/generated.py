# Bodies of any size that nobody keeps: made as they are sent, counted and hashed as they arrive.
#
# Rule 1: both ends hash what passes, so that a byte that is missing, doubled or changed is found at any size.
# Rule 2: the pattern does not repeat with a period of any buffer's size, so that a swapped block is found too.

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

_PATTERN = bytes(number * number % 251 for number in range(65_521))  # a prime length


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a body."""

    size: int
    digest: str


class Tally:
    """Counts and hashes."""

    def __init__(self) -> None:
        self.size = 0
        self._hash = hashlib.blake2b(digest_size=16)

    def take(self, data: bytes) -> None:
        self.size += len(data)
        self._hash.update(data)

    @property
    def seen(self) -> Seen:
        return Seen(self.size, self._hash.hexdigest())


class Generated:
    """A body of `size` bytes; `seen` is what its receiver must have seen once all its pieces were sent."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._tally = Tally()

    @property
    def seen(self) -> Seen:
        return self._tally.seen

    def pieces(self, *, chunked: bool) -> Iterator[bytes]:
        """As they go over the wire, the last chunk included."""
        left = self.size
        while left:
            piece = _PATTERN[:left]
            left -= len(piece)
            self._tally.take(piece)
            yield b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece
        if chunked:
            yield b"0\r\n\r\n"


class ChunksTally:
    """A Tally of a chunked body's payload, whatever the pieces in which its bytes arrive."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.ended = False
        self._left = 0  # of the present chunk, without its CRLF
        self._line = b""  # what is here of a line, or of the CRLF behind a chunk

    def take(self, data: bytes) -> None:
        while data and not self.ended:
            if self._left:
                piece, data = data[: self._left], data[self._left :]
                self._left -= len(piece)
                self.tally.take(piece)
                continue
            line, end, rest = (self._line + data).lstrip(b"\r\n").partition(b"\r\n")
            if not end:
                self._line = line
                return
            self._line, data, self._left = b"", rest, int(line, 16)
            self.ended = self._left == 0
