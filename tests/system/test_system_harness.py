# The harness against itself: a raw client talking straight to a raw upstream. What cannot fail here cannot tell
# anything about the proxy either.

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from blackbox.call import Call
from blackbox.client import CLEAN, CUT, RESET, RawClient
from blackbox.upstream import FakeUpstream, Usage
from blackbox.waiting import never, until


@pytest_asyncio.fixture(loop_scope="session")
async def upstream() -> AsyncIterator[FakeUpstream]:
    upstream = FakeUpstream()
    await upstream.start()
    yield upstream
    await upstream.stop()


async def ask(upstream: FakeUpstream, name: str = "a", body: bytes = b"{}") -> RawClient:
    client = await RawClient.connect(("127.0.0.1", upstream.port))
    await client.request("POST", "/v1/x", [("x-name", name)], body)
    return client


async def test_upstream_keeps_every_byte_and_answers_what_it_is_told(upstream: FakeUpstream) -> None:
    client = await ask(upstream, body=b"x" * 300_000)
    call = await upstream.call()
    assert call.head.raw == b"POST /v1/x HTTP/1.1\r\nHost: proxy.test\r\nx-name: a\r\nContent-Length: 300000\r\n\r\n"
    assert call.body == b"x" * 300_000
    await call.answer(418, b"tea", (("X-A", "1"), ("X-A", "2")))
    answer = await client.answer()
    assert (answer.status, answer.body, answer.head.all("x-a")) == (418, b"tea", ["1", "2"])
    client.close()


async def test_streamed_answer_is_read_event_by_event_on_a_connection_that_stays(upstream: FakeUpstream) -> None:
    client = await ask(upstream)
    call = await upstream.call()
    call.begin()
    call.event("one")
    assert (await client.head()).chunked
    assert b"data: one" in await client.until(b"\n\n")
    call.event("two")
    assert b"data: two" in await client.until(b"\n\n\r\n")
    assert upstream.open == 1
    await call.finish()
    assert upstream.open == 0
    assert await client.until(b"0\r\n\r\n") == b"0\r\n\r\n"
    await client.request("POST", "/v1/x", body=b"")
    again = await upstream.call()
    assert again.connection is call.connection
    await again.answer()
    assert (await client.answer()).ended == CLEAN
    client.close()


@pytest.mark.parametrize(("how", "seen"), [("fin", CUT), ("rst", RESET)])
async def test_client_tells_a_cut_answer_from_a_whole_one(upstream: FakeUpstream, how: str, seen: str) -> None:
    client = await ask(upstream)
    call = await upstream.call()
    call.begin()
    call.event("one")
    head = await client.head()
    await client.until(b"\n\n")
    call.cut(how)
    assert (await client.body(head))[1] == seen
    assert call.done.is_set()
    assert not call.gone.is_set()
    client.close()


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_upstream_notices_whoever_leaves(upstream: FakeUpstream, how: str) -> None:
    client = await ask(upstream)
    call = await upstream.call()
    assert upstream.open == 1
    client.leave(how)
    await call.stopped()
    assert upstream.open == 0


async def test_calls_over_the_limit_are_violations_and_the_peak_stays(upstream: FakeUpstream) -> None:
    upstream.limit = 1
    first = await ask(upstream)
    call = await upstream.call()
    second = await ask(upstream, "b")
    assert (await second.answer()).status == 429
    assert [violation.name for violation in upstream.violations] == ["b"]
    assert (upstream.peak, upstream.open) == (2, 1)
    await call.answer()
    assert upstream.open == 0
    first.close()
    second.close()


async def test_lagging_books_keep_a_call_that_has_ended(upstream: FakeUpstream) -> None:
    upstream.lag = 0.1
    client = await ask(upstream)
    await (await upstream.call()).answer()
    await client.answer()
    assert upstream.open == 1
    await until(lambda: upstream.open == 0)
    client.close()


async def test_usage_endpoint_says_its_number_and_counts_overlapping_polls(upstream: FakeUpstream) -> None:
    upstream.usage = usage = Usage(3)
    clients = [await RawClient.connect(("127.0.0.1", upstream.port)) for _ in range(2)]
    release = asyncio.Event()

    async def held(call: Call) -> None:
        await release.wait()
        await call.answer(200, b"3")

    usage.answer = held
    for client in clients:
        await client.request("GET", "/v1/usage")
    await until(lambda: usage.open == 2)
    release.set()
    assert [(await client.answer()).json for client in clients] == [3, 3]
    await until(lambda: usage.open == 0)
    assert usage.peak == 2
    assert upstream.calls == []
    usage.answer = None
    await clients[0].request("GET", "/v1/usage")
    assert (await clients[0].answer()).json == {"usage": {"concurrent_sessions": 3}}
    for client in clients:
        client.close()


async def test_waiting_fails_when_the_thing_never_comes_and_never_when_it_does() -> None:
    with pytest.raises(AssertionError, match="never became true"):
        await until(lambda: False, timeout=0.05)
    with pytest.raises(AssertionError, match="must not"):
        await never(lambda: True, during=0.05)
