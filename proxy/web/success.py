# A successful answer on its way to the client, watched for an error inside: a limit may show after the 200 has gone out
# (spec §7.1).
#
# Rule 1: the bytes go first, as they came; what is read is a copy of the payload, and nothing waits for it.
# Rule 2: one answer is one refusal: after the first, or when there is nothing more to find, its bytes pass by.
# Rule 3: the answer has begun without a refusal when its first piece has come that holds none. The head proves nothing:
#         some servers send it before they look.
# Rule 4: looking at what may be an error costs as much as many pieces that cannot. An answer full of it has nothing to
#         tell, and shall not hold up the others.

from collections.abc import Callable

from proxy.ratelimits.frames import NONE, Frames, Framing
from proxy.wire.exchange import Exchange
from proxy.wire.head import ResponseHead
from proxy.wire.relay import Relay

LOOKED_AT_MAX = 1024 * 1024  # bytes of one answer's frames that may be errors and are none
_LEAST_COST = 32 * 1024  # bytes that even the shortest frame counts for

Tell = Callable[[bytes], bool]  # act upon what a frame says; whether it was a refusal


class Success:
    """The sink of an exchange, in front of its relay, from the answer's `begin` on."""

    def __init__(
        self, exchange: Exchange, relay: Relay, framing: Framing, *, tell: Tell, begun: Callable[[], None]
    ) -> None:
        self._exchange = exchange
        self._relay = relay
        self._framing: Framing | None = framing
        self._feed: Callable[[bytes], Frames | None] = self._feed_first
        self._tell = tell
        self._begun: Callable[[], None] | None = begun
        self._heard = False
        self._budget = LOOKED_AT_MAX
        self._payload = exchange.tap()

    # --- Sink ---

    def data(self, data: bytes) -> None:
        self._relay.data(data)
        payload = self._payload
        if payload is not None:  # chunked: the exchange has taken the chunks off
            data = b"".join(payload)
            payload.clear()
        found = self._feed(data)
        if found is not NONE:
            self._look(found)

    def end(self) -> None:
        self._relay.end()
        self.close()

    # The head has passed when this becomes the sink.

    def heard(self) -> None: ...

    def interim(self, head: ResponseHead) -> None: ...

    def begin(self, head: ResponseHead, length: int) -> None: ...

    def switch(self, head: ResponseHead) -> None: ...

    # --- watching ---

    def close(self) -> None:
        """The answer has ended: what is left of it may be an error too."""
        framing = self._framing
        if framing is not None and not self._refuses(framing.end()):
            self._begin()
            self._stop()

    def _feed_first(self, data: bytes) -> Frames | None:
        assert self._framing is not None
        found = self._framing.feed(data)
        if found is NONE and not self._heard and not data.endswith(b"\n"):
            self._heard = True  # it may be the first half of a refusal
            return NONE
        self._feed = self._framing.feed
        if not found:
            self._begin()
        return found

    def _look(self, found: Frames | None) -> None:
        if found is None:
            self._stop()
        elif not self._refuses(found):
            self._begin()

    def _refuses(self, found: Frames) -> bool:
        """Whether one of these frames is a refusal; it is told, and nothing else is looked for."""
        for frame in found:
            self._budget -= max(len(frame), _LEAST_COST)
            if self._tell(frame):
                self._stop()
                return True
            if self._budget <= 0:
                self._stop()
                return False
        return False

    def _begin(self) -> None:
        begun, self._begun = self._begun, None
        if begun is not None:
            begun()

    def _stop(self) -> None:
        self._framing = None
        self._feed = _nothing  # with the framing goes what it holds
        self._exchange.untap()
        self._exchange.sink = self._relay


def _nothing(_: bytes) -> Frames:
    return NONE
