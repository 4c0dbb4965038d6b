# A bounded, decompressed copy of a body, whatever was sent.

import gzip
import importlib.util
import zlib

import pytest

from proxy.ratelimits import decoded

TEXT = b'{"error":{"message":"Number of concurrent connections"}}' * 20


def bare_deflate(data):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        (TEXT, ""),
        (TEXT, "identity"),
        (gzip.compress(TEXT, mtime=0), "gzip"),
        (gzip.compress(TEXT, mtime=0), " X-GZIP "),
        (zlib.compress(TEXT), "deflate"),
        (bare_deflate(TEXT), "deflate"),
        (gzip.compress(zlib.compress(TEXT), mtime=0), "deflate, gzip"),
    ],
)
def test_each_coding_is_taken_off(packed, encoding):
    assert decoded(packed, encoding) == TEXT


def test_a_body_cut_short_gives_its_beginning():
    noise = bytes(range(256)) * 8
    start = decoded(gzip.compress(noise, 0)[:1000], "gzip")
    assert len(start) > 900
    assert noise.startswith(start)


def test_the_copy_is_bounded_whatever_the_body_unpacks_to():
    bomb = gzip.compress(bytes(50_000_000))
    assert decoded(bomb, "gzip", 1000) == bytes(1000)
    assert decoded(TEXT, "identity", 10) == TEXT[:10]
    assert decoded(TEXT, "identity", 0) == b""
    assert decoded(gzip.compress(TEXT), "gzip", 0) == b""


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "compress", "gzip, " * 50 + "gzip"])
def test_what_cannot_be_read_is_nothing(encoding):
    assert decoded(b"\xff\xfe no such stream", encoding) == b""


@pytest.mark.skipif(importlib.util.find_spec("brotli") is None, reason="brotli is not installed")
def test_brotli_is_taken_off_and_bounded():
    import brotli

    assert decoded(brotli.compress(TEXT), "br") == TEXT
    assert decoded(brotli.compress(bytes(50_000_000)), "br", 1000) == bytes(1000)


@pytest.mark.skipif(importlib.util.find_spec("zstandard") is None, reason="zstandard is not installed")
def test_zstandard_is_taken_off_and_bounded():
    import zstandard

    assert decoded(zstandard.compress(TEXT), "zstd") == TEXT
    assert decoded(zstandard.compress(bytes(50_000_000)), "zstd", 1000) == bytes(1000)
