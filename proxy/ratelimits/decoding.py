# A bounded, decompressed copy of a body, whole or as it comes, for reading what an error says.
#
# Rule 1: one call makes hardly more than its `limit` of output, whatever the input promises (no decompression bomb).
# Rule 2: a body in pieces takes memory, up to a window of megabytes in some codings: those are read only so far.
# Rule 3: nothing raises: what cannot be read is b"", and classification goes on with status and headers.

import contextlib
import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_ZSTD_WINDOW = 8 * 1024 * 1024  # bytes; RFC 9659: an HTTP sender must not need more
_WINDOW_FILLED = 512 * 1024  # bytes of output that are read; ordinary answers have 100 to 400 KB
_ZSTD_STEP = 16 * 1024  # bytes of output between two looks at the limit
_CODINGS_LIMIT = 4  # codings on top of each other; one is normal, more than two is an attack
_GZIP = zlib.MAX_WBITS | 16
_GZIP_STEP = 16 * 1024  # bytes of input between two looks at whether a member has ended
_MEMBERS_LIMIT = 1000  # gzip members in one piece; 64 KiB of one event each have 700, and an empty one costs 4 µs

_Read = Callable[[bytes, int], bytes]  # the next bytes of one coded body, and how much output is enough


def decoded(body: bytes, encoding: str, limit: int = 65536) -> bytes:
    """The first `limit` bytes of `body` without its Content-Encoding (a list of codings, outermost last). The body
    may be cut short anywhere: what its beginning holds is returned. An unknown or broken coding gives b""."""
    return Decoder(encoding).feed(body, limit)


class Decoder:
    """Takes the Content-Encoding off a body that comes in pieces. `broken`: nothing more can be read of it, because it
    is coded wrongly or in an unknown way, or because a piece held more than was asked for, or the body more than its
    memory is worth."""

    def __init__(self, encoding: str) -> None:
        codings = [coding.strip().lower() for coding in encoding.split(",") if coding.strip()]
        self.broken = len(codings) > _CODINGS_LIMIT or not _CODINGS.keys() >= set(codings)
        self._reads: list[_Read] = [] if self.broken else [_CODINGS[coding]() for coding in reversed(codings)]

    def feed(self, data: bytes, limit: int) -> bytes:
        """What this piece holds, at most `limit` bytes of it. Pieces are read in their order."""
        if self.broken or limit < 1:
            return b""
        for read in self._reads:
            try:
                data = read(data, limit)
            except Exception:  # noqa: BLE001 - Rule 3; three libraries, each with errors of its own
                data, self.broken = b"", True
                break
            self.broken = self.broken or len(data) >= limit
        if self.broken:
            self._reads = []  # what they keep
        return data[:limit]


def _optional(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


_brotli = _optional("brotli")
_zstandard = _optional("zstandard")


def _identity() -> _Read:
    return lambda data, limit: data[:limit]


def _gzip() -> _Read:
    member = zlib.decompressobj(_GZIP)

    def read(data: bytes, limit: int) -> bytes:
        nonlocal member
        output, at, members, behind = bytearray(), 0, 0, member.eof
        while at < len(data) and len(output) < limit:
            if member.eof:  # RFC 1952 2.2: they follow each other
                members, behind, member = members + 1, True, zlib.decompressobj(_GZIP)
                if members > _MEMBERS_LIMIT:
                    raise OverflowError("too many members")
            # In steps: a member that ends copies all that it was given behind its end.
            step = data[at : at + _GZIP_STEP]
            try:
                output += member.decompress(step, limit - len(output))
            except zlib.error:
                if not behind:
                    raise
                break  # padding, or garbage: what came before it counts
            at += len(step) - len(member.unused_data)
        return bytes(output)

    return read


def _inflate(bits: int) -> _Read:
    stream = zlib.decompressobj(bits)
    # Behind its end it would keep whatever comes.
    return lambda data, limit: b"" if stream.eof else stream.decompress(data, limit)


def _deflate() -> _Read:
    # RFC 9110 8.4.1.2: the coding is the zlib format, but some servers send the bare deflate stream.
    start, inflate = b"", None

    def read(data: bytes, limit: int) -> bytes:
        nonlocal start, inflate
        if inflate is None:
            start += data
            if len(start) < 2:
                return b""
            zlib_format = start[0] & 0x0F == 8 and (start[0] << 8 | start[1]) % 31 == 0
            data, inflate = start, _inflate(zlib.MAX_WBITS if zlib_format else -zlib.MAX_WBITS)
        return inflate(data, limit)

    return read


def _keeping(read: _Read) -> _Read:
    """Of a coding that keeps its output, as its window is larger than that."""
    left = _WINDOW_FILLED

    def bounded(data: bytes, limit: int) -> bytes:
        nonlocal left
        if left <= 0:
            raise OverflowError("long enough")
        output = read(data, limit)
        left -= len(output)
        return output

    return bounded


def _br() -> _Read:
    # Releases before 1.2 cannot bound their output: they raise TypeError here, and the body stays unread.
    stream = _brotli.Decompressor()

    def read(data: bytes, limit: int) -> bytes:
        output: bytes = stream.process(data, output_buffer_limit=limit)
        return output

    return _keeping(read)


class _Taker:
    """Where a zstd stream goes: no further than the limit."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.limit = 0

    def write(self, data: bytes) -> int:
        self.output += data
        if len(self.output) >= self.limit:
            raise OverflowError("enough")
        return len(data)


def _zstd() -> _Read:
    taker = _Taker()
    stream = _zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).stream_writer(taker, write_size=_ZSTD_STEP)

    def read(data: bytes, limit: int) -> bytes:
        taker.output, taker.limit = bytearray(), limit
        with contextlib.suppress(OverflowError):
            stream.write(data)
        return bytes(taker.output)

    return _keeping(read)


_CODINGS: Mapping[str, Callable[[], _Read]] = {
    "identity": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    **({"br": _br} if _brotli else {}),
    **({"zstd": _zstd} if _zstandard else {}),
}
