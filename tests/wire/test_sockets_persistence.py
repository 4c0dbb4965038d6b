# Who may use its connection again, by what either side says of it in its version's words (RFC 9112 9.3).

import pytest
from rawsides.message import answer, begun, get, post

SAYS_CLOSE = ["Connection: close", "Connection: Close", "connection: x-a, close", "Connection: keep-alive, CLOSE"]


@pytest.mark.parametrize("line", SAYS_CLOSE)
async def test_client_that_says_close_gets_its_answer_and_the_end(rig, line):
    client, link = await rig.ask(get("/up/1", line) + get("/up/2"))
    await link.head()
    await link.send(answer(b"last"))
    assert await client.end() == (begun("Content-Length: 4", "Connection: close") + b"last", "fin")
    await rig.record()
    assert link.unheard() == 0, "what came behind it is no request"


@pytest.mark.parametrize("line", SAYS_CLOSE)
async def test_upstream_that_says_close_is_not_asked_again(rig, line):
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"last", line))
    assert await client.exactly(len(answer(b"last"))) == answer(b"last")
    await client.send(get("/up/2"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /2 ")
    assert await link.ended() in ("fin", "rst")


@pytest.mark.parametrize("lines", [(), ("Connection: keep-alive",), ("Keep-Alive: timeout=5, max=100",)])
async def test_what_1_0_servers_say_of_their_connections_is_not_passed_on(rig, lines):
    """To a 1.1 client, with whom we have agreed on our own."""
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"ok", *lines).replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    await client.send(get("/up/2"))
    second = await rig.upstream.link()
    await second.head()
    await second.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


@pytest.mark.parametrize(("value", "status"), [("true", "529 Overloaded"), ("false", "503 Service Unavailable")])
async def test_whether_to_retry_is_said_by_the_upstream_and_done_by_the_client(rig, value, status):
    """RTY-03."""
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    refusal = answer(b"{}", f"x-should-retry: {value}", status=status)
    await link.send(refusal)
    assert await client.exactly(len(refusal)) == refusal
    await rig.at_rest()
    assert (link.unheard(), rig.upstream.was_left_alone()) == (0, True)
