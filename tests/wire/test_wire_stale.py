# A kept connection that turns out closed: sent again once, on a fresh connection, if not one byte was answered.

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request

BODY = b'{"prompt": "\x00\xff"}'


async def a_kept_connection(rig):
    """A client, and the upstream's side of a connection that has served it once."""
    client, link = await rig.ask(get("/up/first"))
    await link.head()
    await link.send(answer(b"first"))
    await client.exactly(len(answer(b"first")))
    return client, link


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_request_is_sent_again_once_and_byte_for_byte(rig, how):
    """KA-01."""
    client, link = await a_kept_connection(rig)
    await client.send(post("/up/again", BODY, "X-A: b"))
    sent = await link.until(BODY)
    getattr(link, how)()
    fresh = await rig.upstream.link()
    assert await fresh.until(BODY) == sent
    await fresh.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    assert [record.outcome for record in rig.records] == ["completed", "completed"]


async def test_request_is_not_sent_again_once_it_may_have_been_executed(rig, monkeypatch):
    """An end that was under way when the request left comes at once."""
    monkeypatch.setattr("proxy.wire.exchange.STALE_S", 0.0)
    client, link = await a_kept_connection(rig)
    await client.send(post("/up/again", BODY))
    await link.until(BODY)
    link.close()
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    assert rig.upstream.was_left_alone()


async def test_chunked_body_is_sent_again_as_it_came(rig):
    client, link = await a_kept_connection(rig)
    body = chunk(b"one") + b"3;x=y\r\ntwo\r\n" + b"0\r\nX-T: u\r\n\r\n"
    await client.send(request("POST", "/up/again", CHUNKED) + body)
    assert (await link.until(b"u\r\n\r\n")).endswith(body)
    link.close()
    fresh = await rig.upstream.link()
    assert (await fresh.until(b"u\r\n\r\n")).endswith(body)


async def test_request_is_never_sent_a_third_time(rig):
    client, link = await a_kept_connection(rig)
    await client.send(post("/up/again", BODY))
    await link.until(BODY)
    link.close()
    fresh = await rig.upstream.link()
    await fresh.until(BODY)
    fresh.close()
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"upstream_bad_response" in head
    await rig.at_rest()
    assert rig.upstream.was_left_alone()


@pytest.mark.parametrize("heard", [b"H", b"HTTP/1.1 200 OK\r\n", begun(status="102 Processing")])
async def test_request_is_not_sent_again_after_one_byte_of_an_answer(rig, heard):
    client, link = await a_kept_connection(rig)
    await client.send(post("/up/again", BODY))
    await link.until(BODY)
    await link.send(heard)
    link.close()
    head = await client.head()
    if b" 102 " in head:
        head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    await rig.at_rest()
    assert rig.upstream.was_left_alone()


async def test_connection_that_was_closed_while_idle_is_not_used(rig):
    client, link = await a_kept_connection(rig)
    link.close()
    await client.send(get("/up/next"))
    fresh = await rig.upstream.link()
    assert (await fresh.head()).startswith(b"GET /next ")


async def test_streamed_upload_gets_a_fresh_connection(rig):
    """It could not be sent again."""
    client, _ = await a_kept_connection(rig)
    await client.send(request("PUT", "/up/upload", CHUNKED))
    fresh = await rig.upstream.link()
    assert (await fresh.head()).startswith(b"PUT /upload ")
    await client.send(LAST_CHUNK)
    assert await fresh.until(LAST_CHUNK) == LAST_CHUNK


async def test_stale_connection_holds_one_slot(start):
    rig = await start({"limit": 1})
    client, link = await a_kept_connection(rig)
    await client.send(post("/up/again", BODY))
    await link.until(BODY)
    link.close()
    fresh = await rig.upstream.link()
    await fresh.until(BODY)
    assert rig.scheduler.held == 1
    await fresh.send(answer(b"ok"))
    await client.exactly(len(answer(b"ok")))
    await rig.at_rest()
