# One request upstream, and its answer as it comes.
#
# Rule 1: everything between the head and the end happens inside `data`, without a task switch: bytes in, bytes out.
# Rule 2: only a connection whose request and answer were whole, with nothing behind them, is used again.
# Rule 3: `ended` is resolved exactly once, with the error or None; afterwards the exchange touches nothing.

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol

from proxy.errors import BadMessage, BadResponse, StaleConnection, UpstreamCut, WireError
from proxy.wire.body import Body, Chunked, UntilClose, body_of
from proxy.wire.head import ResponseHead, connection_options, parse_response, response_length
from proxy.wire.head_reader import HeadReader
from proxy.wire.pool import Pool
from proxy.wire.upstream import UpstreamConnection

INTERIM_MAX = 10_000  # 1xx answers before the final one: one each second of a long think, and no flood
STALE_S = 1.0  # an end that was on its way comes within this; one that comes later may be a request that was executed


class Sink(Protocol):
    """Who takes the answer."""

    def heard(self) -> None:
        """Bytes of a head have arrived, whole or not."""

    def interim(self, head: ResponseHead) -> None:
        """A 1xx answer."""

    def begin(self, head: ResponseHead, length: int) -> None:
        """The final head, with the body's length as in wire.head."""

    def data(self, data: bytes) -> None:
        """Bytes of the body as they came."""

    def end(self) -> None:
        """The body is whole."""

    def switch(self, head: ResponseHead) -> None:
        """101: from here on the connection carries another protocol, and `data` its bytes."""


class Exchange:
    """One request on one connection. Await `ended`; call `close` to give up."""

    def __init__(
        self, pool: Pool, connection: UpstreamConnection, method: bytes, sink: Sink, *, upgrade: bool = False
    ) -> None:
        self.connection = connection
        self.sink = sink
        self.head: ResponseHead | None = None
        self._loop = asyncio.get_running_loop()
        self._began_at = self._loop.time()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.request_sent = False  # the whole request was handed to the connection
        self.on_writable: Callable[[bool], None] | None = None
        self.on_switch: Callable[[], None] | None = None
        self.on_half_closed: Callable[[], None] | None = None  # a tunnel's upstream will say no more
        self.switched = False
        self._pool = pool
        self._method = method
        self._upgrade = upgrade
        self._heads = HeadReader()
        self._body: Body | None = None
        self._tapped = False
        self._heard = False  # at least one byte of an answer
        self._interims = 0
        connection.user = self

    def __repr__(self) -> str:
        state = "ended" if self.ended.done() else "answering" if self.head else "asking"
        return f"<Exchange {self._method.decode('latin-1')} {state}>"

    @property
    def cut_looks_whole(self) -> bool:
        """Whether an end here would pass for the answer's, although its framing has an end of its own."""
        return isinstance(self._body, Chunked) and self._body.looks_whole

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

    def tap(self) -> list[bytes] | None:
        """For a sink that reads along, in its `begin`: where the payload of a chunked body lies, without its framing,
        whenever `data` is called. The sink empties it. None: what `data` brings is the payload."""
        self._tapped = isinstance(self._body, Chunked)
        return self._body.decoded if isinstance(self._body, Chunked) else None

    def untap(self) -> None:
        """The payload is read no more."""
        self._tapped = False
        if isinstance(self._body, Chunked):
            self._body.decoded = None

    # --- the connection's side ---

    def data(self, data: bytes) -> None:
        if self._body is not None:
            self._read_body(self._body, data)
            return
        self._heard = True
        self.sink.heard()
        self._heads.buffer += data
        try:
            self._read_heads()
        except BadMessage as error:
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
            if not self._heard and self.connection.uses and self._loop.time() - self._began_at < STALE_S:
                self._finish(StaleConnection("a kept connection was closed before it answered"))
            else:
                self._finish(BadResponse("the connection ended before an answer"))
        elif isinstance(self._body, UntilClose) and (error is None or self._ends_by_itself(error)):
            self.sink.end()
            self._finish(None)
        else:
            self._finish(UpstreamCut("the connection ended in the middle of the answer"))

    # --- inside ---

    def _ends_by_itself(self, error: Exception) -> bool:
        """A tunnel's protocol has its own end; many that speak it leave TLS without a word."""
        return self.switched and isinstance(error, ssl.SSLEOFError)

    def _read_heads(self) -> None:
        """Read 1xx heads and the final one."""
        while self._body is None and (raw := self._heads.take()) is not None:
            head = parse_response(raw)
            if head.status == 101:
                self._switch(head)
            elif head.status >= 200:
                self._begin(head)
            else:
                response_length(head, self._method)
                self._interims += 1
                if self._interims > INTERIM_MAX:
                    raise BadMessage(f"more than {INTERIM_MAX} interim answers")
                self.sink.interim(head)

    def _begin(self, head: ResponseHead) -> None:
        length = response_length(head, self._method)
        body, data = body_of(length), self._heads.rest()
        if isinstance(body, Chunked):
            body.decoded = []  # for who taps it in `begin`
        used = body.feed(data)  # before anything is passed on: a body that begins badly is a 502 yet
        self.head, self._body = head, body
        self.sink.begin(head, length)
        if not self._tapped:
            self.untap()
        self._pass_on(body, data, used)

    def _switch(self, head: ResponseHead) -> None:
        if not self._upgrade:
            raise BadMessage("101 to a request that asked for no upgrade")
        self.head, self._body, self.switched = head, UntilClose(), True
        self.sink.switch(head)
        if self.on_switch is not None:
            self.on_switch()
        self._read_body(self._body, self._heads.rest())

    def _read_body(self, body: Body, data: bytes) -> None:
        try:
            used = body.feed(data)
        except BadMessage as error:
            if error.sound:
                self.sink.data(data[: error.sound])
            self._fail(UpstreamCut(str(error)))
        else:
            self._pass_on(body, data, used)

    def _pass_on(self, body: Body, data: bytes, used: int) -> None:
        if used:
            self.sink.data(data if used == len(data) else data[:used])
        if body.done and not self.ended.done():
            self._complete(surplus=used < len(data))

    def _complete(self, *, surplus: bool) -> None:
        connection, head = self.connection, self.head
        assert head is not None
        connection.user = None
        closes = head.minor == 0 or (b"connection" in head.names and b"close" in connection_options(head))
        if surplus or closes or not self.request_sent or connection.unsent():
            connection.close()
        else:
            connection.resume()  # the client may have been slower; whoever is next must hear it
            self._pool.give_back(connection)
        self.sink.end()
        self._finish(None)

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
