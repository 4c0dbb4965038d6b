# What one turn of the event loop brings leaves together at its end, in order, and never after what came later.

import asyncio

import pytest
from test_wire_exchange import HEAD, LAST, Answered, chunk

from proxy.errors import UpstreamCut

pytestmark = pytest.mark.asyncio(loop_factories=["asyncio"])


async def test_chunk_leaves_at_the_end_of_the_turn_and_is_read_then() -> None:
    it = Answered(HEAD)
    it.exchange.data(chunk(b"a"))
    assert (it.passed_on, it.read) == (b"", b"")
    await asyncio.sleep(0)
    assert (it.passed_on, it.read) == (chunk(b"a"), b"a")


@pytest.mark.parametrize("later", [LAST, chunk(b"b") + chunk(b"c"), b"1\r\nb"])
async def test_what_comes_later_in_the_turn_comes_after_it(later: bytes) -> None:
    it = Answered(HEAD)
    it.exchange.data(chunk(b"a"))
    it.exchange.data(later)
    await asyncio.sleep(0)
    assert it.passed_on == chunk(b"a") + later


async def test_end_of_the_connection_comes_after_it() -> None:
    it = Answered(HEAD)
    it.exchange.data(chunk(b"a"))
    it.exchange.lost(None)
    assert it.passed_on == chunk(b"a")
    assert isinstance(it.exchange.ended.exception(), UpstreamCut)


async def test_giving_up_comes_after_it() -> None:
    it = Answered(HEAD)
    it.exchange.data(chunk(b"a"))
    it.exchange.close()
    assert (it.passed_on, it.read) == (chunk(b"a"), b"a")


@pytest.mark.parametrize("where", ["sink", "reader"])
async def test_fault_of_ours_breaks_one_answer_off_and_no_other(where: str) -> None:
    """The bytes of the broken one that could be sent were, and its client sees a cut."""
    told: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    one, other = Answered(HEAD), Answered(HEAD)
    one.exchange._outbox = other.exchange._outbox

    def fail(data: bytes) -> None:
        raise ZeroDivisionError

    if where == "sink":
        one.taker.data = fail  # type: ignore[method-assign]
    else:
        one.exchange.reader.payload = fail  # type: ignore[union-attr,method-assign]
    one.exchange.data(chunk(b"a"))
    other.exchange.data(chunk(b"b"))
    await asyncio.sleep(0)
    assert (other.passed_on, other.read) == (chunk(b"b"), b"b")
    assert isinstance(one.exchange.ended.exception(), UpstreamCut)
    assert one.connection.closed
    assert [type(context["exception"]) for context in told] == [ZeroDivisionError]


async def test_repr_is_read_by_people() -> None:
    it = Answered(HEAD)
    it.exchange.data(chunk(b"a"))
    assert repr(it.pool.outbox) == "<Outbox 1 chunks>"
