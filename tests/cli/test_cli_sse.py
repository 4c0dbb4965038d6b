# Server-sent events, read from bytes in any pieces.

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.cli.sse import Event, Reader

TEXT = b':\n\nid: 7\nevent: granted\ndata: {"at": 1}\n\ndata: {"at":\ndata: 2}\n\nid: 9\n\n'
EVENTS = [Event("7", "granted", {"at": 1}), Event("", "message", {"at": 2})]


def test_comments_and_events_without_data_are_none() -> None:
    assert Reader().feed(TEXT) == EVENTS


@settings(deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_pieces_make_no_difference(first: int, second: int) -> None:
    reader, cuts = Reader(), sorted((first, second))
    pieces = (TEXT[: cuts[0]], TEXT[cuts[0] : cuts[1]], TEXT[cuts[1] :])
    assert [event for piece in pieces for event in reader.feed(piece)] == EVENTS


@pytest.mark.parametrize("text", [b"data: x\n\n", b"data: [1]\n\n", b"x" * 1024 * 1025])
def test_what_is_no_stream_of_ours_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError):
        Reader().feed(text)


def test_any_text_of_others_comes_through() -> None:
    data = {"workspaceId": "\x1b\u2028é\n"}
    assert Reader().feed(f"data: {json.dumps(data)}\n\n".encode())[0].data == data
