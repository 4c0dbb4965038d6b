# WebSocket frames: whatever the split of the bytes, the same frames; what RFC 6455 forbids is a fault at once. The
# library `websockets` judges beside us.

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rawsides.frames import BINARY, CLOSE, CONTINUATION, MASK, PING, PONG, TEXT, frame
from websockets.frames import Frame as Theirs
from websockets.frames import Opcode
from websockets.streams import StreamReader

from proxy.errors import BadFrame
from proxy.wire.websocket import FrameReader, close_bytes, frame_bytes, masked

LENGTHS = st.one_of(st.integers(0, 300), st.sampled_from([125, 126, 127, 65535, 65536, 70_000]))


def read(reader, pieces):
    """The frames of these pieces."""
    frames = []
    for piece in pieces:
        at = 0
        while at < len(piece):
            found, at = reader.take(piece, at)
            if found is not None:
                frames.append(found)
    return frames


@st.composite
def sent(draw):
    """Some messages in fragments, with control frames between, as raw frames; and whether they are masked."""
    masks = draw(st.booleans())
    mask = draw(st.binary(min_size=4, max_size=4)) if masks else b""
    frames = []
    for _ in range(draw(st.integers(1, 4))):
        parts = draw(st.integers(1, 3))
        opcode = draw(st.sampled_from([TEXT, BINARY]))
        for part in range(parts):
            if draw(st.booleans()):
                frames.append((draw(st.sampled_from([PING, PONG])), True, draw(st.binary(max_size=125))))
            payload = b"ab" * (draw(LENGTHS) // 2)
            frames.append((CONTINUATION if part else opcode, part == parts - 1, payload))
    return masks, [(*each, frame(each[2], each[0], fin=each[1], mask=mask)) for each in frames]


def split(data, cuts):
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


@given(sent(), st.lists(st.integers(0, 1_000_000), max_size=12))
def test_any_split_gives_the_same_frames(made, cuts):
    masks, wanted = made
    whole = b"".join(raw for *_, raw in wanted)
    reader = FrameReader(masks=masks)
    found = read(reader, split(whole, cuts))
    assert [(f.opcode, f.fin, f.payload(), f.raw) for f in found] == wanted
    assert reader.between_messages


@given(st.sampled_from([TEXT, BINARY, PING]), st.binary(max_size=125), st.booleans())
def test_single_bytes_are_read_as_well(opcode, payload, masks):
    raw = frame(payload, opcode, mask=MASK if masks else b"")
    (found,) = read(FrameReader(masks=masks), [raw[at : at + 1] for at in range(len(raw))])
    assert (found.raw, found.payload()) == (raw, payload)


@given(st.sampled_from([TEXT, BINARY, CLOSE, PING, PONG]), LENGTHS, st.booleans())
def test_what_is_written_is_read_by_others(opcode, length, masks):
    payload = b"x" * (min(length, 125) if opcode >= CLOSE else length)
    raw = frame_bytes(opcode, payload, MASK if masks else b"")
    stream = StreamReader()
    stream.feed_data(raw)
    with pytest.raises(StopIteration) as found:  # it is all there
        next(Theirs.parse(stream.read_exact, mask=masks))
    assert found.value.value == Theirs(Opcode(opcode), payload)


@given(st.binary(max_size=200), st.binary(min_size=4, max_size=4))
def test_mask_is_taken_off_as_it_is_put_on(payload, mask):
    assert masked(payload, mask) == bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
    assert masked(masked(payload, mask), mask) == payload


def test_close_frame_says_its_code_and_the_beginning_of_its_reason():
    assert close_bytes(1001, "bye") == frame(b"\x03\xe9bye", CLOSE)
    long = close_bytes(1002, "é" * 100)
    (found,) = read(FrameReader(masks=False), [long])
    assert found.payload()[2:].decode() == "é" * 61
    assert close_bytes(1001, "bye", MASK) == frame(b"\x03\xe9bye", CLOSE, mask=MASK)


FAULTS = {
    "reserved bit": frame(b"a", bits=0x40),
    "another reserved bit": frame(b"a", bits=0x10),
    "unknown opcode": frame(b"a", 3),
    "unknown control opcode": frame(b"a", 11),
    "control frame in fragments": frame(b"", PING, fin=False),
    "control frame of 126 bytes": frame(b"a" * 126, PING),
    "close frame of one byte": frame(b"a", CLOSE),
    "fragment of no message": frame(b"a", CONTINUATION),
    "message inside another": frame(b"a", TEXT, fin=False) + frame(b"b", TEXT),
    "16-bit length below 126": b"\x82\x7e\x00\x7d" + b"a" * 125,
    "64-bit length below 65536": b"\x82\x7f" + (65535).to_bytes(8, "big"),
    "length with its first bit": b"\x82\x7f\x80" + b"\0" * 7,
    "masked": frame(b"a", mask=MASK),
}


@pytest.mark.parametrize("raw", FAULTS.values(), ids=FAULTS.keys())
def test_what_no_frame_may_be_is_a_fault_however_it_is_split(raw):
    for pieces in ([raw], [raw[at : at + 1] for at in range(len(raw))]):
        with pytest.raises(BadFrame) as caught:
            read(FrameReader(masks=False), pieces)
        assert caught.value.code == 1002


@pytest.mark.parametrize("masks", [False, True])
def test_fault_shows_before_the_frame_is_whole(masks):
    with pytest.raises(BadFrame):
        FrameReader(masks=masks).take(b"\xc1", 0)
    with pytest.raises(BadFrame):
        FrameReader(masks=masks).take(b"\x81\x05" if masks else b"\x81\x85", 0)


def test_frame_before_a_fault_is_read():
    reader = FrameReader(masks=False)
    data = frame(b"a") + frame(b"b", bits=0x40)
    found, at = reader.take(data, 0)
    assert found is not None
    assert found.payload() == b"a"
    with pytest.raises(BadFrame):
        reader.take(data, at)


def test_only_the_beginning_of_a_long_frame_is_kept():
    reader = FrameReader(masks=False, keep=10)
    raw = frame(b"0123456789abcdef") + frame(b"ok")
    long, short = read(reader, split(raw, [5, 13]))
    assert (long.payload(), long.length) == (b"01234567", 16)
    assert short.payload() == b"ok"


def test_frame_that_is_dropped_is_read_to_its_end():
    reader = FrameReader(masks=False)
    raw = frame(b"x" * 1000)
    assert reader.take(raw[:500], 0) == (None, 500)
    reader.drop()
    found, at = reader.take(raw[500:] + frame(b"ok"), 0)
    assert found is not None
    assert (found.payload(), found.length, at) == (b"", 1000, 504)
