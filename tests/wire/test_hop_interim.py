# Interim answers behind any hop: passed on as they come.

import pytest
from rawsides.hop import folded, heard
from rawsides.message import answer, begun, get

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

HINTS = begun("Link: </a.css>; rel=preload", "X-Odd-SPELLING: 1", status="103 Early Hints")
PROCESSING = begun(status="102 Processing")
CONTINUE = begun(status="100 Continue")


async def test_interim_answers_are_passed_on_the_moment_they_come(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    for interim in (HINTS, PROCESSING, PROCESSING):
        await link.send(interim)
        assert await heard(client) == folded(interim)
    await link.send(answer(b"ok"))
    assert await heard(client) == folded(begun("Content-Length: 2"))
    assert await client.exactly(2) == b"ok"


async def test_interim_and_final_answer_in_one_segment(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(PROCESSING + HINTS + answer(b"ok"))
    for head in (PROCESSING, HINTS, begun("Content-Length: 2")):
        assert await heard(client) == folded(head)
    assert await client.exactly(2) == b"ok"


async def test_answer_that_ends_after_an_interim_is_no_answer(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(PROCESSING)
    assert await heard(client) == folded(PROCESSING)
    link.close()
    assert (await heard(client)).status == 502


async def test_unasked_100_disturbs_no_answer(hop, front):
    """We drop it, as nobody expects it (spec §9: never an unsolicited 100); HAProxy passes it on."""
    client, link = await hop.ask(get("/1"))
    for body in (b"first", b"second"):
        await link.head()
        await link.send(CONTINUE + answer(body))
        if front == "haproxy":
            assert await client.head() == CONTINUE
        assert await heard(client) == folded(begun(f"Content-Length: {len(body)}"))
        assert await client.exactly(len(body)) == body
        await client.send(get("/2"))


async def test_only_we_tire_of_interim_answers(hop, front, monkeypatch):
    monkeypatch.setattr("proxy.wire.exchange.INTERIM_MAX", 100)
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(PROCESSING * 101 + answer(b"ok"))
    for _ in range(100):
        assert (await heard(client)).status == 102
    assert (await heard(client)).status == (502 if front == "slotgate" else 102)
