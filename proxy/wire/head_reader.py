# The bytes of heads as they arrive, until one is whole. Pure: no socket, no clock.
#
# Rule 1: limits are checked as bytes come (spec §10), so that an endless head is refused at once and never kept.
# Rule 2: a bare CR or LF is refused at once too: its sender may wait for us, where a head without its end would hang.
# Rule 3: no byte is looked at twice, however small the pieces are.
# Rule 4: a head that comes whole, in one piece, needs no reader.

from proxy.errors import BadMessage
from proxy.wire.head import FIELD_MAX, FIELDS_MAX, START_LINE_MAX


def whole_head(data: bytes) -> tuple[bytes, bytes] | None:
    """The head with which `data` begins, and what lies behind it; None where it is not whole, or where something else
    stands in front of it: that is for a HeadReader. Only for bytes that come while none are waiting."""
    end = data.find(b"\r\n\r\n") + 4
    if end < 4 or data[0] < 0x20:  # an empty line, or a ClientHello
        return None
    return data[:end], data[end:]


class HeadReader:
    """`buffer` holds what has arrived; whoever owns the reader may take what lies behind a head from it."""

    __slots__ = ("_line_at", "_lines", "_seen", "buffer")

    def __init__(self) -> None:
        self.buffer = bytearray()
        self._seen = 0  # bytes that were looked at
        self._line_at = 0  # where the line that is still incomplete begins
        self._lines = 0  # complete lines before it

    def __repr__(self) -> str:
        return f"<HeadReader {self._lines} lines, {len(self.buffer)} bytes>"

    def skip_empty_lines(self) -> None:
        """Forget empty lines in front of a head (RFC 9112 2.2: a server ignores them before a request)."""
        while self._lines == 0 and self.buffer.startswith(b"\r\n"):
            del self.buffer[:2]
            self._seen = 0

    def take(self) -> bytes | None:
        """The next head, its empty line included, or None while it is incomplete. BadMessage as soon as a limit is
        passed or a line ends in a bare CR or LF."""
        buffer = self.buffer
        found = buffer.find(b"\r\n\r\n", max(0, self._seen - 3))
        if found < 0:
            self._check()
            return None
        head = bytes(buffer[: found + 4])
        del buffer[: found + 4]
        self._seen = self._line_at = self._lines = 0
        return head

    def rest(self) -> bytes:
        """What has arrived behind the last head; it is no longer kept here."""
        rest = bytes(self.buffer)
        self.buffer.clear()
        return rest

    def _check(self) -> None:
        buffer, seen = self.buffer, self._seen
        start = seen - buffer.endswith(b"\r", 0, seen)  # its LF may have come now
        ends, pending = buffer.count(b"\r\n", start), buffer.endswith(b"\r")
        if buffer.count(b"\n", start) != ends or buffer.count(b"\r", start) != ends + pending:
            raise BadMessage("a bare CR or LF in the head")
        while (stop := buffer.find(b"\r\n", max(0, seen - 1))) >= 0:
            self._check_line(stop - self._line_at)
            self._lines += 1
            self._line_at = seen = stop + 2
        if self._lines > FIELDS_MAX:
            self._check_line(0)
        self._check_line(len(buffer) - self._line_at - buffer.endswith(b"\r"))
        self._seen = len(buffer)

    def _check_line(self, size: int) -> None:
        if self._lines == 0 and size > START_LINE_MAX:
            raise BadMessage("the start line is longer than 16 KiB")
        if self._lines > FIELDS_MAX and size:
            raise BadMessage("more than 200 headers")
        if size > FIELD_MAX:
            raise BadMessage("a header is longer than 32 KiB")
