# Interim answers: passed on as they come, but for 100, which answers an Expect that was ours to answer.

import pytest
from rawsides.message import answer, begun, get, post

HINTS = begun("Link: </a.css>; rel=preload", "X-Odd-SPELLING: 1", status="103 Early Hints")
PROCESSING = begun(status="102 Processing")
CONTINUE = begun(status="100 Continue")


async def test_interim_answers_are_passed_on_the_moment_they_come(rig):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    for interim in (HINTS, PROCESSING, PROCESSING):
        await link.send(interim)
        assert await client.head() == interim
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_interim_and_final_answer_in_one_segment(rig):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(PROCESSING + HINTS + answer(b"ok"))
    whole = PROCESSING + HINTS + answer(b"ok")
    assert await client.exactly(len(whole)) == whole


@pytest.mark.parametrize("unasked", [CONTINUE, begun("Content-Length: 168", status="100 Continue")])
async def test_unasked_100_is_dropped_and_the_next_answer_is_right(rig, unasked):
    """EXP-06, FRM-08."""
    client, link = await rig.ask(get("/up/1"))
    for body in (b"first", b"second"):
        await link.head()
        await link.send(unasked + answer(body))
        assert await client.exactly(len(answer(body))) == answer(body)
        await client.send(get("/up/2"))


async def test_interim_answer_loses_what_is_hop_by_hop(rig):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(begun("Connection: X-Mine", "X-Mine: 1", "X-A: b", status="103 Early Hints"))
    assert await client.head() == begun("X-A: b", status="103 Early Hints")


async def test_answer_that_ends_after_an_interim_is_no_answer(rig):
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(PROCESSING)
    assert await client.head() == PROCESSING
    link.close()
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")


async def test_endless_interim_answers_are_no_conversation(rig, monkeypatch):
    monkeypatch.setattr("proxy.wire.exchange.INTERIM_MAX", 100)
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(PROCESSING * 101)
    for _ in range(100):
        assert await client.head() == PROCESSING
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    assert await link.ended() in ("fin", "rst")


async def test_slot_is_held_through_interim_answers(start):
    rig = await start({"limit": 1})
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(HINTS)
    assert await client.head() == HINTS
    assert rig.scheduler.held == 1
    await link.send(answer(b"ok"))
    await client.exactly(len(answer(b"ok")))
    await rig.at_rest()
