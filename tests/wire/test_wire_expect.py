# Expect: 100-continue is answered by the proxy, at the moment when it wants the body, and is not forwarded (spec §10).

from rawsides.message import CHUNKED, LAST_CHUNK, answer, chunk, post, request
from rawsides.rig import becomes

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
EXPECT = "Expect: 100-continue"


async def test_body_is_asked_for_and_expect_is_not_forwarded(rig):
    client = await rig.client()
    await client.send(request("POST", "/up/", EXPECT, "Content-Length: 4"))
    assert await client.head() == CONTINUE
    await client.send(b"body")
    link = await rig.upstream.link()
    assert b"xpect" not in await link.head()
    assert await link.exactly(4) == b"body"
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_streamed_body_is_asked_for_once_the_upstream_is_there(rig):
    client, link = await rig.ask(request("PUT", "/up/", EXPECT, CHUNKED))
    assert b"xpect" not in await link.head()
    assert await client.head() == CONTINUE
    await client.send(chunk(b"body") + LAST_CHUNK)
    assert await link.until(LAST_CHUNK) == chunk(b"body") + LAST_CHUNK


async def test_no_100_for_a_streamed_body_whose_upstream_is_not_there(rig):
    rig.upstream.refuse()
    client = await rig.client()
    await client.send(request("PUT", "/up/", EXPECT, "Content-Length: 4"))
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"\r\nConnection: close\r\n" in head


async def test_no_100_when_the_body_comes_without_waiting(rig):
    """RFC 9110 10.1.1: a server may omit it if the body has already begun."""
    client, link = await rig.ask(post("/up/", b"body", EXPECT))
    await link.until(b"body")
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_no_100_to_http_1_0(rig):
    client = await rig.client()
    await client.send(b"POST /up/ HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    await becomes(lambda: len(rig.listener.serving()) == 1)
    await client.send(b"body")
    link = await rig.upstream.link()
    assert b"xpect" not in await link.head()
    await link.send(answer(b"ok"))
    assert (await client.head()).startswith(b"HTTP/1.1 200 ")


async def test_expectation_that_is_not_ours_is_the_upstreams_to_refuse(rig):
    """RFC 9110 10.1.1: 417 is for whoever cannot meet it."""
    client, link = await rig.ask(post("/up/", b"body", "EXPECT: 200-ok"))
    assert b"\r\nEXPECT: 200-ok\r\n" in await link.head()
    whole = answer(b"no", status="417 Expectation Failed")
    await link.send(whole)
    assert await client.exactly(len(whole)) == whole


async def test_no_100_when_the_queue_is_full(start):
    """EXP-01: the final answer comes at once, and the body is never asked for."""
    rig = await start({"limit": 1}, queue={"max_waiting": 1})
    _, link = await rig.ask(post("/up/", b"held"))
    await link.until(b"held")
    waiting = await rig.client()
    await waiting.send(post("/up/", b"waiting"))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    client = await rig.client()
    await client.send(request("POST", "/up/", EXPECT, "Content-Length: 4"))
    assert (await client.head()).startswith(b"HTTP/1.1 503 ")


async def test_no_100_when_the_announced_body_is_too_large(start):
    rig = await start(queue={"body_limit": "1KiB"})
    client = await rig.client()
    await client.send(request("POST", "/up/", EXPECT, "Content-Length: 1025"))
    assert (await client.head()).startswith(b"HTTP/1.1 413 ")
    assert rig.upstream.was_left_alone()


async def test_100_then_a_refusal_when_the_upstream_is_not_there(rig):
    """EXP-02: the 502 has a body and can be read."""
    rig.upstream.refuse()
    client = await rig.client()
    await client.send(request("POST", "/up/", EXPECT, "Content-Length: 4"))
    assert await client.head() == CONTINUE
    await client.send(b"body")
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"X-Slotgate-Error: upstream_unreachable\r\n" in head
    assert b'"code": "upstream_unreachable"' in await client.until(b"}}")
