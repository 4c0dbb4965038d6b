# A successful answer on its way to the client, watched for an error inside: a limit may show after the 200 has gone out
# (spec §7.1).
#
# Rule 1: the bytes go first, as they came; what is read is a copy of the payload, and nothing waits for it.
# Rule 2: one answer is one refusal: after the first, or when there is nothing more to find, nothing more is read.
# Rule 3: the answer has begun without a refusal when its first piece has come that holds none. The head proves nothing:
#         some servers send it before they look.
# Rule 4: looking at what may be an error costs as much as many pieces that cannot. An answer full of it has nothing to
#         tell, and shall not hold up the others.
# Rule 5: what was left unread last is kept: whether it was the final event is looked at when the client leaves.

from typing import Protocol

from proxy.ratelimits.frames import NONE, Frames, Framing, may_be_marked
from proxy.ratelimits.reading import Reading

LOOKED_AT_MAX = 1024 * 1024  # bytes of one answer's frames that may be errors and are none
_LEAST_COST = 32 * 1024  # bytes that even the shortest frame counts for


class Watcher(Protocol):
    """Who wants to know what comes of the answer."""

    def has_begun(self) -> None:
        """It began without a refusal."""

    def is_refusal(self, frame: bytes) -> bool:
        """Whether `frame`, which may be an error, is a refusal; it is acted upon."""

    def has_seen_enough(self) -> None:
        """Nothing more is to be read."""


class Success:
    """The reader of an exchange, from the answer's `begin` on."""

    _ends: tuple[bytes, ...] = ()  # as the framing's, once the answer has begun
    _heard = False
    _begun = False
    _over = False
    _looked_at = 0
    _chunk = b""  # the last one that was left unread, and the one before it
    _chunk_before = b""
    _piece = b""  # the last one that was left unread and is no chunk

    def __init__(self, watcher: Watcher, reading: Reading) -> None:
        self._watcher = watcher
        self._reading = reading
        self._framing: Framing | None = None  # since the first piece

    # --- Reader ---

    def chunk(self, data: bytes, start: int, end: int) -> None:
        # Nearly every piece of a stream goes no further. As `may_be_marked`, without its call, and without a copy.
        ends = self._ends and data[end - 2 : end] == b"\n\n"  # an event, or a line, whichever it is
        if not ends or data.find(b"error") >= 0 or data.find(b"base_resp") >= 0:
            self.payload(data[start:end])
        else:
            self._chunk_before, self._chunk = self._chunk, data

    def payload(self, data: bytes) -> None:
        if data.endswith(self._ends) and not may_be_marked(data):
            self._piece = data
            return
        framing = self._framing
        if framing is None:
            framing = self._framing = self._reading.framing()
        found = framing.feed(data)
        first, self._heard = not self._heard, True
        if found is None:
            self._stop()
        elif first and found is NONE and not data.endswith(b"\n"):
            return  # it may be the first half of a refusal
        elif not self._refuses(found):
            self._begin()
            self._ends = framing.ends

    def end(self, data: bytes) -> None:
        if self._framing is None and self._reading.in_clear and not may_be_marked(data):
            self._over = True  # nearly every short answer: it has come at once
            self._watcher.has_begun()
            return
        if data:
            self.payload(data)
        self.close()

    def finished(self) -> bool:
        if self._framing is None:
            return False
        unread = [piece[piece.find(b"\r\n") + 2 : -2] for piece in (self._chunk_before, self._chunk)]
        return self._framing.finished() or any(map(self._finishes, (*unread, self._piece)))

    def _finishes(self, piece: bytes) -> bool:
        """Whether a piece that was left unread ends the answer."""
        framing = self._reading.framing()
        framing.feed(piece)
        return framing.finished()

    # --- watching ---

    def close(self) -> None:
        """The answer has ended: what is left of it may be an error too."""
        if self._over:
            return
        self._over = True
        framing = self._framing
        if framing is None or not self._refuses(framing.end()):
            self._begin()

    def _refuses(self, found: Frames) -> bool:
        """Whether one of these frames is a refusal; it is told, and nothing else is looked for."""
        for frame in found:
            self._looked_at += max(len(frame), _LEAST_COST)
            if self._watcher.is_refusal(frame):
                self._begun = True
                self._stop()
                return True
            if self._looked_at >= LOOKED_AT_MAX:
                self._stop()
                return False
        return False

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._watcher.has_begun()

    def _stop(self) -> None:
        """There is nothing more to find, nor a refusal to come."""
        self._begin()
        self._over = True
        self._framing = None  # with what it holds
        self._watcher.has_seen_enough()
