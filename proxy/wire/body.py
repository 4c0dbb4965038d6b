# How far a message's body reaches into the bytes that arrive. Pure: no socket, no clock.
#
# Rule 1: bodies pass as they came, chunk framing, extensions and trailers included; a body only finds its own end.
# Rule 2: what follows the end is not the body's: `feed` says how many bytes were.
# Rule 3: chunked coding is read strictly (RFC 9112 7.1). A bare LF or a size that is not hex is a broken message.

import re
from functools import lru_cache
from typing import Protocol

from proxy.errors import BadMessage
from proxy.wire.head import CHUNKED, FIELD_MAX, FIELDS_MAX, UNTIL_CLOSE, lowered

_CHUNK_LINE = re.compile(rb"(0*[0-9A-Fa-f]{1,15})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?")
_PLAIN_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")  # without extensions
_TRAILER_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_CHUNK_LINE_MAX = 4096  # size and extensions
SIZE_LINE_MAX = 10  # bytes of a size alone, with its CRLF


class Body(Protocol):
    """One message's body; `payload` counts what arrived of it without its framing."""

    done: bool

    @property
    def payload(self) -> int: ...

    @property
    def between_chunks(self) -> bool:
        """Whether what comes next is the size of a chunk."""

    def feed(self, data: bytes) -> int:
        """How many of `data`'s first bytes belong to this body; `done` once its end was among them."""
        ...


def body_of(length: int) -> Body:
    """The body for a length of `head.request_length` or `head.response_length`."""
    if length == CHUNKED:
        return Chunked()
    if length == UNTIL_CLOSE:
        return UntilClose()
    return Counted(length)


@lru_cache(maxsize=4096)  # the chunks of a stream have few sizes
def chunk_size(line: bytes) -> int:
    """The size that is all a chunk's line says; -1 where it says something else."""
    return int(line, 16) if _PLAIN_SIZE.fullmatch(line + b"\r\n") else -1


class Counted:
    """A body of a known number of bytes."""

    __slots__ = ("_length", "done", "left")

    between_chunks = False

    def __init__(self, length: int) -> None:
        self._length = self.left = length
        self.done = length == 0

    @property
    def payload(self) -> int:
        return self._length - self.left

    def feed(self, data: bytes) -> int:
        used = min(len(data), self.left)
        self.left -= used
        self.done = self.left == 0
        return used


class UntilClose:
    """A body that ends with its connection; `done` is never set by bytes."""

    __slots__ = ("done", "payload")

    between_chunks = False

    def __init__(self) -> None:
        self.done = False
        self.payload = 0

    def feed(self, data: bytes) -> int:
        self.payload += len(data)
        return len(data)


class Chunked:
    """A chunked body. With `decoded` set to a list, the payload is collected there as well."""

    __slots__ = ("_left", "_line", "_sound", "_trailers", "chunks", "decoded", "done", "payload")

    def __init__(self, decoded: list[bytes] | None = None) -> None:
        self.done = False
        self.payload = 0
        self.chunks = 0
        self.decoded = decoded
        self._left = 0  # of the present chunk, its closing CRLF included
        self._sound = 0  # bytes of the present piece that are right
        self._line = bytearray()  # the beginning of a line whose end has not arrived
        self._trailers = -1  # trailer lines seen; -1 before the last chunk

    @property
    def between_chunks(self) -> bool:
        return not self._left and not self._line and self._trailers < 0

    @property
    def looks_whole(self) -> bool:
        """Whether the last chunk is here though the end is not: many readers take that for the end."""
        return self._trailers >= 0 and not self.done

    def feed(self, data: bytes) -> int:
        try:
            return self._feed(data)
        except BadMessage as error:
            error.sound = self._sound
            raise

    def _feed(self, data: bytes) -> int:
        position, end = 0, len(data)
        self._sound = 0
        while position < end and not self.done:
            if self._left > 2:
                taken = min(self._left - 2, end - position)
                if self.decoded is not None:
                    self.decoded.append(data[position : position + taken])
                self._left -= taken
                self.payload += taken
                position += taken
            elif self._left:
                if data[position] != (13 if self._left == 2 else 10):
                    raise BadMessage("a chunk is longer than its size says")
                self._left -= 1
                position += 1
            else:
                position = self._feed_whole(data, position)
                if self._trailers < 0:  # the last chunk is passed on only with what follows it
                    self._sound = position
                if position < end:
                    position = self._feed_line(data, position)
            if self._trailers < 0:
                self._sound = position
        return position

    def _feed_whole(self, data: bytes, position: int) -> int:
        """Pass by the chunks that are here from size to CRLF: nearly all of them, and much cheaper than by parts."""
        if self._line or self._trailers >= 0:
            return position
        decoded, chunks, payload = self.decoded, 0, 0
        while (match := _PLAIN_SIZE.match(data, position)) is not None:
            start = match.end()
            size = int(match[1], 16)
            stop = start + size
            if not size or data[stop : stop + 2] != b"\r\n":
                break
            if decoded is not None:
                decoded.append(data[start:stop])
            payload += size
            chunks += 1
            position = stop + 2
        self.payload += payload
        self.chunks += chunks
        return position

    def _feed_line(self, data: bytes, position: int) -> int:
        limit = _CHUNK_LINE_MAX if self._trailers < 0 else FIELD_MAX
        kept = self._line
        most = position + limit + 2 - len(kept)
        stop = data.find(b"\n", position, most)
        if stop < 0:
            piece = data[position:most]
            # Its sender may wait for us: a bare CR is refused before its line has an end.
            if (piece and kept.endswith(b"\r")) or b"\r" in piece[:-1]:
                raise BadMessage("a bare CR in a chunk line or trailer")
            kept += piece
            if len(kept) > limit + kept.endswith(b"\r"):  # a CR whose LF is still to come is not the line's
                raise BadMessage("a chunk line or trailer is too long")
            return len(data)
        line = bytes(kept) + data[position:stop]
        kept.clear()
        if not line.endswith(b"\r"):
            raise BadMessage("a bare LF in a chunk line or trailer")
        self._end_line(line[:-1])
        return stop + 1

    def _end_line(self, line: bytes) -> None:
        if self._trailers < 0:
            self._start_chunk(line)
        elif line:
            self._check_trailer(line)
        else:
            self.done = True

    def _start_chunk(self, line: bytes) -> None:
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            raise BadMessage("a chunk size is not a hexadecimal number")
        size = int(match[1], 16)
        if size:
            self.chunks += 1
            self._left = size + 2
        else:
            self._trailers = 0

    def _check_trailer(self, line: bytes) -> None:
        self._trailers += 1
        name, colon, value = line.partition(b":")
        if not colon or self._trailers > FIELDS_MAX or _TRAILER_VALUE.fullmatch(value) is None:
            raise BadMessage("a trailer is not a header line")
        lowered(name)


def dechunked(raw: bytes) -> bytes:
    """The payload of a whole chunked body."""
    decoded: list[bytes] = []
    Chunked(decoded).feed(raw)
    return b"".join(decoded)
