# Connections that serve one request after the other, on both sides; and what must not leak from one into the next.

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post


async def test_next_request_uses_both_connections_again(rig):
    client, link = await rig.ask(get("/up/1"))
    for number in (b"1", b"2", b"3"):
        assert (await link.head()).startswith(b"GET /%s HTTP/1.1\r\n" % number)
        await link.send(answer(b"to " + number))
        assert await client.until(b"to " + number) == answer(b"to " + number)
        await client.send(get(f"/up/{int(number) + 1}"))
    assert (await link.head()).startswith(b"GET /4 ")
    assert rig.upstream.was_left_alone()


async def test_chunked_answer_leaves_the_connection_usable(rig):
    client, link = await rig.ask(get("/up/"))
    whole = begun(CHUNKED) + chunk(b"abc") + LAST_CHUNK
    await link.head()
    await link.send(whole)
    assert await client.exactly(len(whole)) == whole
    await client.send(get("/up/next"))
    assert (await link.head()).startswith(b"GET /next ")


async def test_pipelined_requests_are_answered_in_their_order(rig):
    client, link = await rig.ask(get("/up/1") + post("/up/2", b"body") + get("/up/3"))
    for target, body in ((b"GET /1 ", b""), (b"POST /2 ", b"body"), (b"GET /3 ", b"")):
        assert (await link.head()).startswith(target)
        assert await link.exactly(len(body)) == body
        await link.send(answer(target))
        assert await client.exactly(len(answer(target))) == answer(target)
    assert rig.upstream.was_left_alone()


async def test_request_behind_a_streamed_upload_waits_for_its_turn(rig):
    """The upload is streamed and the next request arrives in the same segment as its end."""
    client, link = await rig.ask(post("/up/files", b"x" * 10)[:-4])
    await link.head()
    await client.send(b"xxxx" + get("/up/next"))
    assert await link.exactly(10) == b"x" * 10
    await link.send(answer(b"uploaded"))
    assert await client.exactly(len(answer(b"uploaded"))) == answer(b"uploaded")
    assert (await link.head()).startswith(b"GET /next ")


@pytest.mark.parametrize("step", [1, 3, 7])
async def test_head_and_body_in_any_pieces(rig, step):
    message = post("/up/split", b"0123456789", "X-A: b")
    client = await rig.client()
    for at in range(0, len(message), step):
        await client.send(message[at : at + step])
    link = await rig.upstream.link()
    assert (await link.head()).startswith(b"POST /split HTTP/1.1\r\n")
    assert await link.exactly(10) == b"0123456789"


@pytest.mark.parametrize("step", [1, 2, 5])
async def test_answer_in_any_pieces(rig, step):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    whole = begun(CHUNKED, "X-A: b") + chunk(b"0123456789") + b"0\r\nX-T: u\r\n\r\n"
    for at in range(0, len(whole), step):
        await link.send(whole[at : at + step])
    assert await client.exactly(len(whole)) == whole


async def test_empty_lines_before_a_request_are_ignored(rig):
    """RFC 9112 2.2."""
    _, link = await rig.ask(b"\r\n\r\n" + get("/up/x"))
    assert (await link.head()).startswith(b"GET /x ")


async def test_connection_close_of_the_client_is_kept_to_itself(rig):
    client, link = await rig.ask(get("/up/", "Connection: close"))
    assert b"onnection" not in await link.head()
    await link.send(answer(b"last"))
    assert await client.end() == (begun("Content-Length: 4", "Connection: close") + b"last", "fin")
    other = await rig.client()
    await other.send(get("/up/other"))
    assert (await link.head()).startswith(b"GET /other ")


async def test_connection_close_of_the_upstream_is_kept_to_itself(rig):
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"last", "Connection: close"))
    assert await client.exactly(len(answer(b"last"))) == answer(b"last")
    await client.send(get("/up/2"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /2 ")
    assert await link.ended() == "fin"


async def test_http_1_0_answer_ends_its_connection(rig):
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    await client.send(get("/up/2"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /2 ")
    assert await link.ended() == "fin"


async def test_reuse_false_makes_each_request_its_own_connection(start):
    rig = await start({"reuse": False})
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"ok"))
    await client.exactly(len(answer(b"ok")))
    await client.send(get("/up/2"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /2 ")
    assert await link.ended() == "fin"


async def test_surplus_bytes_behind_an_answer_reach_nobody(rig):
    """FRM-10: what follows the answer is not the next client's."""
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"ok") + b"EXTRA")
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    await client.send(get("/up/2"))
    second = await rig.upstream.link()
    await second.head()
    await second.send(answer(b"second"))
    assert await client.exactly(len(answer(b"second"))) == answer(b"second")
    assert await link.ended() in ("fin", "rst")


async def test_a_body_behind_the_answer_to_head_reaches_nobody(rig):
    """EXP-04."""
    client, link = await rig.ask(b"HEAD /up/ HTTP/1.1\r\nHost: a\r\n\r\n")
    await link.head()
    await link.send(answer(b"0123456789"))
    assert await client.head() == begun("Content-Length: 10")
    await client.send(get("/up/2"))
    second = await rig.upstream.link()
    await second.head()
    await second.send(answer(b"second"))
    assert await client.exactly(len(answer(b"second"))) == answer(b"second")
    assert await link.ended() in ("fin", "rst")


async def test_unsolicited_bytes_on_an_idle_connection_reach_nobody(rig, monkeypatch):
    monkeypatch.setattr("proxy.wire.pool.IDLE_S", 3600.0)  # so that nothing else ends it
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"ok"))
    await client.exactly(len(answer(b"ok")))
    await link.send(answer(b"nobody asked", status="408 Request Timeout"))
    assert await link.ended() in ("fin", "rst")
    await client.send(get("/up/2"))
    second = await rig.upstream.link()
    await second.head()
    await second.send(answer(b"asked"))
    assert await client.exactly(len(answer(b"asked"))) == answer(b"asked")


async def test_two_clients_never_share_a_connection_at_once(rig):
    one, link_one = await rig.ask(get("/up/1"))
    two, link_two = await rig.ask(get("/up/2"))
    for link in (link_one, link_two):
        await link.head()
    await link_two.send(answer(b"two"))
    await link_one.send(answer(b"one"))
    assert await one.exactly(len(answer(b"one"))) == answer(b"one")
    assert await two.exactly(len(answer(b"two"))) == answer(b"two")
