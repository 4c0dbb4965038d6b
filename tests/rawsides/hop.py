# Messages as they must look behind any hop: what may differ between us and HAProxy is folded away, the rest is equal.
#
# What HAProxy does to a message by its own nature, and no test of both fronts minds:
#   names of headers and trailers become lower case               → names are folded
#   spaces round a value become one in front of it                → values are stripped
#   chunks are cut anew, and lose their extensions                → chunked bodies are compared by what they carry
#   Connection stands where it likes                              → in the tests of upgrades, its place is not compared
# What else it does otherwise stands as a table in the test that shows it, beside what spec §10 says.

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rawsides.haproxy import Haproxy
from rawsides.peer import Peer
from rawsides.rig import Rig

Hop = Rig | Haproxy
StartHop = Callable[..., Awaitable[Hop]]
Field = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Head:
    """A start line as it came, and the fields in their order, folded."""

    first: bytes
    fields: list[Field]

    def names(self) -> set[bytes]:
        return {name for name, _ in self.fields}

    def values(self, name: bytes) -> list[bytes]:
        """In their order; `name` is in lower case."""
        return [value for found, value in self.fields if found == name]

    @property
    def status(self) -> int:
        return int(self.first.split(b" ")[1])


def folded(raw: bytes) -> Head:
    """A whole head, its empty line included."""
    assert raw.endswith(b"\r\n\r\n"), raw[-100:]
    first, *lines = raw[:-4].split(b"\r\n")
    return Head(first, [_field(line) for line in lines])


async def heard(peer: Peer) -> Head:
    """The next head that `peer` hears."""
    return folded(await peer.head())


def _field(line: bytes) -> Field:
    name, colon, value = line.partition(b":")
    assert colon, line
    return name.lower(), value.strip(b" \t")


# --- chunked bodies ---


async def carried(peer: Peer, count: int) -> bytes:
    """The next `count` bytes that chunks carry; no chunk may carry more than that."""
    data = b""
    while len(data) < count:
        data += await _chunk(peer)
    return data


async def trailers(peer: Peer) -> list[Field]:
    """The last chunk and what stands behind it."""
    assert await _chunk(peer) == b""
    fields: list[Field] = []
    while (line := await peer.until(b"\r\n")) != b"\r\n":
        fields.append(_field(line[:-2]))
    return fields


async def _chunk(peer: Peer) -> bytes:
    size = _size(await peer.until(b"\r\n"))
    data = await peer.exactly(size)
    assert size == 0 or await peer.exactly(2) == b"\r\n"
    return data


def _size(line: bytes) -> int:
    return int(line.partition(b";")[0], 16)


def dechunked(raw: bytes) -> tuple[bytes, bool]:
    """What the chunks in `raw` carry, also a half one, and whether the body's end is in it: the last chunk's empty
    line, and not a byte behind it."""
    data = b""
    while b"\r\n" in raw:
        line, _, raw = raw.partition(b"\r\n")
        if (size := _size(line)) == 0:
            return data, (b"\r\n" + raw).endswith(b"\r\n\r\n")
        data += raw[:size]
        raw = raw[size + 2 :]
    return data, False
