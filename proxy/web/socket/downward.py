# What the upstream says in a socket, on its way to the client; it is read along.
#
# Rule 1: bytes leave in the call they arrive in, as they came. Two things ask for a look first: a message that may be
#         absorbed is held until it is whole, and words of our own wait for the end of a message of the upstream's.
# Rule 2: what is read is a bounded copy. A message too long to be held or read passes.

from typing import Protocol

from proxy.errors import BadFrame
from proxy.web.socket.protocol import READ_END, READ_MAX
from proxy.wire.exchange import Exchange, Sink
from proxy.wire.head import ResponseHead
from proxy.wire.relay import Relay
from proxy.wire.websocket import CLOSE, TEXT, Frame, FrameReader

HELD_MAX = 64 * 1024  # bytes of one message: refusals are short


class Hearer(Protocol):
    """Who reads along."""

    @property
    def holds(self) -> bool:
        """Whether the next message is to be read before it may pass."""

    def upstream_moved(self, size: int) -> None:
        """Bytes of messages have come."""

    def heard(self, payload: bytes, frames: bytes, end: bytes | None) -> bool:
        """A text message. Of a long one `payload` is the beginning, and `end` its last bytes; `frames` are its bytes if
        it is held. Whether it is kept from the client."""

    def caught_up(self) -> None:
        """All that has come so far was heard."""

    def upstream_closes(self) -> None: ...
    def upstream_fault(self, fault: BadFrame) -> None:
        """What no upstream may send; nothing behind it is read or passed on."""


class Downward:
    """The sink of a socket's exchange, in front of its relay. An answer that switches nothing goes to `otherwise`."""

    def __init__(self, relay: Relay, hearer: Hearer, otherwise: Sink) -> None:
        self._relay = relay
        self._otherwise = otherwise
        self._hearer = hearer
        self._exchange: Exchange | None = None
        self._reader = FrameReader(masks=False, keep=READ_MAX, keep_end=READ_END)
        self._holding = False  # the present message
        self._held: list[bytes] = []  # its frames that are whole
        self._held_size = 0  # bytes of those
        self._read: list[bytes] = []  # what it says so far
        self._size = 0  # of what is read of it
        self._is_text = False
        self._end: bytes | None = None  # its last bytes so far, once what is read of it is not all of it
        self._later: list[bytes] = []  # our own, until no message of the upstream's is on its way
        self._ahead = False  # more has passed than is read
        self._passing: list[bytes] | None = None  # while several frames are looked at: what of them may pass
        self._over = False

    def __repr__(self) -> str:
        return f"<Downward {self._relay!r}{' holding' if self._holding else ''}>"

    def attach(self, exchange: Exchange) -> None:
        """The exchange whose sink this is."""
        self._exchange = exchange

    def say(self, frame: bytes) -> None:
        """Words of our own for the client, between two messages."""
        if self._ahead or not self._reader.between_messages:
            self._later.append(frame)
        elif self._passing is not None:
            self._passing.append(frame)
        else:
            self._relay.data(frame)

    def say_last(self, close: bytes) -> None:
        """A close frame of our own, behind which nothing comes; not inside a frame, where it would be none."""
        if not self._reader.inside_frame:
            self._relay.data(b"".join([*self._later, close]))
        self._later = []
        self._over = True

    # --- Sink ---

    def heard(self) -> None:
        self._relay.heard()

    def interim(self, head: ResponseHead) -> None:
        self._relay.interim(head)

    def begin(self, head: ResponseHead, length: int, data: bytes) -> None:
        if self._exchange is not None:
            self._exchange.sink = self._otherwise
        self._otherwise.begin(head, length, data)

    def switch(self, head: ResponseHead) -> None:
        self._relay.switch(head)

    def data(self, data: bytes) -> None:
        if self._over:
            return
        try:
            if self._later or self._holding or self._hearer.holds:
                self._pass_by_frames(data)
            else:
                self._read_along(data)
        except BadFrame as fault:
            self._hearer.upstream_fault(fault)
        else:
            self._hearer.caught_up()

    def end(self) -> None:
        self._relay.end()

    # --- inside ---

    def _read_along(self, data: bytes) -> None:
        self._relay.data(data)
        self._ahead, at = True, 0
        try:
            while at < len(data):
                frame, end = self._reader.take(data, at)
                self._count(end - at)
                at = end
                if frame is not None:
                    self._hear(frame)
        finally:
            self._ahead = False
        if self._later and self._reader.between_messages:
            passing: list[bytes] = []
            self._put_between(passing)
            self._relay.data(b"".join(passing))

    def _pass_by_frames(self, data: bytes) -> None:
        """The same where something is to be held, or to be put between."""
        reader, at = self._reader, 0
        passing: list[bytes] = []
        self._passing = passing
        try:
            while at < len(data):
                if reader.between_messages:
                    self._put_between(passing)
                    self._holding, self._held_size = self._hearer.holds, 0
                frame, end = reader.take(data, at)
                self._count(end - at)
                if self._holding:
                    passing += self._hold(frame)
                else:
                    passing.append(data[at:end])
                    if frame is not None:
                        self._hear(frame)
                at = end
            if reader.between_messages:
                self._put_between(passing)
        finally:
            self._passing = None
            if passing:
                self._relay.data(b"".join(passing))

    def _put_between(self, passing: list[bytes]) -> None:
        passing += self._later
        self._later = []

    def _hold(self, frame: Frame | None) -> list[bytes]:
        """More of a message that is held; what of it may pass now."""
        if frame is not None and frame.is_control:
            self._hear(frame)
            return [frame.raw]  # it may stand between the frames of a message
        if frame is not None:
            self._held.append(frame.raw)
            self._held_size += len(frame.raw)
            if frame.fin:
                held, self._held, self._holding = self._held, [], False
                return [] if self._hear(frame, b"".join(held)) else held
            self._hear(frame)
        if self._held_size + len(self._reader.partial()) <= HELD_MAX:
            return []
        self._holding = False
        held, self._held = [*self._held, self._reader.partial()], []
        return held

    def _hear(self, frame: Frame, held: bytes = b"") -> bool:
        """Read a frame; whether the message that it ends is kept from the client."""
        if frame.is_control:
            if frame.opcode == CLOSE:
                self._hearer.upstream_closes()
            return False
        self._is_text |= frame.opcode == TEXT
        if self._is_text:
            self._read_frame(frame)
        if not frame.fin:
            return False
        payload = self._read[0] if len(self._read) == 1 else b"".join(self._read)
        is_text, end = self._is_text, self._end
        self._read, self._size, self._is_text, self._end = [], 0, False, None
        return is_text and self._hearer.heard(payload, held, end)

    def _read_frame(self, frame: Frame) -> None:
        """One of a text message."""
        said = frame.payload()
        self._size += frame.length
        if self._end is None:
            if said:  # a flood of empty ones takes no memory
                self._read.append(said)
            if frame.length <= len(said) and self._size <= READ_MAX:
                return
        self._end = b"".join((self._end or b"", said[-READ_END:], frame.end))[-READ_END:]

    def _count(self, size: int) -> None:
        if self._reader.opcode < CLOSE:
            self._hearer.upstream_moved(size)
