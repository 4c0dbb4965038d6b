# Heads found in bytes as they arrive: whole ones taken, endless and hostile ones refused before they are kept.

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import BadMessage
from proxy.wire.head import FIELD_MAX, FIELDS_MAX, START_LINE_MAX, parse_request
from proxy.wire.head_reader import HeadReader, whole_head

WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n\r\n"
START = b"GET / HTTP/1.1\r\n"


def fed(*pieces: bytes) -> tuple[list[bytes], bytes]:
    """The heads in these pieces, and what is left; each piece is looked at before the next one comes."""
    reader, heads = HeadReader(), []
    for piece in pieces:
        reader.buffer += piece
        while (head := reader.take()) is not None:
            heads.append(head)
    return heads, reader.rest()


def in_bytes(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def test_head_ends_behind_its_empty_line():
    assert fed(WHOLE) == ([WHOLE], b"")
    assert fed(WHOLE + b"body") == ([WHOLE], b"body")


def test_heads_that_arrive_together_are_taken_one_by_one():
    other = b"HTTP/1.1 102 Processing\r\n\r\n"
    assert fed(WHOLE + other + b"X") == ([WHOLE, other], b"X")
    assert fed(*in_bytes(WHOLE + other + b"X")) == ([WHOLE, other], b"X")


def test_head_that_comes_whole_needs_no_reader():
    assert whole_head(WHOLE) == (WHOLE, b"")
    assert whole_head(WHOLE + b"body\r\n\r\n") == (WHOLE, b"body\r\n\r\n")


@pytest.mark.parametrize("data", [b"", WHOLE[:-1], b"\r\n" + WHOLE, b"\r\n\r\n" + WHOLE, b"\x16\x03\x01" + WHOLE])
def test_what_is_not_just_a_whole_head_is_for_the_reader(data):
    assert whole_head(data) is None


@pytest.mark.parametrize("cut", range(len(WHOLE)))
def test_head_is_found_wherever_it_was_cut(cut):
    assert fed(WHOLE[:cut], WHOLE[cut:]) == ([WHOLE], b"")


def test_empty_lines_before_a_head_are_skipped_on_demand():
    reader = HeadReader()
    for piece in (b"\r", b"\n\r\n\r", b"\n", WHOLE[:5], WHOLE[5:]):
        reader.buffer += piece
        reader.skip_empty_lines()
        head = reader.take()
    assert head == WHOLE


def test_start_line_may_be_as_long_as_allowed_and_not_longer():
    longest = b"G" * START_LINE_MAX
    for unfinished in (longest, longest + b"\r", longest + b"\r\n", longest + b"\r\nX"):
        assert fed(unfinished) == ([], unfinished)
        assert fed(*in_bytes(unfinished)) == ([], unfinished)
    for pieces in ([longest + b"G"], [longest, b"G"], [longest + b"G\r\nX"]):
        with pytest.raises(BadMessage, match="start line"):
            fed(*pieces)


def test_header_may_be_as_long_as_allowed_and_not_longer():
    longest = START + b"X" * FIELD_MAX
    for unfinished in (longest, longest + b"\r", longest + b"\r\n", longest + b"\r\nX"):
        assert fed(unfinished) == ([], unfinished)
    for pieces in ([longest + b"X"], [longest, b"X"], [longest + b"X\r\nX"], [longest, b"X\r\n"]):
        with pytest.raises(BadMessage, match="32 KiB"):
            fed(*pieces)


def test_as_many_headers_as_allowed_each_of_the_longest_are_kept_and_not_one_more():
    line = b"X:" + b"y" * (FIELD_MAX - 2) + b"\r\n"
    most = START + line * FIELDS_MAX
    heads, _ = fed(most, b"\r", b"\n")
    assert heads == [most + b"\r\n"]
    for pieces in ([most + b"X"], [most, b"X"], [most + b"X: y\r\n"], [*([START] + [line] * FIELDS_MAX), b"X"]):
        with pytest.raises(BadMessage, match="200"):
            fed(*pieces)


@pytest.mark.parametrize("bare", [b"GET / HTTP/1.1\n", b"GET / HTTP/1.1\r\nHost: a\n\n", b"GET / HTTP/1.1\rHost: a"])
def test_bare_line_end_is_refused_before_the_head_is_whole(bare):
    """Whoever ends lines so waits for our answer."""
    for pieces in ([bare], in_bytes(bare), *([bare[:cut], bare[cut:]] for cut in range(len(bare)))):
        with pytest.raises(BadMessage, match="bare"):
            fed(*pieces)


def is_request(head: bytes) -> bool:
    try:
        parse_request(head)
    except BadMessage:
        return False
    return True


_GARBAGE = st.lists(
    st.sampled_from([b"GET / HTTP/1.1", b"Host: a", b"\r\n", b"\r", b"\n", b": ", b"\x00", b" ", b"x" * 9000]),
    max_size=12,
).map(b"".join)


@given(_GARBAGE, st.data())
def test_garbage_is_read_the_same_in_any_pieces(garbage, data):
    whole = garbage + b"\r\n\r\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    once, _ = fed(whole)
    try:
        heads, _ = fed(*pieces)
    except BadMessage:
        assert not all(is_request(head) for head in once)  # what is refused early is refused whole
    else:
        assert heads == once
