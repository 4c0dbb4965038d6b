# What the client says in a socket: control frames pass at once, messages are gathered whole.
#
# Rule 1: bounded as bodies are: a message by queue.body_limit, all that wait together by queue.body_budget. One that is
#         too large is answered by an error and passed over; the socket goes on.
# Rule 2: frames are gathered in the bytes they came in, so that they go up as they were.

from collections.abc import Callable
from typing import Protocol

from proxy.errors import BadFrame, OwnAnswer
from proxy.web.budget import Share
from proxy.wire.websocket import CLOSE, TEXT, Frame, FrameReader

_FRAME_COSTS = 128  # bytes that each frame counts for besides its own: a flood of empty ones takes memory too


class Message:
    """One message of the client's; `text` is what it says, if it is text. `share` is its part of the budget."""

    __slots__ = ("frames", "share", "text")

    def __init__(self, frames: list[bytes], text: bytes | None, share: Share) -> None:
        self.frames = frames
        self.text = text
        self.share = share


class Listener(Protocol):
    """Who takes what the client says."""

    def control(self, raw: bytes) -> None:
        """A ping or pong."""

    def client_closes(self, raw: bytes) -> None:
        """A close frame: nothing of the client's comes behind it."""

    def message(self, message: Message) -> None: ...
    def too_large(self, error: OwnAnswer) -> None:
        """A message that is not passed on."""

    def client_fault(self, fault: BadFrame) -> None:
        """What no client may send: nothing behind it is read."""

    def client_ends(self) -> None:
        """The client has half-closed, which WebSockets do not know: it leaves."""


class Upward:
    """The Tunnel of a socket."""

    def __init__(self, listener: Listener, share: Callable[[], Share]) -> None:
        self.moved = 0
        self._listener = listener
        self._new_share = share
        self._reader = FrameReader(masks=True)
        self._held: bytes | None = None  # what is not read, while it is held
        self._over = False
        self._forget()

    def __repr__(self) -> str:
        return f"<Upward {self.moved} bytes>"

    def data(self, data: bytes) -> None:
        self.moved += len(data)
        if self._held is None:
            self._read(data)
        else:
            self._held += data

    def hold(self) -> None:
        """What has come and is not read is kept until `go_on`; its client shall say no more till then."""
        if self._held is None:
            self._held = b""

    def go_on(self) -> None:
        held, self._held = self._held, None
        if held:
            self._read(held)

    def end(self) -> None:
        self.close()
        self._listener.client_ends()

    def close(self) -> None:
        """Nothing more is read; what was gathered is dropped."""
        self._over, self._held = True, None
        if self._share is not None:
            self._share.close()
        self._reader.drop()
        self._forget()

    # --- inside ---

    def _read(self, data: bytes) -> None:
        at = 0
        while at < len(data) and not self._over:
            if self._held is not None:
                self._held = data[at:]
                return
            try:
                frame, end = self._reader.take(data, at)
                self._account(end - at, frame)
                at = end
                if frame is not None:
                    self._take(frame)
            except BadFrame as fault:
                self.close()
                self._listener.client_fault(fault)

    def _forget(self) -> None:
        """Nothing of a message is here."""
        self._frames: list[bytes] = []
        self._pieces: list[bytes] = []
        self._size = 0  # of its payload, in whole frames
        self._is_text = False
        self._refused = False
        self._share: Share | None = None

    def _account(self, size: int, frame: Frame | None) -> None:
        """More of a frame has come. Of a message, it may be too large: known when the header is here."""
        reader = self._reader
        if (frame is None and not reader.inside_payload) or reader.opcode >= CLOSE:
            return
        if self._refused:
            reader.drop()
            return
        if self._share is None:
            self._share = self._new_share()
        try:
            self._share.check_length(self._size + reader.length)
            self._share.add(size if frame is None else size + _FRAME_COSTS, 0)
        except OwnAnswer as error:
            self._share.close()
            self._refused = True
            self._frames, self._pieces = [], []
            reader.drop()
            self._listener.too_large(error)

    def _take(self, frame: Frame) -> None:
        if frame.opcode == CLOSE:
            self.close()
            self._listener.client_closes(frame.raw)
        elif frame.is_control:
            self._listener.control(frame.raw)
        else:
            self._gather(frame)

    def _gather(self, frame: Frame) -> None:
        self._is_text |= frame.opcode == TEXT
        share = self._share
        if not self._refused and share is not None:
            self._size += frame.length
            self._frames.append(frame.raw)
            if self._is_text:
                self._pieces.append(frame.payload())
        if not frame.fin:
            return
        message = None
        if not self._refused and share is not None:
            message = Message(self._frames, b"".join(self._pieces) if self._is_text else None, share)
        self._forget()
        if message is not None:
            self._listener.message(message)
