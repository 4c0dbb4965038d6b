# A peer that never ends what it began: each kind of endless head or line is refused before much of it is kept, however
# small the pieces are, and each of its bytes is looked at but once or so: a quadratic reader would meet the time-out.

from itertools import chain, repeat

import pytest
from hostile.reading import answers, requests

from proxy.errors import BadMessage
from proxy.wire.body import Chunked
from proxy.wire.head import FIELD_MAX, FIELDS_MAX, START_LINE_MAX

HEAD_MAX = START_LINE_MAX + 2 + FIELDS_MAX * (FIELD_MAX + 2)
PIECES = 1, 1000, 65536


def until_refused(begin: bytes, again: bytes, size: int, most: int):
    """`begin`, and then `again` for a little longer than `most` bytes, in pieces of `size`."""
    raw = begin + again * ((most + size) // len(again) + 2)
    return (raw[at : at + size] for at in range(0, len(raw), size))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize(
    ("begin", "again", "most"),
    [
        (b"", b"G", START_LINE_MAX),
        (b"GET /", b"x", START_LINE_MAX),
        (b"GET / HTTP/1.1\r\nX-A: ", b"x", START_LINE_MAX + FIELD_MAX),
        (b"GET / HTTP/1.1\r\n", b":", START_LINE_MAX + FIELD_MAX),
        (b"GET / HTTP/1.1\r\n", b"a:\r\n", 4 * FIELDS_MAX + 16),
        (b"HTTP/1.1 200 ", b"O", START_LINE_MAX),
        (b"HTTP/1.1 200 OK\r\nX-A: ", b" ", START_LINE_MAX + FIELD_MAX),
    ],
)
def test_endless_head_is_refused_where_its_limit_is(size, begin, again, most):
    read = requests if begin.startswith(b"G") or not begin else lambda pieces: answers(pieces, b"GET")
    reading = read(until_refused(begin, again, size, most))
    assert reading.refused
    assert reading.kept <= most + len(begin) + size


@pytest.mark.timeout(60)
@pytest.mark.parametrize("size", [1000, 65536])
def test_largest_head_is_read_in_linear_time(size):
    lines = b"".join(b"X-%03d: %s\r\n" % (number, b"x" * (FIELD_MAX - 7)) for number in range(FIELDS_MAX - 1))
    raw = b"GET / HTTP/1.1\r\nHost: a\r\n" + lines + b"\r\n"
    reading = requests(raw[at : at + size] for at in range(0, len(raw), size))
    assert len(reading.messages[0].head.lines) == FIELDS_MAX
    assert reading.kept <= HEAD_MAX


def fed(pieces) -> bool:
    """Whether the end of a chunked body was among `pieces`."""
    body = Chunked()
    for piece in pieces:
        assert body.feed(piece) == len(piece)
    return body.done


@pytest.mark.timeout(60)
@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize(
    ("begin", "again"),
    [(b"", b"0"), (b"1;", b"a"), (b"0\r\nX-A: ", b"x"), (b"0\r\n", b"x"), (b"0\r\n", b"X-A: a\r\n")],
)
def test_endless_line_of_a_chunked_body_is_refused(size, begin, again):
    with pytest.raises(BadMessage):
        fed(until_refused(begin, again, size, FIELD_MAX + len(begin)))


@pytest.mark.timeout(60)
def test_longest_trailers_are_read_in_linear_time():
    trailer = b"X-A: " + b"x" * (FIELD_MAX - 5) + b"\r\n"
    raw = b"0\r\n" + trailer * 10 + b"\r\n"
    assert fed(raw[at : at + 1] for at in range(len(raw)))


@pytest.mark.timeout(60)
def test_million_of_smallest_chunks_is_read_in_linear_time():
    assert fed(chain(repeat(b"1\r\na\r\n", 100_000), [b"1\r\na\r\n" * 900_000], [b"0\r\n\r\n"]))
