# A bounded, decompressed copy of a body, whole or in pieces, whatever was sent.

import gzip
import random
import time
import zlib

import brotli
import pytest
import zstandard

from proxy.ratelimits import decoded
from proxy.ratelimits.decoding import Decoder

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
        (gzip.compress(TEXT[:50], mtime=0) + gzip.compress(b"", mtime=0) + gzip.compress(TEXT[50:], mtime=0), "gzip"),
        (gzip.compress(TEXT, mtime=0) + bytes(500), "gzip"),
        (gzip.compress(TEXT, mtime=0) + b"garbage", "gzip"),
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


def test_brotli_is_taken_off_and_bounded():
    assert decoded(brotli.compress(TEXT), "br") == TEXT
    assert decoded(brotli.compress(bytes(50_000_000)), "br", 1000) == bytes(1000)


def test_zstandard_is_taken_off_and_bounded():
    assert decoded(zstandard.compress(TEXT), "zstd") == TEXT
    assert decoded(zstandard.compress(bytes(50_000_000)), "zstd", 1000) == bytes(1000)


# --- in pieces ---


def pieces(body, size):
    return [body[at : at + size] for at in range(0, len(body), size)]


PACKED = [
    ("", TEXT),
    ("gzip", gzip.compress(TEXT, mtime=0)),
    ("gzip", b"".join(gzip.compress(part, mtime=0) for part in pieces(TEXT, 333))),
    ("deflate", zlib.compress(TEXT)),
    ("deflate", bare_deflate(TEXT)),
    ("br", brotli.compress(TEXT)),
    ("zstd", zstandard.compress(TEXT)),
    ("zstd, br, deflate, gzip", gzip.compress(zlib.compress(brotli.compress(zstandard.compress(TEXT))), mtime=0)),
]


@pytest.mark.parametrize(
    ("encoding", "packed"),
    PACKED,
    ids=["none", "gzip", "gzip members", "deflate", "bare deflate", "br", "zstd", "four of them"],
)
@pytest.mark.parametrize("size", [1, 2, 100, 1 << 20])
def test_pieces_give_what_the_whole_gives(encoding, packed, size):
    decoder = Decoder(encoding)
    assert b"".join(decoder.feed(piece, 65_536) for piece in pieces(packed, size)) == TEXT
    assert not decoder.broken


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("br", brotli.compress)])
def test_piece_that_holds_more_than_its_limit_is_the_last_one_that_is_read(encoding, pack):
    decoder = Decoder(encoding)
    assert decoder.feed(pack(bytes(1_000_000)), 1000) == bytes(1000)
    assert decoder.broken
    assert decoder.feed(b"more", 1000) == b""


@pytest.mark.parametrize("together", [True, False])
def test_bomb_in_the_second_gzip_member_is_given_up_too(together):
    first, second = gzip.compress(TEXT), gzip.compress(bytes(100_000_000))
    decoder = Decoder("gzip")
    if together:
        assert decoder.feed(first + second, 2000) == TEXT.ljust(2000, b"\0")
    else:
        assert decoder.feed(first, 2000) == TEXT
        assert decoder.feed(second, 2000) == bytes(2000)
    assert decoder.broken


def test_gzip_members_in_one_piece_are_bounded():
    """Each costs something, even an empty one."""
    decoder = Decoder("gzip")
    for _ in range(3):
        assert decoder.feed(gzip.compress(b"a", mtime=0) * 700, 65_536) == b"a" * 700
    assert decoder.feed(gzip.compress(b"", mtime=0) * 3000, 65_536) == b""
    assert decoder.broken


def test_many_gzip_members_take_no_time():
    """Milliseconds; where each was handed all that is behind it, it took seconds."""
    body = gzip.compress(b"", mtime=0) * 400_000
    began = time.process_time()
    assert decoded(body, "gzip") == b""
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("size", [20_000, 100_000])
def test_gzip_members_longer_than_a_step_are_read_to_their_ends(size):
    noise = random.Random(1).randbytes(size)
    packed = gzip.compress(noise, mtime=0)
    assert decoded(packed * 3 + b"padding" * 9000, "gzip", 10 * size) == noise * 3


def flushed(encoding, bodies):
    """Each of them as a server of a stream sends it."""
    if encoding == "br":
        stream = brotli.Compressor()
        return [stream.process(body) + stream.flush() for body in bodies]
    if encoding == "zstd":
        stream = zstandard.ZstdCompressor().compressobj()
        return [stream.compress(body) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for body in bodies]
    stream = zlib.compressobj(wbits=zlib.MAX_WBITS | 16 if encoding == "gzip" else zlib.MAX_WBITS)
    return [stream.compress(body) + stream.flush(zlib.Z_SYNC_FLUSH) for body in bodies]


@pytest.mark.parametrize(("encoding", "ends"), [("gzip", False), ("deflate", False), ("br", True), ("zstd", True)])
def test_long_body_is_read_on_only_where_that_takes_no_memory(encoding, ends):
    """The window of gzip is 32 KiB, that of the others is megabytes."""
    decoder = Decoder(encoding)
    read = sum(len(decoder.feed(piece, 65_536)) for piece in flushed(encoding, [bytes(10_000)] * 120))
    assert read == (530_000 if ends else 1_200_000), "the first piece behind 512 KiB is the last"
    assert decoder.broken is ends
    assert (decoder._reads == []) is ends


def test_bomb_in_the_inner_coding_is_given_up_too():
    decoder = Decoder("gzip, gzip")
    assert len(decoder.feed(gzip.compress(gzip.compress(bytes(100_000_000))), 1000)) <= 1000
    assert decoder.broken


def test_what_follows_the_end_of_a_coded_body_is_not_read():
    decoder = Decoder("gzip")
    assert decoder.feed(gzip.compress(TEXT), 65_536) == TEXT
    assert decoder.feed(b"more", 65_536) == b""
