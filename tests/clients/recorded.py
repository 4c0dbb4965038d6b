# What passed on a connection, taken apart into messages after the fact; and what the upstream must have received of a
# request (spec §10).
#
# Rule: bytes stay as they came. An upgrade ends the messages; what a socket carries behind it is shown as such.

from dataclasses import dataclass

from blackbox.message import Dechunker, Head, parse_head

from clients import sockets

# What a proxy takes out of a request (RFC 9110 7.6.1, and spec §10), beside what Connection lists.
_REMOVED = {"connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "upgrade"}
_OURS = ("x-slotgate-", "x-forwarded-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    head: Head
    body: bytes  # without its framing

    def __repr__(self) -> str:
        return f"<Message {self.head.start} {len(self.body)} bytes>"


def exchanges(sent: bytes, received: bytes) -> list[tuple[Message, Message | None]]:
    """The requests of one connection with their final answers; None where no whole head of one came."""
    found: list[tuple[Message, Message | None]] = []
    while (request := _request(sent)) is not None:
        message, sent = request
        answer, received = _answer(received, message.head.method)
        found.append((message, answer))
        if answer is not None and answer.head.status == 101:
            return found + _carried(message.head, sent, received)
    return found


def _carried(handshake: Head, sent: bytes, received: bytes) -> list[tuple[Message, Message | None]]:
    if not sockets.asks(handshake):
        return []
    head, found = sockets.as_post(handshake), []
    for asked, events in sockets.carried(sent, received):
        answer = None if events is None else _as_answer(events)
        found.append((Message(head=head, body=asked), answer))
    return found


def _as_answer(events: list[bytes]) -> Message:
    head = f"HTTP/1.1 {sockets.status_of(events)} Whatever\r\n\r\n".encode()
    return Message(head=parse_head(head), body=b"\n".join(events))


def expected_upstream(request: Message, prefix: str, authority: str) -> bytes:
    """The bytes that the upstream must have received, its URL having no path."""
    head = request.head
    method, target, version = head.start.split(" ")
    assert target.startswith(prefix), target
    target = target.removeprefix(prefix) or "/"
    listed = {name.strip().lower() for value in head.all("connection") for name in value.split(",")}
    lines = [f"{method} {target if target.startswith('/') else f'/{target}'} {version}"]
    for line in head.raw[:-4].decode("latin-1").split("\r\n")[1:]:
        name = line.partition(":")[0].lower()
        if name == "host":
            lines.append(f"{line[:4]}: {authority}")
        elif name in ("connection", "upgrade") and sockets.asks(head):
            lines.append(line)
        elif name == "sec-websocket-extensions" and sockets.asks(head):
            continue  # the proxy reads the frames: no compression
        elif name not in _REMOVED and name not in listed and not name.startswith(_OURS):
            lines.append(line)
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + request.body


def _request(raw: bytes) -> tuple[Message, bytes] | None:
    at = raw.find(b"\r\n\r\n")
    if at < 0:
        return None
    head, rest = parse_head(raw[: at + 4]), raw[at + 4 :]
    if head.chunked:
        chunks = Dechunker()
        chunks.feed(rest)
        return Message(head=head, body=bytes(chunks.data)), chunks.rest
    length = head.length or 0
    return Message(head=head, body=rest[:length]), rest[length:]


def _answer(raw: bytes, method: str) -> tuple[Message | None, bytes]:
    while True:
        at = raw.find(b"\r\n\r\n")
        if at < 0:
            return None, b""
        head, raw = parse_head(raw[: at + 4]), raw[at + 4 :]
        if head.status >= 200 or head.status == 101:
            break
    if method == "HEAD" or head.status in (101, 204, 304):
        return Message(head=head, body=b""), raw
    if head.chunked:
        chunks = Dechunker()
        chunks.feed(raw)
        return Message(head=head, body=bytes(chunks.data)), chunks.rest
    if head.length is None:
        return Message(head=head, body=raw), b""
    return Message(head=head, body=raw[: head.length]), raw[head.length :]
