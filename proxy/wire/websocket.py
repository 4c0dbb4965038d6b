# WebSocket frames (RFC 6455), read while they are passed on. Pure: bytes in, frames out.
#
# Rule 1: a frame keeps the bytes it came in: whoever passes it on passes those, mask and all.
# Rule 2: any split of the bytes gives the same frames, and a fault shows as soon as the bytes that make it are here.
# Rule 3: no extension is spoken, so a reserved bit is a fault.

import struct
from typing import NamedTuple

from proxy.errors import BadFrame

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
GOING_AWAY, PROTOCOL_ERROR, BAD_TEXT = 1001, 1002, 1007  # RFC 6455 7.4.1
_OPCODES = frozenset((CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG))
_FIN, _RESERVED, _MASKED = 0x80, 0x70, 0x80
_CONTROL_MAX = 125  # RFC 6455 5.5
_HEADER_MAX = 14


class Frame(NamedTuple):
    """`raw` are its bytes, all or those that were kept; `length` is the payload's; `end` is of those that were not kept
    the last ones."""

    opcode: int
    fin: bool
    raw: bytes
    header_size: int
    mask: bytes
    length: int
    end: bytes = b""

    @property
    def is_control(self) -> bool:
        return self.opcode >= CLOSE

    def payload(self) -> bytes:
        """What it says, of what was kept, without the mask."""
        said = self.raw[self.header_size :]
        return masked(said, self.mask) if self.mask else said


class FrameReader:
    """Reads the frames of one side, which must mask them, or must not. Of a frame the first `keep` bytes are kept, and
    of a longer one the last `keep_end`."""

    def __init__(self, *, masks: bool, keep: int | None = None, keep_end: int = 0) -> None:
        self.length = 0  # of the present frame's payload, once its header is here; till then of the last one's
        self.opcode = CONTINUATION  # the same
        self._masks = masks
        self._keep = keep
        self._keep_end = keep_end
        self._header = bytearray()  # of the present frame, while it is not whole
        self._size = 0  # of a whole header
        self._fin = False
        self._missing = -1  # bytes of the payload; -1: the header is not whole
        self._kept: list[bytes] = []
        self._room = 0  # bytes of the present frame that are kept yet
        self._end = b""  # of the present frame, the last bytes that have come and are not kept
        self._in_message = False  # the last data frame was no final one

    def __repr__(self) -> str:
        return f"<FrameReader {'inside' if self.inside_frame else 'between'} frames>"

    @property
    def inside_frame(self) -> bool:
        return self._missing >= 0 or bool(self._header)

    @property
    def inside_payload(self) -> bool:
        """Whether the present frame's header is known, and not all of its payload has come."""
        return self._missing >= 0

    @property
    def between_messages(self) -> bool:
        """Whether a whole message, or one of another sender, may stand here."""
        return not self._in_message and not self.inside_frame

    def drop(self) -> None:
        """Keep nothing of the present frame."""
        self._kept = []
        self._room = 0

    def partial(self) -> bytes:
        """What is kept of the present frame so far."""
        return b"".join(self._kept) if self._missing >= 0 else bytes(self._header)

    def take(self, data: bytes, at: int) -> tuple[Frame | None, int]:
        """Read `data` from `at` to the end of the present frame: that frame, or None if it is not whole; and where
        reading stopped. BadFrame for what no frame may be; there is no going on behind it."""
        if self._missing < 0:
            had = len(self._header)
            self._header += data[at : at + _HEADER_MAX - had]
            if not self._read_header():
                return None, len(data)
            at += self._size - had
        end = min(at + self._missing, len(data))
        beyond = at  # where what is not kept begins
        if self._room > 0 and end > at:
            piece = data[at : min(end, at + self._room)]
            self._room -= len(piece)
            self._kept.append(piece)
            beyond += len(piece)
        if self._keep_end and beyond < end:
            self._end = (self._end + data[max(beyond, end - self._keep_end) : end])[-self._keep_end :]
        self._missing -= end - at
        if self._missing:
            return None, end
        return self._whole(), end

    # --- inside ---

    def _read_header(self) -> bool:
        """Whether the header is whole; then what it says is known, and nothing else is left in it."""
        header = self._header
        if len(header) < 2:
            self._check_first(header)
            return False
        self._check_first(header)
        self._check_second(header)
        short = header[1] & 0x7F
        extended = 2 if short == 126 else 8 if short == 127 else 0
        size = 2 + extended + (4 if self._masks else 0)
        if len(header) < 2 + extended:
            return False
        length = int.from_bytes(header[2 : 2 + extended], "big") if extended else short
        if (extended == 2 and length < 126) or (extended == 8 and length < 65536):
            raise BadFrame(PROTOCOL_ERROR, "a frame's length is not written in the shortest way")
        if length >> 63:
            raise BadFrame(PROTOCOL_ERROR, "a frame's length has its first bit set")
        if len(header) < size:
            return False
        del header[size:]
        self._size, self.length, self._missing = size, length, length
        self.opcode, self._fin = header[0] & 0x0F, bool(header[0] & _FIN)
        self._kept, self._end = [bytes(header)], b""
        self._room = length if self._keep is None else max(self._keep - size, 0)
        return True

    def _check_first(self, header: bytearray) -> None:
        if not header:
            return
        first = header[0]
        opcode = first & 0x0F
        if first & _RESERVED:
            raise BadFrame(PROTOCOL_ERROR, "a frame has a reserved bit set, and no extension was agreed on")
        if opcode not in _OPCODES:
            raise BadFrame(PROTOCOL_ERROR, f"a frame has the unknown opcode {opcode}")
        if opcode >= CLOSE:
            if not first & _FIN:
                raise BadFrame(PROTOCOL_ERROR, "a control frame is a fragment")
        elif (opcode == CONTINUATION) is not self._in_message:
            raise BadFrame(PROTOCOL_ERROR, "a fragment of no message, or a message inside another")

    def _check_second(self, header: bytearray) -> None:
        if bool(header[1] & _MASKED) is not self._masks:
            raise BadFrame(PROTOCOL_ERROR, "a frame is not masked" if self._masks else "a frame is masked")
        length = header[1] & 0x7F
        opcode = header[0] & 0x0F
        if (opcode >= CLOSE and length > _CONTROL_MAX) or (opcode == CLOSE and length == 1):
            raise BadFrame(PROTOCOL_ERROR, "a control frame has no length that it may have")

    def _whole(self) -> Frame:
        header = self._header
        if self.opcode < CLOSE:
            self._in_message = not self._fin
        mask = bytes(header[self._size - 4 :]) if self._masks else b""
        raw = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        frame = Frame(self.opcode, self._fin, raw, self._size, mask, self.length, self._end)
        self._missing, self._kept = -1, []
        header.clear()
        return frame


def frame_bytes(opcode: int, payload: bytes, mask: bytes = b"") -> bytes:
    """A whole frame; with `mask`, four bytes, as a client sends it."""
    length, bit = len(payload), _MASKED if mask else 0
    if length < 126:
        header = struct.pack("!BB", _FIN | opcode, bit | length)
    elif length < 65536:
        header = struct.pack("!BBH", _FIN | opcode, bit | 126, length)
    else:
        header = struct.pack("!BBQ", _FIN | opcode, bit | 127, length)
    return header + mask + (masked(payload, mask) if mask else payload)


def close_bytes(code: int, reason: str, mask: bytes = b"") -> bytes:
    """A close frame; of a longer reason the beginning."""
    said = reason.encode()[: _CONTROL_MAX - 2].decode(errors="ignore").encode()
    return frame_bytes(CLOSE, struct.pack("!H", code) + said, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """The payload with `mask` put on, or taken off."""
    length = len(payload)
    key = int.from_bytes((mask * (length // 4 + 1))[:length], "little")
    return (int.from_bytes(payload, "little") ^ key).to_bytes(length, "little")
