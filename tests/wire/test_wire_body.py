# Where a body ends in the bytes that arrive: in each framing, in any pieces, and strictly.

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import BadMessage
from proxy.wire.body import Chunked, Counted, UntilClose, body_of, dechunked
from proxy.wire.head import CHUNKED, FIELD_MAX, FIELDS_MAX, UNTIL_CLOSE

LINE_MAX = 4096  # of a chunk's size and extensions


def fed(body, pieces) -> int:
    """Feed `pieces` until the body is done: how many bytes it took."""
    taken = 0
    for piece in pieces:
        used = body.feed(piece)
        taken += used
        if body.done:
            break
        assert used == len(piece)
    return taken


def test_length_says_which_body():
    assert isinstance(body_of(CHUNKED), Chunked)
    assert isinstance(body_of(UNTIL_CLOSE), UntilClose)
    assert isinstance(body_of(5), Counted)
    assert body_of(0).done


def test_counted_body_ends_with_its_last_byte():
    body = Counted(5)
    assert (body.feed(b"123"), body.done) == (3, False)
    assert (body.feed(b"45next"), body.done) == (2, True)
    assert (body.feed(b"next"), body.done) == (0, True)


def test_close_framed_body_is_never_done_by_bytes():
    body = UntilClose()
    assert (body.feed(b"0\r\n\r\n"), body.done) == (5, False)


@pytest.mark.parametrize(
    ("raw", "payload"),
    [
        (b"0\r\n\r\n", b""),
        (b"000\r\n\r\n", b""),
        (b"3\r\nabc\r\n0\r\n\r\n", b"abc"),
        (b"00000000000000A\r\n0123456789\r\n0\r\n\r\n", b"0123456789"),
        (b"a\r\n0123456789\r\n0\r\n\r\n", b"0123456789"),
        (b"2\r\n\r\n\r\n0\r\n\r\n", b"\r\n"),
        (b"5\r\n0\r\n\r\n\r\n0\r\n\r\n", b"0\r\n\r\n"),
        (b'3;a=b;c="d e";\xff\r\nabc\r\n0;last\r\n\r\n', b"abc"),
        (b"3 \t;a\r\nabc\r\n0\r\n\r\n", b"abc"),
        (b"3\r\nabc\r\n0\r\nX-T: u\r\nx-t:\xff\r\n\r\n", b"abc"),
        (b"1\r\na\r\n2\r\nbc\r\n0\r\nX-Empty:\r\n\r\n", b"abc"),
    ],
)
def test_chunked_body_ends_at_its_end_wherever_it_is_split(raw, payload):
    assert dechunked(raw) == payload
    for cut in range(len(raw) + 1):
        body = Chunked()
        pieces = [raw[:cut], raw[cut:] + b"next"] if cut < len(raw) else [raw + b"next"]
        assert fed(body, pieces) == len(raw)
        assert body.done
    decoded: list[bytes] = []
    assert fed(Chunked(decoded), [raw[at : at + 1] for at in range(len(raw))]) == len(raw)
    assert b"".join(decoded) == payload


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n",
        b"g\r\n",
        b"-1\r\n",
        b"+1\r\n",
        b"0x1\r\n",
        b" 1\r\n",
        b"1 \r\n",
        b"1 1\r\n",
        b"1\n",
        b"1\na\r\n",
        b"1\rx\r\n",
        b"1;a\nb\r\n",
        b"1;a\x00\r\n",
        b"1;a\x7f\r\n",
        b"1,2\r\n",
        b"1000000000000000\r\n",  # 16 digits
        b"\xb2\r\n",
        b"3\r\nabcd\r\n",
        b"3\r\nabc\n0\r\n\r\n",
        b"3\r\nabc\rx0\r\n\r\n",
        b"3\r\nabc0\r\n\r\n",
        b"3\r\nab\r\n0\r\n\r\n",
        b"0\r\n\n\r\n",
        b"0\r\nno colon\r\n\r\n",
        b"0\r\n folded: u\r\n\r\n",
        b"0\r\nX T: u\r\n\r\n",
        b"0\r\nX-T : u\r\n\r\n",
        b"0\r\nX-T: u\nX-U: v\r\n\r\n",
        b"0\r\nX-T: u\x00\r\n\r\n",
        b"0\r\n: u\r\n\r\n",
    ],
)
def test_what_is_no_chunked_body_is_refused_wherever_it_is_split(raw):
    padded = raw + b"\r\n" * 8
    with pytest.raises(BadMessage):
        dechunked(padded)
    for cut in range(1, len(raw)):
        body = Chunked()
        with pytest.raises(BadMessage):
            fed(body, [padded[:cut], padded[cut:]])
    with pytest.raises(BadMessage):
        fed(Chunked(), [padded[at : at + 1] for at in range(len(padded))])


@pytest.mark.parametrize(
    ("before", "longest"), [(b"", b"1;" + b"x" * (LINE_MAX - 2)), (b"0\r\n", b"X-T: " + b"u" * (FIELD_MAX - 5))]
)
def test_longest_line_is_read_and_one_more_byte_is_refused(before, longest):
    whole = before + longest + b"\r\n"
    for cut in (len(before), len(before) + 1, len(whole) - 2, len(whole) - 1, len(whole)):
        body = Chunked()
        assert body.feed(whole[:cut]) + body.feed(whole[cut:]) == len(whole)
        body = Chunked()
        with pytest.raises(BadMessage):
            fed(body, [before + longest[: cut - len(before)], longest[cut - len(before) :] + b"x\r\n"])


def test_endless_line_is_refused_as_soon_as_it_is_too_long():
    with pytest.raises(BadMessage):
        Chunked().feed(b"1;" + b"x" * LINE_MAX)
    body = Chunked()
    with pytest.raises(BadMessage):
        fed(body, [b"0\r\n", *([b"x" * 1000] * 34)])


@pytest.mark.parametrize("bare", [b"3\nabc\n0\n\n", b"3\rabc", b"0\r\nX-T: u\n\n"])
def test_bare_line_end_is_refused_before_the_line_is_whole(bare):
    """Whoever ends lines so waits for our answer."""
    with pytest.raises(BadMessage):
        Chunked().feed(bare)
    with pytest.raises(BadMessage):
        fed(Chunked(), [bare[at : at + 1] for at in range(len(bare))])


def test_trailers_are_counted():
    Chunked().feed(b"0\r\n" + b"X-T: u\r\n" * FIELDS_MAX)
    with pytest.raises(BadMessage):
        Chunked().feed(b"0\r\n" + b"X-T: u\r\n" * (FIELDS_MAX + 1))


_CHUNKS = st.lists(st.binary(min_size=1, max_size=40), max_size=6)
_EXTENSIONS = st.sampled_from([b"", b";a", b" ;a=b", b';q="\xff"'])
_TRAILERS = st.lists(st.sampled_from([b"X-T: u", b"a:", b"Set-Cookie: \xff"]), max_size=3)


@given(_CHUNKS, _EXTENSIONS, _TRAILERS, st.data())
def test_any_chunked_body_in_any_pieces_gives_its_payload_and_its_end(chunks, extension, trailers, data):
    lines = [b"%x%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks]
    raw = b"".join(lines) + b"0" + extension + b"\r\n" + b"".join(line + b"\r\n" for line in trailers) + b"\r\n"
    stream = raw + b"what follows"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    decoded: list[bytes] = []
    body = Chunked(decoded)
    assert fed(body, pieces) == len(raw)
    assert body.done
    assert b"".join(decoded) == b"".join(chunks)


@given(st.binary(max_size=60).map(lambda tail: b"3\r\nabc\r\n" + tail), st.data())
def test_garbage_is_refused_or_read_alike_however_it_is_cut(raw, data):
    def outcome(pieces):
        body = Chunked()
        try:
            return fed(body, pieces), body.done
        except BadMessage:
            return "refused"

    cut = data.draw(st.integers(0, len(raw)))
    assert outcome([raw[:cut], raw[cut:]]) == outcome([raw]) == outcome([raw[at : at + 1] for at in range(len(raw))])


def test_chunks_and_payload_are_counted_however_the_body_is_cut():
    raw = b"3\r\nabc\r\n1;x\r\nd\r\nA\r\n0123456789\r\n0\r\n\r\n"
    for size in range(1, len(raw) + 1):
        body = Chunked([])
        for at in range(0, len(raw), size):
            body.feed(raw[at : at + size])
        assert (body.done, body.chunks, body.payload) == (True, 3, 14), size
        assert b"".join(body.decoded) == b"abcd0123456789"
