# A slot that is taken back: its upstream connection is closed, its client's answer is cut and never ended cleanly, or
# is a 504 if it had not begun (spec §9).

import asyncio

import pytest
from rawsides.message import CHUNKED, answer, begun, chunk, get, post
from rawsides.rig import IN_ONE_SEGMENT, becomes, narrow

GONE = ("fin", "rst")


def silent(rig) -> None:
    """Let the only slot look as if no byte had moved for an hour, and the watchdog look at it."""
    (slot,) = rig.scheduler.slots()
    slot.progress_at -= 3600
    slot.last_byte_at -= 3600
    rig.admission.watch()


def by_hand(rig) -> None:
    (slot,) = rig.scheduler.slots()
    rig.admission.reclaim(slot)


either = pytest.mark.parametrize("reclaim", [silent, by_hand])


async def asked(rig):
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    return client, link


@either
async def test_answer_that_had_not_begun_is_a_504(start, reclaim):
    rig = await start({"limit": 1, "cooldown": "10s"})
    client, link = await asked(rig)
    reclaim(rig)
    assert (rig.scheduler.held, rig.scheduler.cooling) == (0, 1)
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 504 Gateway Timeout\r\n")
    assert b"X-Slotgate-Error: reclaimed\r\n" in head
    assert await link.ended() in GONE
    record = await rig.record()
    assert (record.outcome, record.code) == ("reclaimed", "reclaimed")
    await client.until(b"}}")
    await client.send(get("/up/next"))  # the client's connection is as good as before
    await (await rig.upstream.link()).head()


@either
@pytest.mark.parametrize(
    ("head", "how"), [(begun(CHUNKED), GONE), (begun("Content-Length: 1000"), GONE), (begun(), ("rst",))]
)
async def test_answer_that_had_begun_is_cut(start, reclaim, head, how):
    """TMO-04, EARLY-04: no zero chunk, and where the framing could not show the cut, a reset."""
    rig = await start({"limit": 1})
    client, link = await asked(rig)
    await link.send(head + chunk(b"data: 1\n\n"))
    await client.until(b"data: 1\n\n\r\n")
    reclaim(rig)
    assert await client.ended() in how
    assert await link.ended() in GONE
    assert (await rig.record()).outcome == "reclaimed"
    assert rig.scheduler.in_flight == 0


@either
async def test_request_whose_upstream_is_still_dialled_is_a_504(start, reclaim):
    rig = await start({"limit": 1}, scheme="https")
    client, link = await rig.ask(post("/up/", b"{}"))
    reclaim(rig)
    assert (await client.head()).startswith(b"HTTP/1.1 504 ")
    assert (await link.end())[1] in GONE
    assert (await rig.record()).outcome == "reclaimed"


@pytest.mark.plain
async def test_request_that_is_dialled_again_after_a_stale_connection_is_not_sent(start):
    rig = await start({"limit": 1})
    client, link = await asked(rig)
    await link.send(answer(b"first"))
    await client.until(b"first")
    dialled, go = asyncio.Event(), asyncio.Event()
    pool = rig.forwarder._view.pool(rig.runtime.settings.upstreams["up"])
    dial = pool.dial

    async def slow_dial():
        dialled.set()
        await go.wait()
        return await dial()

    pool.dial = slow_dial
    await client.send(post("/up/again", b"{}"))
    await link.until(b"{}")
    link.close()
    await dialled.wait()
    by_hand(rig)
    go.set()
    assert (await client.head()).startswith(b"HTTP/1.1 504 ")
    await rig.at_rest()
    assert rig.upstream.was_left_alone()


async def test_request_reclaimed_as_its_kept_connection_turns_out_stale_is_not_sent_again(start):
    """Both in one turn of the loop, before the request's task has heard of either."""
    rig = await start({"limit": 1})
    client, link = await asked(rig)
    await link.send(answer(b"first"))
    await client.until(b"first")
    await client.send(post("/up/again", b"{}"))
    await link.until(b"{}")
    (connection,) = rig.listener.connections
    exchange = connection.request.on_gone.__self__.exchange
    exchange.connection.eof_received()  # as the socket would tell it
    by_hand(rig)
    assert (await client.head()).startswith(b"HTTP/1.1 504 ")
    await rig.at_rest()
    assert rig.upstream.was_left_alone()


async def stalled(rig):
    """A client that does not read, for which bytes wait here; the watchdog has seen which."""
    client, link = await rig.ask(post("/up/", b"{}"), receive_buffer=4096)
    await link.until(b"{}")
    (connection,) = rig.listener.connections
    narrow(connection)
    await link.send(begun("Content-Length: 1000000"))
    await client.head()
    await link.send(b"x" * IN_ONE_SEGMENT)
    await becomes(lambda: connection.unsent() > 0)
    rig.admission.watch()
    return client, link, connection


async def test_stalled_client_is_no_progress_though_its_upstream_pushes(start):
    """LEAK-07."""
    rig = await start({"limit": 1, "slot_timeout": "1m"})
    client, link, _ = await stalled(rig)
    link.send_what_fits(b"x" * 100_000)
    (slot,) = rig.scheduler.slots()
    slot.progress_at -= 61
    rig.admission.watch()
    assert rig.scheduler.held == 0
    assert (await client.end())[1] in GONE
    assert (await link.end())[1] in GONE


async def test_client_that_reads_slowly_makes_progress(start):
    rig = await start({"limit": 1, "slot_timeout": "1m"})
    client, _, connection = await stalled(rig)
    waited = connection.unsent()
    (slot,) = rig.scheduler.slots()
    slot.progress_at -= 61
    while connection.unsent() == waited:
        await client.exactly(1000)
    assert connection.unsent() > 0
    rig.admission.watch()
    assert rig.scheduler.held == 1


async def test_trickling_answer_is_not_stuck(start):
    rig = await start({"limit": 1, "slot_timeout": "1m"})
    client, link = await asked(rig)
    await link.send(begun(CHUNKED))
    await client.head()
    for _ in range(3):
        (slot,) = rig.scheduler.slots()
        slot.progress_at -= 59
        await link.send(chunk(b"."))
        await client.until(chunk(b"."))
        rig.admission.watch()
    assert rig.scheduler.held == 1


async def test_late_end_of_a_reclaimed_request_frees_nobody_elses_slot(start):
    """DBL-06."""
    rig = await start({"limit": 1})
    _, link = await asked(rig)
    second, third = await rig.client(), await rig.client()
    await second.send(post("/up/second", b"{}"))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    await third.send(post("/up/third", b"{}"))
    await becomes(lambda: len(rig.scheduler.waiting) == 2)
    silent(rig)
    await link.end()
    again = await rig.upstream.link()
    assert (await again.until(b"{}")).startswith(b"POST /second ")
    await rig.record()
    assert (rig.scheduler.held, len(rig.scheduler.waiting)) == (1, 1)
    await again.send(answer(b"ok"))
    assert (await again.until(b"{}")).startswith(b"POST /third ")


async def test_phases_are_told(start):
    rig = await start({"limit": 1})
    client, link = await asked(rig)
    assert rig.scheduler.slots()[0].phase == "waiting"
    await link.send(begun(CHUNKED) + chunk(b"abc"))
    await client.until(b"abc")
    (slot,) = rig.scheduler.slots()
    assert (slot.phase, slot.bytes) == ("streaming", len(chunk(b"abc")))


async def test_phase_while_it_is_dialled(start):
    rig = await start({"limit": 1}, scheme="https")
    await rig.ask(post("/up/", b"{}"))
    assert rig.scheduler.slots()[0].phase == "connecting"


async def test_connect_that_failed_skips_the_rest(start):
    rig = await start({"limit": 1, "cooldown": "10s"})
    rig.upstream.refuse()
    client = await rig.client()
    await client.send(post("/up/", b"{}"))
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"X-Slotgate-Error: upstream_unreachable\r\n" in head
    assert rig.scheduler.in_flight == 0


async def test_connect_that_takes_too_long_is_a_504(start):
    rig = await start({"limit": 1, "cooldown": "10s", "connect_timeout": "30ms"}, scheme="https")
    client, _ = await rig.ask(post("/up/", b"{}"))
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 504 ")
    assert b"X-Slotgate-Error: upstream_timeout\r\n" in head
    assert rig.scheduler.in_flight == 0
