# Requests that are answered by us alone: what is malformed, too slow, or not ours to do; and that the refusal is read.

import asyncio
import json

import pytest
from rawsides.message import CHUNKED, chunk, get, post, request
from rawsides.rig import becomes

MIB = 1024 * 1024
MALFORMED = [
    b"GET /up/ HTTP/1.1\r\n\r\n",  # no Host
    b"GET /up/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /up/ HTTP/1.1\nHost: a\n\n",
    b"GET /up/ HTTP/1.1\r\nHost: a\nX-A: b\r\n\r\n",
    b"GET /up/ HTTP/1.1\rHost: a\r\r",
    b"GET  /up/ HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /up/ a HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /up/\r\nHost: a\r\n\r\n",  # HTTP/0.9
    b"GET /up/ HTTP/2.0\r\nHost: a\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",  # TLS
    b"G@T /up/ HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /up/\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /up/ HTTP/1.1\r\nHost: a\r\nX-A: b\x00\r\n\r\n",
    b"GET /up/ HTTP/1.1\r\nHost : a\r\n\r\n",
    b"GET /up/ HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
    b"GET /up/ HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
    b"GET /up/ HTTP/1.1\r\nHost: a\r\n: no name\r\n\r\n",
    b"POST /up/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    b"POST /up/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /up/ HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\nabc",
    b"POST /up/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc",
    b"POST /up/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"POST /up/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
    b"POST /up/ HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"POST /up/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n",
    b"PUT /up/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
    b"GET /" + b"a" * 16 * 1024,
    b"GET /up/ HTTP/1.1\r\nHost: a\r\nX-A: " + b"b" * 32 * 1024 + b"\r\n\r\n",
    b"GET /up/ HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 200 + b"\r\n",
    b"GET /up/ HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 40_000,
]


def error(answer: bytes) -> dict[str, object]:
    """The error that an answer of ours names; its head is checked on the way."""
    head, _, body = answer.partition(b"\r\n\r\n")
    parsed: dict[str, dict[str, object]] = json.loads(body)
    assert parsed["type"] == "error"
    assert f"X-Slotgate-Error: {parsed['error']['code']}".encode() in head.split(b"\r\n")
    assert b"Content-Type: application/json" in head.split(b"\r\n")
    return parsed["error"]


@pytest.mark.asyncio(loop_factories=["uvloop"])
@pytest.mark.parametrize("message", MALFORMED, ids=lambda message: repr(message[:60]))
async def test_malformed_request_is_a_400_and_the_end_of_its_connection(rig, message):
    client = await rig.client()
    await client.send(message)
    heard, how = await client.end()
    assert heard.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\nConnection: close\r\n" in heard
    assert error(heard)["code"] == "bad_request"
    assert how == "fin"
    assert rig.upstream.was_left_alone()


@pytest.mark.asyncio(loop_factories=["uvloop"])
async def test_nothing_behind_a_malformed_request_is_served(rig):
    client = await rig.client()
    await client.send(b"GET /up/ HTTP/1.1\r\nHost: a\r\nX A: b\r\n\r\n" + get("/up/smuggled"))
    heard, _ = await client.end()
    assert heard.count(b"HTTP/1.1 ") == 1
    assert rig.upstream.was_left_alone()


async def test_counted_body_that_is_none_is_a_400_and_is_never_sent(rig):
    client = await rig.client()
    await client.send(request("POST", "/up/", CHUNKED) + chunk(b"fine"))
    await becomes(lambda: len(rig.listener.serving()) == 1)
    await client.send(b"not a size\r\n")
    heard, how = await client.end()
    assert (error(heard)["code"], how) == ("bad_request", "fin")
    (connection,) = rig.listener.connections
    await client.send(b"x" * 1_000_000)  # what it still says does not reset the answer out of its hands
    await becomes(lambda: connection._drain is not None and connection._drain.drained >= 1_000_000)
    assert rig.upstream.was_left_alone()


async def test_streamed_body_that_is_none_is_a_400_and_is_cut_upstream(rig):
    client, link = await rig.ask(request("PUT", "/up/", CHUNKED) + chunk(b"fine"))
    assert (await link.until(chunk(b"fine"))).startswith(b"PUT / ")
    await client.send(b"not a size\r\n" + b"x" * 100_000)
    heard, how = await client.end()
    assert (error(heard)["code"], how) == ("bad_request", "fin")
    rest, _ = await link.end()
    assert not rest.endswith(b"0\r\n\r\n")


async def test_streamed_body_that_breaks_after_the_answer_began_cuts_it(rig):
    client, link = await rig.ask(request("PUT", "/up/", CHUNKED))
    await link.head()
    await link.send(b"HTTP/1.1 200 OK\r\n\r\nclose-framed")
    await client.until(b"close-framed")
    await client.send(b"not a size\r\n")
    assert await client.ended() == "rst"
    await link.end()


@pytest.mark.parametrize("begun", [b"G", b"GET /up/ HTTP/1.1\r\nHost: a\r\n", get("/up/")[:-1]])
async def test_head_that_takes_too_long_is_a_408(start, begun):
    rig = await start(client_header_timeout="50ms")
    client = await rig.client()
    await client.send(begun)
    heard, how = await client.end()
    assert heard.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert (error(heard)["code"], how) == ("request_timeout", "fin")


async def test_body_that_stops_coming_is_a_408(start, monkeypatch):
    monkeypatch.setattr("proxy.wire.request.BODY_IDLE_S", 0.05)
    rig = await start({"limit": 1})
    client = await rig.client()
    await client.send(request("POST", "/up/", "Content-Length: 10") + b"half")
    heard, how = await client.end()
    assert heard.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert (error(heard)["code"], how) == ("request_timeout", "fin")
    assert rig.upstream.was_left_alone()


async def test_client_that_speaks_tls_is_told_at_once(rig):
    """A hello may have no line end in it, and its sender waits."""
    client = await rig.client()
    await client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    heard, how = await client.end()
    assert (error(heard)["message"], how) == ("slotgate: this is TLS; the proxy is reached by http://", "fin")


async def test_clients_that_descriptors_do_not_suffice_for_are_told_so_and_the_others_served(rig):
    served, _ = await rig.ask(get("/up/1"))
    rig.listener.most = 1
    client = await rig.client()
    await client.send(post("/up/2", b"{}"))
    heard, how = await client.end()
    assert (error(heard)["code"], how) == ("queue_full", "fin")
    assert b"\r\nRetry-After: " in heard
    record = await rig.record()
    assert (record.code, record.method, record.path) == ("queue_full", "POST", "/up/2")
    served.close()
    client.close()
    await becomes(lambda: not rig.listener.connections, "both have gone")
    third = await rig.client()
    await third.send(get("/up/3"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /3 ")


async def test_refusal_before_there_is_a_request_is_recorded(rig):
    client = await rig.client()
    await client.send(b"G@T /up/?key=secret HTTP/1.1\r\nHost: a\r\n\r\n")
    await client.end()
    record = await rig.record()
    assert (record.outcome, record.code, record.status, record.method) == ("refused", "bad_request", 400, None)
    assert record.why == "the request line is not METHOD TARGET HTTP/1.1"


async def test_empty_line_in_two_pieces_is_no_slow_head(start):
    """RFC 9112 2.2: old clients add one behind a POST."""
    rig = await start(client_header_timeout="50ms")
    client, slow = await rig.client(), await rig.client()
    await client.send(b"\r")
    await becomes(lambda: any(bytes(c._buffer) == b"\r" for c in rig.listener.connections), "half of it is here")
    await client.send(b"\n")
    await becomes(lambda: not any(c._buffer for c in rig.listener.connections), "the other half, too")
    await slow.send(b"G")
    await slow.end()  # by now the first one would have been told
    await client.send(get("/up/"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET / ")


async def test_connection_without_a_byte_is_no_slow_head(start):
    rig = await start(client_header_timeout="50ms")
    silent, slow = await rig.client(), await rig.client()
    await slow.send(b"G")
    await slow.end()  # by now the silent one would have been told
    await silent.send(get("/up/"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET / ")


async def test_each_head_has_its_own_time(start):
    rig = await start(client_header_timeout="200ms")
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await client.send(b"GET /up/2")  # while the first is served, its time does not run
    other = await rig.client()
    await other.send(b"G")
    await other.end()
    await link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert (await client.head()).startswith(b"HTTP/1.1 200 ")
    assert (await client.head()).startswith(b"HTTP/1.1 408 ")


async def test_refused_head_is_not_refused_again_when_its_time_is_up(start):
    rig = await start(client_header_timeout="50ms")
    client = await rig.client()
    await client.send(b"GET")
    await becomes(lambda: any(connection._buffer for connection in rig.listener.connections))
    later = await rig.client()
    await client.send(b" /up/ HTTP/1.1\nHost: a\n\n")
    heard, _ = await client.end()
    assert error(heard)["code"] == "bad_request"
    await later.send(b"GET")
    await later.end()  # by now the first one's time is over, too
    assert len(rig.listener.connections) == 1, "the refused client may still take its time to read"


async def test_absolute_target_is_cut_to_its_path(rig):
    """SEC-04: its authority is never used."""
    _, link = await rig.ask(b"GET http://evil.test:1/up/x?y HTTP/1.1\r\nHost: evil.test\r\n\r\n")
    host = rig.upstream.authority.encode()
    assert await link.head() == b"GET /x?y HTTP/1.1\r\nHost: %s\r\n\r\n" % host


@pytest.mark.parametrize(
    "line", ["OPTIONS * HTTP/1.1", "CONNECT up:443 HTTP/1.1", "CONNECT /up/ HTTP/1.1", "GET up HTTP/1.1"]
)
async def test_what_is_no_path_is_a_501(rig, line):
    client = await rig.client()
    await client.send(f"{line}\r\nHost: up:443\r\n\r\n".encode())
    assert (await client.head()).startswith(b"HTTP/1.1 501 Not Implemented\r\n")
    assert rig.upstream.was_left_alone()


async def test_unknown_upstream_is_a_404_and_the_connection_goes_on(rig):
    client = await rig.client()
    await client.send(get("/nowhere/x"))
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert b"onnection" not in head
    assert b"nowhere" in await client.until(b"}}")
    await client.send(get("/up/"))
    await (await rig.upstream.link()).head()


async def test_refusal_of_head_has_no_body(rig):
    client = await rig.client()
    await client.send(request("HEAD", "/nowhere/") + get("/nowhere/"))
    first, second = await client.head(), await client.head()
    assert first == second
    assert await client.until(b"}}")


@pytest.mark.parametrize("size", [300_000, 3 * MIB])
async def test_refusal_of_an_unread_body_is_read_and_then_the_connection_ends(start, size):
    """BODY-07."""
    rig = await start(queue={"body_limit": "1KiB"})
    client = await rig.client()
    await client.send(request("POST", "/up/", f"Content-Length: {size}"))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.send(b"x" * size))
        heard, how = await client.end()
    assert heard.startswith(b"HTTP/1.1 413 ")
    assert b"\r\nConnection: close\r\n" in heard
    assert (error(heard)["code"], how) == ("body_too_large", "fin")


async def test_chunked_body_that_grows_too_large_is_refused_as_soon_as_that_is_known(start):
    rig = await start(queue={"body_limit": "1KiB"})
    client = await rig.client()
    await client.send(request("POST", "/up/", CHUNKED) + chunk(b"x" * 2000))
    assert (await client.head()).startswith(b"HTTP/1.1 413 ")


async def test_refused_body_is_not_read_for_ever(start):
    rig = await start(queue={"body_limit": "1KiB"})
    client = await rig.client()
    await client.send(request("POST", "/up/", CHUNKED) + chunk(b"x" * 2000))
    assert (await client.end())[0].startswith(b"HTTP/1.1 413 ")
    with pytest.raises((ConnectionResetError, BrokenPipeError)):  # we close after 8 MiB
        await client.send(chunk(b"x" * 65536) * 1000)


async def test_whole_body_that_is_refused_leaves_the_connection_usable(start):
    rig = await start(queue={"body_limit": "1KiB"})
    client = await rig.client()
    await client.send(post("/nowhere/", b"x" * 100) + get("/up/"))
    assert (await client.head()).startswith(b"HTTP/1.1 404 ")
    assert (await (await rig.upstream.link()).head()).startswith(b"GET / ")


async def test_waiting_bodies_together_are_bounded(start):
    """What has gone upstream waits no more."""
    rig = await start({"limit": 1}, queue={"body_budget": "4KiB"})
    _, link = await rig.ask(post("/up/", b"x" * 3000))
    await link.until(b"x" * 3000)
    waiting, refused = await rig.client(), await rig.client()
    await waiting.send(post("/up/", b"x" * 3000))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    await refused.send(post("/up/", b"x" * 3000))
    head = await refused.head()
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"X-Slotgate-Error: body_budget\r\n" in head
    assert b"Retry-After: " in head
