# A bounded, decompressed copy of a body, for reading what an error says.
#
# Rule 1: never more than `limit` bytes of output are made, whatever the input promises (no decompression bomb).
# Rule 2: it never raises: what cannot be read is b"", and classification goes on with status and headers.

import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_ZSTD_WINDOW = 8 * 1024 * 1024  # bytes; RFC 9659: an HTTP sender must not need more
_CODINGS_LIMIT = 4  # codings on top of each other; one is normal, more than two is an attack


def decoded(body: bytes, encoding: str, limit: int = 65536) -> bytes:
    """The first `limit` bytes of `body` without its Content-Encoding (a list of codings, outermost last). The body
    may be cut short anywhere: what its beginning holds is returned. An unknown or broken coding gives b""."""
    codings = [coding.strip().lower() for coding in encoding.split(",") if coding.strip()]
    if len(codings) > _CODINGS_LIMIT or limit < 1:
        return b""
    for coding in reversed(codings):
        read = _READERS.get(coding)
        if read is None:
            return b""
        try:
            body = read(body, limit)
        except Exception:  # noqa: BLE001 - Rule 2; three libraries, each with errors of its own
            return b""
    return body[:limit]


def _optional(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


_brotli = _optional("brotli")
_zstandard = _optional("zstandard")


def _identity(body: bytes, limit: int) -> bytes:
    return body[:limit]


def _gzip(body: bytes, limit: int) -> bytes:
    return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, limit)


def _deflate(body: bytes, limit: int) -> bytes:
    # RFC 9110 8.4.1.2: the coding is the zlib format, but some servers send the bare deflate stream.
    zlib_format = len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0
    return zlib.decompressobj(zlib.MAX_WBITS if zlib_format else -zlib.MAX_WBITS).decompress(body, limit)


def _br(body: bytes, limit: int) -> bytes:
    # Releases before 1.2 cannot bound their output: they raise TypeError here, and the body stays unread.
    read: bytes = _brotli.Decompressor().process(body, output_buffer_limit=limit)
    return read


def _zstd(body: bytes, limit: int) -> bytes:
    read: bytes = _zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).stream_reader(body).read(limit)
    return read


_READERS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "identity": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    **({"br": _br} if _brotli else {}),
    **({"zstd": _zstd} if _zstandard else {}),
}
