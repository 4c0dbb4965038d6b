# An upstream's answer on its way to the client.
#
# Rule 1: what arrives leaves in the same call: no queue, no copy, no task. Backpressure pauses the other side.
# Rule 2: the framing stays the upstream's. Only an HTTP/1.0 client, which knows no chunks, gets the bare payload.
# Rule 3: an answer is whole only after `end`. Whatever else stops it shows as a cut.

from collections.abc import Callable
from typing import Protocol

from proxy.core.model import Phase
from proxy.wire.body import Chunked
from proxy.wire.head import CHUNKED, UNTIL_CLOSE, ResponseHead
from proxy.wire.head_writer import response_bytes
from proxy.wire.request import Request


class Meter(Protocol):
    """What counts an answer's bytes: a slot, or a stand-in for a request that takes none."""

    phase: Phase
    bytes: int
    last_byte_at: float


class Relay:
    """The sink of an exchange that writes to the client."""

    status: int | None = None
    whole = False
    began_at: float | None = None
    _dechunker: "_Dechunker | None" = None

    def __init__(self, request: Request, meter: Meter, now: Callable[[], float]) -> None:
        self._request = request
        self._client = request.connection  # not its `write`, which ends with it
        self._meter = meter
        self._now = now

    def __repr__(self) -> str:
        return f"<Relay {self.status} {self._meter.bytes} bytes{' whole' if self.whole else ''}>"

    def heard(self) -> None:
        self._meter.last_byte_at = self._now()

    def interim(self, head: ResponseHead) -> None:
        if self.passes(head):
            self._client.write(response_bytes(head))

    def passes(self, head: ResponseHead) -> bool:
        """Whether a 1xx answer is passed on. 100 is for whoever sent Expect, which we answer ourselves; to anyone else
        it breaks clients."""
        return head.status != 100 and self._request.head.minor == 1

    def begin(self, head: ResponseHead, length: int, data: bytes) -> None:
        request, meter = self._request, self._meter
        self.status = head.status
        self.began_at = meter.last_byte_at = self._now()
        meter.phase = Phase.STREAMING
        old = request.head.minor == 0
        request.ends_by_closing = length == UNTIL_CLOSE or (old and length == CHUNKED)
        close = request.closes()
        request.answered = True
        request.pieces = []  # nothing is sent again once the client has heard an answer
        answer = response_bytes(head, close=close, dechunked=old)
        if old and length == CHUNKED:
            self._client.write(answer)
            self._dechunker = _Dechunker()
            self.data(data)
        else:
            meter.bytes += len(data)
            self._client.write(answer + data)  # in one piece: each is a system call, and a packet

    def switch(self, head: ResponseHead) -> None:
        self.status = head.status
        self.began_at = self._meter.last_byte_at = self._now()
        self._meter.phase = Phase.STREAMING
        self._request.answered = self._request.ends_by_closing = True
        self._request.keep = False
        self._client.write(response_bytes(head, upgrade=True))

    def data(self, data: bytes) -> None:
        meter = self._meter
        meter.bytes += len(data)
        meter.last_byte_at = self._now()
        if self._dechunker is not None:
            data = self._dechunker.payload(data)
        self._client.write(data)

    def end(self) -> None:
        self.whole = True

    def cut(self, *, at_once: bool = False, looks_whole: bool = False) -> None:
        """The answer will not become whole: show it, also where what came of it `looks_whole`."""
        self._client.cut(at_once=at_once, reset=looks_whole)


class _Dechunker:
    """Takes the framing off a chunked body."""

    def __init__(self) -> None:
        self._payload: list[bytes] = []
        self._body = Chunked(self._payload)

    def payload(self, data: bytes) -> bytes:
        """What these bytes of the body hold."""
        self._body.feed(data)
        payload = b"".join(self._payload)
        self._payload.clear()
        return payload
