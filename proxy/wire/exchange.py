# One request upstream, and its answer as it comes.
#
# Rule 1: everything between the head and the end happens without a task switch: bytes in, bytes out. What comes in one
#         piece (a head, a short answer, a chunk) is passed on in one, past all that is for parts.
# Rule 2: only a connection whose request and answer were whole, with nothing behind them, is used again.
# Rule 3: `ended` is resolved exactly once, with the error or None; afterwards the exchange touches nothing.

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol

from proxy.errors import BadMessage, BadResponse, StaleConnection, UpstreamCut, WireError
from proxy.wire.body import SIZE_LINE_MAX, Body, Chunked, Counted, UntilClose, body_of, chunk_size
from proxy.wire.head import ResponseHead, connection_options, parse_response, response_length
from proxy.wire.head_reader import HeadReader, whole_head
from proxy.wire.pool import Pool
from proxy.wire.upstream import UpstreamConnection

INTERIM_MAX = 10_000  # 1xx answers before the final one: one each second of a long think, and no flood
STALE_S = 1.0  # an end that was on its way comes within this; one that comes later may be a request that was executed

_NOTHING_MORE = Counted(0)


class Sink(Protocol):
    """Who takes the answer."""

    def heard(self) -> None:
        """Bytes have arrived that are no final head yet."""

    def interim(self, head: ResponseHead) -> None:
        """A 1xx answer."""

    def begin(self, head: ResponseHead, length: int, data: bytes) -> None:
        """The final head, with the body's length as in wire.head, and what of the body came with it."""

    def data(self, data: bytes) -> None:
        """More bytes of the body, as they came."""

    def end(self) -> None:
        """The body is whole."""

    def switch(self, head: ResponseHead) -> None:
        """101: from here on the connection carries another protocol, and `data` its bytes."""


class Reader(Protocol):
    """Who reads along what an answer says: the payload of its body, without the chunks, after it was passed on."""

    def payload(self, data: bytes) -> None:
        """What one piece of the body held."""

    def chunk(self, data: bytes, start: int, end: int) -> None:
        """The same, of a piece that is a whole chunk: what lies between."""

    def end(self, data: bytes) -> None:
        """What the last one held."""

    def finished(self) -> bool:
        """Whether the answer's final event has come."""


class Exchange:
    """One request on one connection. Await `ended`; call `close` to give up. The sink may set `reader` in its `begin`,
    and another one as `sink`."""

    head: ResponseHead | None = None
    request_sent = False  # the whole request was handed to the connection
    switched = False
    on_writable: Callable[[bool], None] | None = None
    on_switch: Callable[[], None] | None = None
    on_half_closed: Callable[[], None] | None = None  # a tunnel's upstream will say no more
    _heads: HeadReader | None = None  # since something has come that is no whole final head
    _interims = 0
    _between_chunks = False  # of the body

    def __init__(
        self, pool: Pool, connection: UpstreamConnection, method: bytes, sink: Sink, *, upgrade: bool = False
    ) -> None:
        self.connection = connection
        self.sink = sink
        self.reader: Reader | None = None
        self._body: Body | None = None
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._began_at = loop.time()
        self._pool = pool
        self._method = method
        self._upgrade = upgrade
        connection.user = self

    def __repr__(self) -> str:
        state = "ended" if self.ended.done() else "answering" if self.head else "asking"
        return f"<Exchange {self._method.decode('latin-1')} {state}>"

    @property
    def cut_looks_whole(self) -> bool:
        """Whether an end here would pass for the answer's, although its framing has an end of its own."""
        return isinstance(self._body, Chunked) and self._body.looks_whole

    def finished(self) -> bool:
        """Whether who reads along has seen the answer's final event: a client that leaves now has all it wanted."""
        return self.reader is not None and self.reader.finished()

    def send(self, data: bytes) -> None:
        """Bytes of the request."""
        self.connection.write(data)

    def close(self, error: WireError | None = None) -> None:
        """Give up: the upstream's connection is closed before this returns, and `ended` gets `error`. Nothing happens
        to a connection whose exchange has ended."""
        if self.connection.user is self:  # `ended` may be cancelled, with its task, while the exchange goes on
            self._fail(error)
        elif self.ended.done() and not self.ended.cancelled():
            self.ended.exception()  # seen, even if nobody awaits it any more

    def stop_reading(self) -> None:
        """Nobody reads along any more."""
        self.reader = None
        if isinstance(self._body, Chunked):
            self._body.decoded = None

    # --- the connection's side ---

    def data(self, data: bytes) -> None:
        if self._between_chunks:
            start, end = data.find(b"\r\n", 0, SIZE_LINE_MAX) + 2, len(data) - 2
            if 2 < start < end == start + chunk_size(data[: start - 2]) and data[-2:] == b"\r\n":
                self.sink.data(data)  # nearly every piece of a stream; the body need not hear of it
                if self.reader is not None:
                    self.reader.chunk(data, start, end)
                return
        if self._body is not None:
            self._read_body(self._body, data)
            return
        try:
            self._read_heads(data)
        except BadMessage as error:
            self.sink.heard()
            self._fail(BadResponse(str(error)))

    def writable(self, ready: bool) -> None:
        if self.on_writable is not None:
            self.on_writable(ready)

    def half_closed(self) -> bool:
        if self.switched and self.on_half_closed is not None:
            self.on_half_closed()
        return self.switched

    def lost(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if self.head is None:
            age_s = asyncio.get_running_loop().time() - self._began_at
            if self._heads is None and self.connection.uses and age_s < STALE_S:
                self._finish(StaleConnection("a kept connection was closed before it answered"))
            else:
                self._finish(BadResponse("the connection ended before an answer"))
        elif isinstance(self._body, UntilClose) and (error is None or self._ends_by_itself(error)):
            if self.reader is not None:
                self.reader.end(b"")
            self.sink.end()
            self._finish(None)
        else:
            self._finish(UpstreamCut("the connection ended in the middle of the answer"))

    # --- inside ---

    def _ends_by_itself(self, error: Exception) -> bool:
        """A tunnel's protocol has its own end; many that speak it leave TLS without a word."""
        return self.switched and isinstance(error, ssl.SSLEOFError)

    def _read_heads(self, data: bytes) -> None:
        """Read 1xx heads and the final one, which nearly always comes alone and whole."""
        if self._heads is None:
            whole = whole_head(data)
            if whole is not None:
                head = parse_response(whole[0])
                if head.status >= 200:
                    self._begin(head, whole[1])
                    return
            self._heads = HeadReader()
        self.sink.heard()
        self._heads.buffer += data
        while self._body is None and (raw := self._heads.take()) is not None:
            head = parse_response(raw)
            if head.status == 101:
                self._switch(head, self._heads.rest())
            elif head.status >= 200:
                self._begin(head, self._heads.rest())
                return
            else:
                response_length(head, self._method)
                self._interims += 1
                if self._interims > INTERIM_MAX:
                    raise BadMessage(f"more than {INTERIM_MAX} interim answers")
                self.sink.interim(head)

    def _begin(self, head: ResponseHead, data: bytes) -> None:
        """The final head, and what came behind it."""
        length = response_length(head, self._method)
        if 0 <= length <= len(data):  # nothing of the body is to come
            self.head, self._body = head, _NOTHING_MORE
            whole = data[:length]
            self.sink.begin(head, length, whole)
            if self.reader is not None:
                self.reader.end(whole)
            self._complete(surplus=length < len(data))
            return
        body = body_of(length)
        if isinstance(body, Chunked):
            body.decoded = []  # for whoever reads along from `begin` on
        used = body.feed(data)  # before anything is passed on: a body that begins badly is a 502 yet
        self.head, self._body = head, body
        self.sink.begin(head, length, data[:used])
        if self.reader is None:
            self.stop_reading()
        self._go_on(body, data, used)

    def _switch(self, head: ResponseHead, data: bytes) -> None:
        if not self._upgrade:
            raise BadMessage("101 to a request that asked for no upgrade")
        self.head, self._body, self.switched = head, UntilClose(), True
        self.sink.switch(head)
        if self.on_switch is not None:
            self.on_switch()
        self._read_body(self._body, data)

    def _read_body(self, body: Body, data: bytes) -> None:
        try:
            used = body.feed(data)
        except BadMessage as error:
            if error.sound:
                self.sink.data(data[: error.sound])
                self._read_along(body, data[: error.sound])
            self._fail(UpstreamCut(str(error)))
            return
        if used:
            self.sink.data(data[:used])
        self._go_on(body, data, used)

    def _go_on(self, body: Body, data: bytes, used: int) -> None:
        """What `body` has taken of `data` is passed on."""
        self._between_chunks = body.between_chunks
        if used:
            self._read_along(body, data[:used])
        if body.done:
            self._complete(surplus=used < len(data))

    def _read_along(self, body: Body, piece: bytes) -> None:
        if self.reader is None:
            return
        if isinstance(body, Chunked) and body.decoded is not None:
            piece = b"".join(body.decoded)
            body.decoded.clear()
        if body.done:
            self.reader.end(piece)
        else:
            self.reader.payload(piece)

    def _complete(self, *, surplus: bool) -> None:
        connection, head = self.connection, self.head
        if head is None or self.ended.done():  # the sink has had enough
            return
        connection.user = None
        closes = head.minor == 0 or (b"connection" in head.values and b"close" in connection_options(head))
        if surplus or closes or not self.request_sent or connection.unsent():
            connection.close()
        else:
            connection.resume()  # the client may have been slower; whoever is next must hear it
            self._pool.give_back(connection)
        self.sink.end()
        if not self.ended.done():
            self.ended.set_result(None)

    def _fail(self, error: WireError | None) -> None:
        self.connection.user = None
        self.connection.close()
        self._finish(error)

    def _finish(self, error: WireError | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)
