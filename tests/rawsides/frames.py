# WebSocket frames as bytes, and how a peer hears them: by hand, so that nothing of the package judges itself.

import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from rawsides.message import begun, get
from rawsides.peer import Peer
from rawsides.rig import Rig

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
MASK = b"\x01\x02\x03\x04"
CODEX = "OpenAI-Beta: responses_websockets=2026-02-06"
SWITCHED = begun(
    "Upgrade: websocket", "Sec-WebSocket-Accept: def", "Connection: Upgrade", status="101 Switching Protocols"
)


class Heard(NamedTuple):
    opcode: int
    fin: bool
    masked: bool
    payload: bytes
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.payload)


def frame(payload: bytes, opcode: int = TEXT, *, fin: bool = True, mask: bytes = b"", bits: int = 0) -> bytes:
    """`bits` are set in the first byte besides."""
    first, bit = (0x80 if fin else 0) | bits | opcode, 0x80 if mask else 0
    if len(payload) < 126:
        header = struct.pack("!BB", first, bit | len(payload))
    elif len(payload) < 65536:
        header = struct.pack("!BBH", first, bit | 126, len(payload))
    else:
        header = struct.pack("!BBQ", first, bit | 127, len(payload))
    if mask:
        payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
    return header + mask + payload


def said(payload: bytes, opcode: int = TEXT, *, fin: bool = True) -> bytes:
    """As a client says it."""
    return frame(payload, opcode, fin=fin, mask=MASK)


def text(message: Mapping[str, object] | str) -> bytes:
    return (message if isinstance(message, str) else json.dumps(message)).encode()


def create(**fields: object) -> bytes:
    """What asks for an answer."""
    return said(text({"type": "response.create", "model": "m", "input": [], **fields}))


def event(kind: str, response: str | None = None, **fields: object) -> bytes:
    """What the upstream says."""
    about = {} if response is None else {"response": {"id": response, **fields.pop("about", {})}}  # type: ignore[dict-item]
    return frame(text({"type": f"response.{kind}", **about, **fields}))


async def hear(peer: Peer) -> Heard:
    """The next frame."""
    raw = await peer.exactly(2)
    short, mask = raw[1] & 0x7F, raw[1] & 0x80
    extended = await peer.exactly({126: 2, 127: 8}.get(short, 0))
    key = await peer.exactly(4) if mask else b""
    payload = await peer.exactly(int.from_bytes(extended, "big") if extended else short)
    raw += extended + key + payload
    if mask:
        payload = bytes(byte ^ key[i % 4] for i, byte in enumerate(payload))
    return Heard(raw[0] & 0x0F, bool(raw[0] & 0x80), bool(mask), payload, raw)


async def socket(rig: Rig, *lines: str, target: str = "/up/v1/responses") -> tuple[Peer, Peer]:
    """A client and its upstream, with a socket between them."""
    upgrade = get(target, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: abc", *lines)
    client, link = await rig.ask(upgrade)
    await link.head()
    await link.send(SWITCHED)
    assert await client.head() == SWITCHED
    return client, link
