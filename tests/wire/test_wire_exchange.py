# An answer in its exchange's hands, without a socket: whatever the pieces in which it comes, the sink gets its bytes as
# they came, and whoever reads along gets the payload.

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import UpstreamCut
from proxy.wire.exchange import Exchange
from proxy.wire.head import ResponseHead
from proxy.wire.upstream import UpstreamConnection

pytestmark = [pytest.mark.plain, pytest.mark.asyncio(loop_factories=["asyncio"])]

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


class Connection:
    """An upstream's, which takes everything."""

    uses = 0

    def __init__(self) -> None:
        self.user: Exchange | None = None
        self.closed = False

    def unsent(self) -> int:
        return 0

    def resume(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class Pool:
    def __init__(self) -> None:
        self.kept: list[UpstreamConnection] = []

    def give_back(self, connection: UpstreamConnection) -> None:
        self.kept.append(connection)


class Taker:
    """Sink and reader: `pieces` as they were passed on, `read` what they say."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.read: list[bytes] = []
        self.ends = 0
        self.exchange: Exchange | None = None

    def heard(self) -> None:
        pass

    def interim(self, head: ResponseHead) -> None:
        raise AssertionError

    def begin(self, head: ResponseHead, length: int, data: bytes) -> None:
        assert self.exchange is not None
        self.exchange.reader = self.Reader(self)
        self.pieces.append(data)

    def data(self, data: bytes) -> None:
        self.pieces.append(data)

    def end(self) -> None:
        self.ends += 1

    def switch(self, head: ResponseHead) -> None:
        raise AssertionError

    class Reader:
        def __init__(self, taker: "Taker") -> None:
            self._taker = taker

        def payload(self, data: bytes) -> None:
            assert sum(map(len, self._taker.pieces)) >= len(data), "the bytes go first"
            self._taker.read.append(data)

        def chunk(self, data: bytes, start: int, end: int) -> None:
            self.payload(data[start:end])

        def end(self, data: bytes) -> None:
            self._taker.read.append(data)
            self._taker.ends += 1


class Answered:
    """An exchange that has begun, or ended: its answer came in `pieces`."""

    def __init__(self, *pieces: bytes) -> None:
        self.pool, self.connection, self.taker = Pool(), Connection(), Taker()
        exchange = Exchange(self.pool, self.connection, b"POST", self.taker)  # type: ignore[arg-type]
        self.exchange = self.taker.exchange = exchange
        exchange.request_sent = True
        for piece in pieces:
            if self.connection.user is not None:
                exchange.data(piece)
        self.error = exchange.ended.exception() if exchange.ended.done() else None

    @property
    def passed_on(self) -> bytes:
        return b"".join(self.taker.pieces)

    @property
    def read(self) -> bytes:
        return b"".join(self.taker.read)


def chunk(payload: bytes, size: bytes = b"%x") -> bytes:
    return size % len(payload) + b"\r\n" + payload + b"\r\n"


PAYLOADS = st.lists(st.sampled_from([b"a", b"\r\n", b"\r", b"x\r\n\r\n", b"0\r\n\r\n", b"3\r\nabc\r\n", b"y" * 300]))
SIZES = st.sampled_from([b"%x", b"%X", b"00%x", b"%x;a=b", b"0000000%x"])


@given(PAYLOADS, SIZES, st.data())
async def test_chunked_answer_in_whatever_pieces_is_passed_on_and_read(
    payloads: list[bytes], size: bytes, data
) -> None:
    chunks = [chunk(payload, size) for payload in payloads]
    whole = b"".join([*chunks, LAST])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    anyhow = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    for pieces in ([*chunks, LAST], [whole], anyhow):
        it = Answered(HEAD, *filter(None, pieces))
        assert (it.passed_on, it.read, it.taker.ends) == (whole, b"".join(payloads), 2)
        assert it.exchange.ended.done()
        assert it.error is None
        assert it.pool.kept == [it.connection]


@pytest.mark.parametrize(
    ("piece", "passed"),
    [
        (b"4\r\nabc\r\n\r\n", b""),  # too long by two, and again a CRLF at its end
        (b"2\r\nabc\r\n", b""),
        (b"3\r\nabcd\n", b""),
        (b"+3\r\nabc\r\n", b""),
        (b"0x3\r\nabc\r\n", b""),
        (b"1_0\r\n" + b"a" * 16 + b"\r\n", b""),
        (b" 3\r\nabc\r\n", b""),
        (b"3\nabc\r\n", b""),
        (chunk(b"a") + b"2\r\nabc\r\n", chunk(b"a")),
    ],
)
async def test_piece_that_looks_like_a_chunk_and_is_none_cuts_the_answer(piece: bytes, passed: bytes) -> None:
    begun = chunk(b"begun")
    it = Answered(HEAD, begun, piece, b"x")
    assert it.connection.closed
    assert isinstance(it.error, UpstreamCut)
    assert it.passed_on.startswith(begun + passed)
    assert it.taker.ends == 0


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
async def test_chunk_that_is_not_whole_yet_is_passed_on_at_once(size: int) -> None:
    whole = chunk(b"abc\r\n")
    it = Answered(HEAD, whole[:size])
    assert it.passed_on == whole[:size]


async def test_last_chunk_alone_ends_the_answer() -> None:
    it = Answered(HEAD, chunk(b"a"), LAST)
    assert it.exchange.ended.done()
    assert it.error is None


@pytest.mark.parametrize("behind", [b"", b"HTTP/1.1 200 OK\r\n"])
async def test_answer_that_comes_whole_is_passed_on_in_one_piece(behind: bytes) -> None:
    it = Answered(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" + behind)
    assert (it.taker.pieces, it.taker.read, it.taker.ends) == ([b"{}"], [b"{}"], 2)
    assert it.connection.closed is bool(behind)
    assert it.pool.kept == ([] if behind else [it.connection])


async def test_nothing_is_collected_for_nobody() -> None:
    it = Answered(HEAD, chunk(b"a"))
    it.exchange.stop_reading()
    body = it.exchange._body
    it.exchange.data(chunk(b"b") + chunk(b"c"))
    it.exchange.data(chunk(b"d"))
    assert it.taker.read == [b"a"]
    assert body is not None
    assert body.decoded is None  # type: ignore[attr-defined]
