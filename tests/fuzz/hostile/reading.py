# All messages of one side of a connection, as the proxy's parsers read them: the same calls as in wire.client and
# wire.exchange, without a connection.
#
# Rule: the one place here that knows how the parsers are called.

from collections.abc import Iterable
from dataclasses import dataclass, field

from proxy.errors import BadMessage
from proxy.wire.body import Body, Chunked, body_of
from proxy.wire.head import (
    UNTIL_CLOSE,
    RequestHead,
    ResponseHead,
    connection_options,
    parse_request,
    parse_response,
    request_length,
    response_length,
)
from proxy.wire.head_reader import HeadReader


@dataclass(slots=True, kw_only=True)
class Message:
    """`payload` is the body without its framing; `whole` once its end was there."""

    head: RequestHead | ResponseHead
    length: int
    payload: bytes = b""
    whole: bool = False


@dataclass(slots=True, kw_only=True)
class Reading:
    """What was read. `kept` is the most that was kept of a head that was not whole."""

    messages: list[Message] = field(default_factory=list)
    refused: bool = False
    switched: bool = False  # what follows an upgrade is no HTTP
    rest: bytes = b""
    kept: int = 0


def requests(pieces: Iterable[bytes]) -> Reading:
    """What a client's bytes mean."""
    return _Reader(None).read(pieces)


def answers(pieces: Iterable[bytes], method: bytes) -> Reading:
    """What an upstream's bytes mean, up to the final answer to one request of `method`; the rest is the surplus."""
    return _Reader(method).read(pieces)


class _Reader:
    def __init__(self, method: bytes | None) -> None:
        self._method = method
        self._heads = HeadReader()
        self._body: Body | None = None
        self._decoded: list[bytes] = []
        self._found = Reading()

    def read(self, pieces: Iterable[bytes]) -> Reading:
        found = self._found
        try:
            for piece in pieces:
                self._feed(piece)
        except BadMessage:
            found.refused = True
        if self._body is not None:
            self._end_message(found.messages[-1].length == UNTIL_CLOSE)
        found.rest = b"" if found.refused else self._heads.rest()
        return found

    def _feed(self, piece: bytes) -> None:
        if self._body is not None:
            piece = self._feed_body(self._body, piece)
        self._heads.buffer += piece
        while self._body is None and not self._over() and self._take_head():
            body = self._body
            if body is not None:
                self._heads.buffer += self._feed_body(body, self._heads.rest())
        self._found.kept = max(self._found.kept, len(self._heads.buffer) * (not self._over()))

    def _take_head(self) -> bool:
        if self._method is None:
            self._heads.skip_empty_lines()
        raw = self._heads.take()
        if raw is None:
            return False
        if self._method is None:
            head: RequestHead | ResponseHead = parse_request(raw)
            length = request_length(head)
        else:
            head = parse_response(raw)
            length = response_length(head, self._method)
        self._found.messages.append(Message(head=head, length=length))
        self._decoded = []
        if isinstance(head, ResponseHead) and head.status == 101:
            self._found.switched = True
        elif isinstance(head, RequestHead) or head.status >= 200:
            self._body = body_of(length)
            if isinstance(self._body, Chunked):
                self._body.decoded = self._decoded
        return True

    def _feed_body(self, body: Body, piece: bytes) -> bytes:
        used = body.feed(piece)
        if not isinstance(body, Chunked):
            self._decoded.append(piece[:used])
        if body.done:
            self._end_message(True)
        return piece[used:]

    def _end_message(self, whole: bool) -> None:
        message = self._found.messages[-1]
        message.payload, message.whole = b"".join(self._decoded), whole
        self._body = None

    def _over(self) -> bool:
        """Whether nothing of this reader's kind follows."""
        found = self._found
        if not found.messages or self._body is not None:
            return False
        head = found.messages[-1].head
        if isinstance(head, ResponseHead):
            return head.status >= 200 or found.switched
        return head.minor == 0 or b"close" in connection_options(head)
