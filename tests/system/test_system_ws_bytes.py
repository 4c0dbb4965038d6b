# Upgrades as bytes, through the real process: what libraries would not send, and what they do not show.
# Bug cases FRM-11 and the first half of WS-01.

import pytest
from blackbox.call import Call
from blackbox.client import CUT, RawClient
from blackbox.rig import Rig
from blackbox.waiting import until

UPSTREAMS = {"up": {"limit": 1, "cooldown": "0s"}}
HEAD = (
    "GET /up/v1/realtime?model=a%2Fb HTTP/1.1",
    "Host: proxy.test",
    "cONNECTION: keep-alive, UPGRADE",
    "uPGRADE: WebSocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version: 13",
    "Sec-WebSocket-Protocol: a",
    "Sec-WebSocket-Protocol: b, c",
    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits, x-made-up",
)
SWITCH = (
    b"HTTP/1.1 101 Any Reason\r\nupgrade: WebSocket\r\nConnection: upgrade\r\nSec-WebSocket-Protocol: b\r\n"
    b"X-Twice: 1\r\nx-twice: 2\r\n\r\n"
)
FRAME = b"\x81\x85\x01\x02\x03\x04ignor"  # masked, as clients' are; nobody on the way looks


def upgrade(*lines: str, rest: bytes = b"") -> bytes:
    return "\r\n".join((*HEAD, *lines)).encode() + b"\r\n\r\n" + rest


async def asked(rig: Rig, message: bytes) -> tuple[RawClient, Call]:
    client = await rig.client()
    await client.send(message)
    return client, await rig.up.call()


async def heard(call: Call, data: bytes) -> None:
    """The upstream has these bytes behind the request, and no more of them."""
    await until(lambda: len(behind(call)) >= len(data), what="the tunnel's bytes")
    assert behind(call) == data


def behind(call: Call) -> bytes:
    """What the upstream has heard behind the request."""
    return bytes(call.connection._buffer)


async def test_upgrade_in_odd_spelling_reaches_the_upstream_as_it_was_sent(rig: Rig) -> None:
    _, call = await asked(rig, upgrade())
    names = [f"{name}: {value}" for name, value in call.head.headers if name.lower() not in ("host", "connection")]
    assert names == [line for line in HEAD[1:] if not line.lower().startswith(("host", "connection"))]
    assert call.head.start == "GET /v1/realtime?model=a%2Fb HTTP/1.1"
    assert call.head.all("connection") == ["Upgrade"]


async def test_101_reaches_the_client_as_it_was_sent_and_bytes_of_its_segment_behind_it(rig: Rig) -> None:
    client, call = await asked(rig, upgrade())
    call.raw(SWITCH + b"\x81\x05first")
    head = await client.head()
    assert head.start == "HTTP/1.1 101 Any Reason"
    assert [pair for pair in head.headers if pair[0] != "Connection"] == [
        ("upgrade", "WebSocket"),
        ("Sec-WebSocket-Protocol", "b"),
        ("X-Twice", "1"),
        ("x-twice", "2"),
    ]
    assert head.all("connection") == ["upgrade"]
    assert await client.until(b"first") == b"\x81\x05first"


async def test_bytes_in_the_requests_own_segment_reach_the_upstream_after_the_101(rig: Rig) -> None:
    client, call = await asked(rig, upgrade(rest=FRAME))
    await client.send(FRAME)
    assert behind(call) == b"", "the upstream has not agreed yet"
    call.raw(SWITCH)
    await client.head()
    await client.send(b"more")
    await heard(call, FRAME + FRAME + b"more")


@pytest.mark.parametrize(
    ("framing", "body"),
    [("Content-Length: 5", b"hello"), ("Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n")],
)
async def test_upgrade_with_a_body_is_sent_with_it_and_tunnelled_behind_it(rig: Rig, framing: str, body: bytes) -> None:
    """RFC 9110 7.8: the switch comes after the request, and a GET may have a body."""
    client, call = await asked(rig, upgrade(framing, rest=body + FRAME))
    assert call.body == b"hello"
    assert call.head.get(framing.partition(":")[0]) == framing.partition(": ")[2]
    call.raw(SWITCH)
    await client.head()
    await heard(call, FRAME)


async def test_bytes_behind_a_refused_upgrade_are_the_next_request(rig: Rig) -> None:
    client, call = await asked(rig, upgrade(rest=b"POST /up/next HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"))
    await call.answer(403, b"no")
    assert (await client.answer()).body == b"no"
    following = await rig.up.call()
    assert (following.head.target, following.body) == ("/next", b"{}")
    await rig.finish(following, client)


async def test_frames_behind_a_refused_upgrade_are_no_request_and_go_nowhere(rig: Rig) -> None:
    client, call = await asked(rig, upgrade(rest=FRAME + b"\r\n\r\n"))
    await call.answer(403, b"no")
    assert (await client.answer()).body == b"no"
    assert (await client.answer()).status == 400
    assert await client.closed() == CUT
    assert behind(call) == b""
    assert len(rig.up.calls) == 1


async def test_101_that_nobody_asked_for_is_a_bad_answer(rig: Rig) -> None:
    client = await rig.ask()
    call = await rig.up.call()
    call.raw(SWITCH + b"\x81\x05first")
    answer = await client.answer()
    assert (answer.status, answer.code) == (502, "upstream_bad_response")
    await call.stopped()
