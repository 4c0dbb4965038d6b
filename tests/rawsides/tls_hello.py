# What a client says of itself before anything is encrypted: the ClientHello (RFC 8446 4.1.2), read as bytes.

from dataclasses import dataclass
from typing import Self

from rawsides.peer import Peer

SERVER_NAME, ALPN, SUPPORTED_VERSIONS = 0, 16, 43  # extension types
TLS_1_2, TLS_1_3 = 0x0303, 0x0304


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """`names` it asks for, `protocols` it would speak, `versions` of TLS that it offers."""

    names: tuple[str, ...]
    protocols: tuple[bytes, ...]
    versions: frozenset[int]

    @classmethod
    async def heard_by(cls, peer: Peer) -> Self:
        """The first message on a connection."""
        kind, *_, high, low = await peer.exactly(5)
        assert kind == 22, f"a record of type {kind} where a handshake should begin"
        return cls.of(await peer.exactly(high << 8 | low))

    @classmethod
    def of(cls, message: bytes) -> Self:
        assert message[0] == 1, "not a ClientHello"
        at = 4 + 2 + 32  # its type and length, an old version, random bytes
        at += 1 + message[at]  # the session
        at += 2 + _number(message, at)  # ciphers
        at += 1 + message[at]  # compressions
        extensions: dict[int, bytes] = {}
        end = at + 2 + _number(message, at)
        at += 2
        while at < end:
            size = _number(message, at + 2)
            extensions[_number(message, at)] = message[at + 4 : at + 4 + size]
            at += 4 + size
        versions = extensions.get(SUPPORTED_VERSIONS, b"\x00")
        return cls(
            names=tuple(name[3:].decode() for name in _listed(extensions.get(SERVER_NAME, b""), 2, within=3)),
            protocols=tuple(name[1:] for name in _listed(extensions.get(ALPN, b""), 2, within=1)),
            versions=frozenset(_number(versions, at) for at in range(1, len(versions), 2)),
        )


def _number(data: bytes, at: int) -> int:
    return data[at] << 8 | data[at + 1]


def _listed(data: bytes, at: int, *, within: int) -> list[bytes]:
    """The items of a list from `at` on; the length of each is in the last of its first `within` bytes."""
    items = []
    while at < len(data):
        size = within + data[at + within - 1]
        items.append(data[at : at + size])
        at += size
    return items
