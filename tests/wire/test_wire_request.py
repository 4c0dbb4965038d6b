# One request's body in its own hands: read whole or streamed, held up and let go, and asked for; without a socket.

import asyncio

import pytest

from proxy.errors import OwnAnswer
from proxy.wire.client import ClientConnection
from proxy.wire.head import parse_request, request_length
from proxy.wire.request import CONTINUE, UNTAKEN_MAX, Request

pytestmark = pytest.mark.asyncio(loop_factories=["asyncio"])


class Transport(asyncio.Transport):
    """Remembers what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = True
        self.written = b""

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        pass


class Nobody:
    """A listener that serves a request by remembering it."""

    draining = False

    def __init__(self) -> None:
        self.connections: set[ClientConnection] = set()
        self.service = self
        self.hangups = None  # its transports have no socket

    def crowded(self) -> None:
        return None

    def header_timeout_s(self) -> float:
        return 30.0

    async def serve(self, request: Request) -> None:
        await asyncio.Event().wait()


async def a_request(*lines: bytes, whole: bytes = b"") -> tuple[Request, Transport]:
    connection = ClientConnection(Nobody(), asyncio.get_running_loop())  # type: ignore[arg-type]
    transport = Transport()
    connection.connection_made(transport)
    head = parse_request(b"\r\n".join([b"POST / HTTP/1.1", b"Host: a", *lines]) + b"\r\n\r\n")
    request = Request(connection, head, request_length(head))
    if whole:
        request.deliver(whole)
    return request, transport


async def test_sink_that_is_full_at_once_holds_the_client():
    """What was kept before is more than the other side takes: not one byte more is read until it says so."""
    request, transport = await a_request(b"Content-Length: 1000000", whole=b"x" * (UNTAKEN_MAX + 1))
    assert not transport.reading
    request.stream_to(lambda piece: request.hold())
    assert not transport.reading
    request.go_on()
    assert transport.reading


async def test_untaken_body_is_held_and_reading_goes_on_when_it_is_taken():
    request, transport = await a_request(b"Content-Length: 1000000", whole=b"x" * UNTAKEN_MAX)
    assert transport.reading
    request.deliver(b"x")
    assert not transport.reading
    taken: list[bytes] = []
    request.stream_to(taken.append)
    assert transport.reading
    request.deliver(b"y" * (UNTAKEN_MAX + 1))
    assert transport.reading, "it is taken as it comes"
    assert b"".join(taken) == b"x" * (UNTAKEN_MAX + 1) + b"y" * (UNTAKEN_MAX + 1)


async def test_held_twice_is_held_once():
    request, transport = await a_request(b"Content-Length: 10")
    request.hold()
    request.hold()
    request.go_on()
    assert transport.reading


async def test_whole_body_is_not_held():
    request, transport = await a_request(b"Content-Length: 1", whole=b"x")
    request.hold()
    assert transport.reading


async def test_body_is_accounted_piece_by_piece_those_that_are_here_first():
    request, _ = await a_request(b"Content-Length: 10", whole=b"0123")
    sizes: list[int] = []
    reading = asyncio.create_task(request.read_body(sizes.append))
    await asyncio.sleep(0)
    for piece in (b"456", b"789"):
        request.deliver(piece)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    await reading
    assert sizes == [4, 3, 3]
    assert request.pieces == [b"0123", b"456", b"789"]


async def test_body_that_breaks_while_it_is_read_is_a_bad_request():
    request, _ = await a_request(b"Transfer-Encoding: chunked")
    reading = asyncio.create_task(request.read_body(lambda size: None))
    await asyncio.sleep(0)
    request.deliver(b"no size\r\n")
    with pytest.raises(OwnAnswer) as error:
        await reading
    assert error.value.code == "bad_request"
    assert not request.keep


async def test_body_that_is_too_large_is_refused_by_whoever_counts():
    request, _ = await a_request(b"Content-Length: 10", whole=b"0123")

    def refuse(size: int) -> None:
        raise OwnAnswer("body_too_large", "too large")

    with pytest.raises(OwnAnswer):
        await request.read_body(refuse)


@pytest.mark.parametrize("taking", ["read", "stream"])
async def test_expected_continue_is_written_once_and_only_before_the_body(taking):
    for whole, written in ((b"", CONTINUE), (b"0", b"")):
        request, transport = await a_request(b"Content-Length: 3", b"Expect: 100-Continue", whole=whole)
        assert transport.written == b""
        if taking == "read":
            reading = asyncio.create_task(request.read_body(lambda size: None))
            await asyncio.sleep(0)
            assert transport.written == written
            request.deliver(b"01" if whole else b"012")
            await reading
        else:
            request.stream_to(lambda piece: None)
        assert transport.written == written


async def test_other_expectations_are_not_answered():
    request, transport = await a_request(b"Content-Length: 3", b"Expect: something")
    request.stream_to(lambda piece: None)
    assert transport.written == b""


@pytest.mark.parametrize(
    ("lines", "keep"),
    [
        ([], True),
        ([b"Connection: close"], False),
        ([b"Connection: keep-alive, Close"], False),
        ([b"Connection: x"], True),
    ],
)
async def test_connection_is_kept_unless_the_client_closes_it(lines, keep):
    request, _ = await a_request(*lines)
    assert request.keep is keep
    assert request.closes() is not keep


async def test_repr_shows_no_target():
    request, _ = await a_request(b"Content-Length: 3", whole=b"01")
    assert repr(request) == "<Request POST 2 bytes>"
