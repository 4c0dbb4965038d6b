# What a WebSocket carried is taken apart into requests and answers, whatever the frames.

import json
from typing import Any

from rawsides.frames import CONTINUATION, PING, TEXT, event, frame, said
from rawsides.frames import text as as_text

from clients import sockets
from clients.recorded import exchanges

HANDSHAKE = (
    b"GET /up/v1/responses HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer k\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
WARM = {"type": "response.create", "generate": False}
FIRST, SECOND = ({"type": "response.create", "input": word} for word in ("first", "second"))


def test_each_answer_in_a_socket_is_a_post_with_its_events() -> None:
    sent = _messages(WARM, FIRST) + said(b"", PING) + _messages(SECOND)
    received = b"".join(event(kind) for kind in ("created", "completed") * 3)
    handshake, *carried = exchanges(HANDSHAKE + sent, SWITCHED + received)
    assert handshake[1] is not None
    assert [handshake[0].head.method, handshake[1].head.status] == ["GET", 101]
    assert [json.loads(request.body) for request, _ in carried] == [FIRST, SECOND]
    for request, answer in carried:
        assert request.head.raw == b"POST /up/v1/responses HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer k\r\n\r\n"
        assert answer is not None
        assert answer.head.status == 200
        assert [json.loads(line)["type"] for line in answer.body.split(b"\n")] == [
            "response.created",
            "response.completed",
        ]


def test_a_refusal_in_a_socket_has_its_status_and_what_is_not_over_has_no_answer() -> None:
    received = frame(as_text({"type": "error", "status": 429, "error": {}})) + event("created")
    found = sockets.carried(_messages(FIRST, SECOND), received)
    events = found[0][1]
    assert events is not None
    assert sockets.status_of(events) == 429
    assert found[1] == (as_text(SECOND), None)


def test_a_message_in_pieces_is_one_message() -> None:
    whole = as_text(FIRST)
    pieces = said(whole[:9], TEXT, fin=False) + said(b"", PING) + said(whole[9:], CONTINUATION)
    assert sockets.carried(pieces, b"") == [(whole, None)]


def _messages(*messages: Any) -> bytes:
    return b"".join(said(as_text(message)) for message in messages)
