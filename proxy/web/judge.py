# Reading what an answer to a counted request says about limits, while it passes (spec §7.1, §7.5, §7.6).
#
# Rule 1: what is passed on is never changed; a bounded copy of an error's body is read beside it.
# Rule 2: an error is judged once: when its body is whole, when enough of it is here, when it hangs, or when it is cut.
#         A success is one as soon as its head is here; where its body can be watched for an error inside, when that
#         has begun (success.py).
# Rule 3: an answer that may be absorbed is held back until it is judged; nothing of it has reached the client then.

import asyncio

from proxy.core.model import Kind, Slot
from proxy.errors import BadMessage
from proxy.ratelimits import classify, decoded, requests_left
from proxy.ratelimits.classifier import may_count_down
from proxy.ratelimits.reading import reading_of
from proxy.ratelimits.rule import STATUSES
from proxy.service.admission import Admission
from proxy.service.clock import Clock
from proxy.web.success import Success
from proxy.wire.body import Chunked
from proxy.wire.exchange import Exchange
from proxy.wire.head import CHUNKED, ResponseHead, text_fields
from proxy.wire.relay import Relay

COPY_MAX = 64 * 1024  # spec §7.1
HANGING_S = 2.0  # an error whose body does not come is judged by its head after this long
ABSORBED = frozenset({Kind.CONCURRENCY, Kind.RATE, Kind.OVERLOAD})  # spec §7.5


class Judge:
    """The sink of a counted request's exchange, in front of its relay. `absorb`: whether a refusal may be held back and
    answered by another try; afterwards `absorbed` says whether it was, `refused` the kind of the refusal (None: there
    was none), and `stated_ms` how long the provider asked to wait."""

    absorbed = False
    refused: str | None = None
    stated_ms: int | None = None
    _exchange: Exchange | None = None
    _success: Success | None = None
    _head: ResponseHead | None = None  # of the answer to judge
    _answer: ResponseHead | None = None  # of the answer that is absorbed, or watched
    _length = 0
    _copied = 0  # bytes
    _whole = False
    _timer: asyncio.TimerHandle | None = None

    def __init__(
        self, relay: Relay, admission: Admission, slot: Slot, *, preset: str | None, absorb: bool, clock: Clock
    ) -> None:
        self._relay = relay
        self._admission = admission
        self._slot = slot
        self._preset = preset
        self._clock = clock
        self._holding = absorb
        self._copy: list[bytes] = []

    def attach(self, exchange: Exchange) -> None:
        """The exchange whose sink this is; another one if the request is sent again."""
        self._exchange = exchange

    # --- Sink ---

    def heard(self) -> None:
        self._relay.heard()

    def interim(self, head: ResponseHead) -> None:
        if self._relay.passes(head):
            self._holding = False  # spec §7.5: nothing was sent to its client
        self._relay.interim(head)

    def begin(self, head: ResponseHead, length: int, data: bytes) -> None:
        if head.status >= 400 and head.status in STATUSES:
            self._suspect(head, length, data)
            return
        if may_count_down(head.names):  # first, or the success of a probe would let everybody go into the empty bucket
            self._tell_what_is_left(head)
        exchange, reading = self._exchange, None
        assert exchange is not None
        exchange.sink = self._relay
        if head.status < 300 and length:
            reading = reading_of(head.values.get(b"content-type", b""), _codings(head))
        if reading is None:
            self._admission.answered(self._slot, success=head.status < 400)
        else:
            self._answer = head
            exchange.reader = self._success = Success(self, reading)
        self._relay.begin(head, length, data)

    def switch(self, head: ResponseHead) -> None:
        self._admission.answered(self._slot, success=True)
        self._pass_by()
        self._relay.switch(head)

    def data(self, data: bytes) -> None:
        if not self._holding:
            self._relay.data(data)
        self._copy_piece(data)

    def _copy_piece(self, data: bytes) -> None:
        self._copy.append(data)
        self._copied += len(data)
        if self._copied >= COPY_MAX:
            self.judge(absorb=False)  # it could not be handed over whole if there came no other try

    def end(self) -> None:
        self._whole = True
        self.judge()
        if not self.absorbed:
            self._relay.end()

    # --- Watcher ---

    def has_begun(self) -> None:
        self._admission.answered(self._slot, success=True)

    def is_refusal(self, frame: bytes) -> bool:
        head = self._answer
        return head is not None and self._classify(head, frame) != Kind.NONE

    def has_seen_enough(self) -> None:
        if self._exchange is not None:
            self._exchange.stop_reading()

    # --- judging ---

    def judge(self, *, absorb: bool = True) -> None:
        """Classify what is here and act on it, once; does nothing where there is nothing to judge."""
        head = self._head
        kind = self._tell()
        if head is None or kind is None:
            return
        self.absorbed = absorb and self._holding and kind in ABSORBED
        if not self.absorbed:
            self._let_pass(head)
            return
        self._answer = head
        if not self._whole and self._exchange is not None:
            self._exchange.close()

    def close(self) -> None:
        """The exchange has ended: a cut answer still says what its beginning says."""
        if self._head is not None:
            self._tell()
        if self._success is not None:
            self._success.close()
        self._exchange = self._success = None

    def _tell(self) -> str | None:
        """Tell the queue what the answer says; its kind, or None if that was done or nothing came."""
        head, self._head = self._head, None
        if self._timer is not None:
            self._timer.cancel()
        if head is None:
            return None
        kind = self._classify(head, self._body(head))
        if kind == Kind.NONE:
            self._admission.answered(self._slot, success=False)
        return kind

    def _classify(self, head: ResponseHead, body: bytes) -> str:
        """The kind of what `head` and `body` say; the queue hears of it, unless it is nothing."""
        now = self._clock.wall_ms() / 1000
        verdict = classify(head.status, text_fields(head.fields), body, preset=self._preset, now=now)
        self.stated_ms = verdict.retry_after_ms
        if verdict.kind != Kind.NONE:
            self.refused = str(verdict.kind)
            self._admission.rate_limited(
                self._slot, status=head.status, kind=verdict.kind, retry_after_ms=verdict.retry_after_ms
            )
        return verdict.kind

    def hand_over(self) -> None:
        """There is no other try: the client gets the answer that was absorbed."""
        self.absorbed = False
        if self._answer is not None:
            self._let_pass(self._answer)
        if self._whole:
            self._relay.end()
        else:
            self._relay.cut()

    # --- inside ---

    def _suspect(self, head: ResponseHead, length: int, data: bytes) -> None:
        self._relay.heard()
        self._head, self._length = head, length
        self._timer = asyncio.get_running_loop().call_later(HANGING_S, self.judge)
        if not self._holding:
            self._relay.begin(head, length, data)
        self._copy_piece(data)

    def _tell_what_is_left(self, head: ResponseHead) -> None:
        left = requests_left(text_fields(head.fields), now=self._clock.wall_ms() / 1000)
        if left is not None:
            self._admission.few_left(self._slot, left.requests, left.reset_ms / 1000)

    def _pass_by(self) -> None:
        if self._exchange is not None:
            self._exchange.sink = self._relay

    def _let_pass(self, head: ResponseHead) -> None:
        if self._holding:
            self._holding = False
            self._relay.begin(head, self._length, b"".join(self._copy))
        self._copy = []
        if not self._whole:
            self._pass_by()

    def _body(self, head: ResponseHead) -> bytes:
        raw = b"".join(self._copy)
        if self._length == CHUNKED:
            payload: list[bytes] = []
            try:
                Chunked(payload).feed(raw)
            except BadMessage:
                return b""
            raw = b"".join(payload)
        return decoded(raw[:COPY_MAX], _codings(head).decode("latin-1"))


def _codings(head: ResponseHead) -> bytes:
    """The Content-Encoding; several lines are one list (RFC 9110 5.3)."""
    return b",".join(head.all(b"content-encoding")) if b"content-encoding" in head.values else b""
