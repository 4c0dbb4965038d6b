# A client that has said all it will say, by shutdown of its sending side, is answered; one that has left is not: both
# send the same FIN (bug case NET-07).

import asyncio
import os
import socket

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request
from rawsides.peer import Peer
from rawsides.rig import becomes

from proxy.wire import half_close, sock_diag

WHOLE = answer(b"ok")
CLOSED = begun("Content-Length: 2", "Connection: close") + b"ok"
UPGRADE = get("/up/ws", "Connection: Upgrade", "Upgrade: websocket")
SWITCHED = begun("Upgrade: websocket", "Connection: Upgrade", status="101 Switching Protocols")


@pytest.mark.parametrize("message", [get("/up/"), post("/up/", b"{}"), post("/up/v1/files", b"{}")])
async def test_request_whose_sender_has_half_closed_is_answered_and_its_connection_ends(rig, message):
    client = await rig.client()
    await client.send(message)
    client.fin()
    link = await rig.upstream.link()
    await link.head()
    await becomes(lambda: any(c._half_closed for c in rig.listener.connections), "the half-close is known")
    await link.send(WHOLE)
    assert await client.end() == (CLOSED, "fin")
    assert (await rig.record()).outcome == "completed"


async def test_half_close_while_waiting_keeps_the_place(start):
    rig = await start({"limit": 1})
    holder, link = await rig.ask(post("/up/held", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(post("/up/waits", b"x" * 3_000_000))
    client.fin()
    await becomes(lambda: len(rig.scheduler.waiting) == 1, "it waits")
    await link.send(WHOLE)
    await holder.until(b"ok")
    assert (await link.head()).startswith(b"POST /waits ")
    await link.exactly(3_000_000)
    await link.send(WHOLE)
    assert await client.end() == (CLOSED, "fin")


@pytest.mark.parametrize("head", [begun(CHUNKED), begun("Content-Length: 25"), begun()])
async def test_half_close_in_the_middle_of_an_answer_does_not_end_it(rig, head):
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(head + chunk(b"data: 1\n\n"))
    await client.until(b"data: 1\n\n\r\n")
    client.fin()
    await becomes(lambda: any(c._eof for c in rig.listener.connections), "the half-close is known")
    await link.send(chunk(b"2") + LAST_CHUNK)
    link.close()
    assert await client.end() == (chunk(b"2") + LAST_CHUNK, "fin")
    assert (await rig.record()).outcome == "completed"


@pytest.mark.parametrize("leave", ["close", "reset"])
async def test_half_closed_waiter_that_leaves_is_noticed_although_it_says_nothing_more(start, leave):
    rig = await start({"limit": 1})
    holder, link = await rig.ask(post("/up/held", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(post("/up/left", b"{}"))
    client.fin()
    await becomes(lambda: any(c._half_closed for c in rig.listener.connections), "the half-close is known")
    assert len(rig.scheduler.waiting) == 1
    getattr(client, leave)()
    await becomes(lambda: not rig.scheduler.waiting, "the queue is empty")
    assert (await rig.record()).outcome == "abandoned"
    await link.send(WHOLE)
    await holder.until(b"ok")
    assert rig.upstream.was_left_alone()


async def test_half_closed_waiter_that_has_left_is_not_sent_in_the_moment_of_its_grant(start, monkeypatch):
    """Between two looks at whether it is there."""
    monkeypatch.setattr(half_close, "FIRST_S", 3600.0)
    rig = await start({"limit": 1})
    holder, link = await rig.ask(post("/up/held", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(post("/up/left", b"{}"))
    client.fin()
    await becomes(lambda: any(c._half_closed for c in rig.listener.connections), "the half-close is known")
    client.close()
    await link.send(WHOLE)
    await holder.until(b"ok")
    record = await rig.record(2)
    assert record.outcome == "abandoned"
    await holder.send(post("/up/next", b"{}"))
    assert (await link.head()).startswith(b"POST /next ")
    assert rig.upstream.was_left_alone()


async def test_pipelined_requests_of_a_half_closed_client_are_all_answered(rig):
    client, link = await rig.ask(post("/up/1", b"{}") + post("/up/2", b"{}") + get("/up/3"))
    client.fin()
    for number, last in ((b"1", b"{}"), (b"2", b"{}"), (b"3", b"")):
        assert (await link.head()).startswith((b"POST /", b"GET /")[number == b"3"] + number)
        await link.exactly(len(last))
        await link.send(answer(number))
    heard, how = await client.end()
    assert how == "fin"
    assert heard.count(b"HTTP/1.1 200 OK") == 3
    assert heard.endswith(b"Connection: close\r\n\r\n3")


@pytest.mark.parametrize("message", [post("/up/", b"{}")[:-1], get("/up/")[:-1], request("PUT", "/up/", CHUNKED)])
async def test_half_close_before_the_request_is_whole_is_leaving(rig, message):
    client = await rig.client()
    await client.send(message)
    client.fin()
    assert await client.end() == (b"", "fin")


@pytest.mark.parametrize("method", ["PUT", "POST"])
async def test_half_close_inside_a_pipelined_body_is_leaving(rig, method):
    client, link = await rig.ask(get("/up/1") + request(method, "/up/2", "Content-Length: 5") + b"ab")
    await link.head()
    client.fin()
    await becomes(lambda: any(c._eof for c in rig.listener.connections), "the half-close is known")
    await link.send(WHOLE)
    assert await client.end() == (WHOLE, "fin")
    assert rig.upstream.was_left_alone()


async def test_half_close_behind_more_than_is_read_ahead_keeps_the_place(start):
    rig = await start({"limit": 1})
    holder, link = await rig.ask(post("/up/held", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(post("/up/waits", b"{}") + post("/up/too", b"x" * 200_000))
    await becomes(lambda: len(rig.scheduler.waiting) == 1, "it waits")
    client.fin()
    await link.send(WHOLE)
    await holder.until(b"ok")
    for number in (0, 1):
        assert (await link.head()).startswith((b"POST /waits ", b"POST /too ")[number])
        await link.exactly((2, 200_000)[number])
        await link.send(WHOLE)
    assert await client.end() == (WHOLE + CLOSED, "fin")


async def test_refusal_is_heard_by_a_client_that_has_half_closed(start):
    rig = await start({"limit": 1}, queue={"max_waiting": 1, "max_wait": "100ms"})
    _, link = await rig.ask(post("/up/held", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(post("/up/waits", b"{}"))
    client.fin()
    heard, how = await client.end()
    assert heard.startswith(b"HTTP/1.1 503 ")
    assert how == "fin"


async def test_half_close_passes_through_a_tunnel(rig):
    client, link = await rig.ask(UPGRADE)
    await link.head()
    await link.send(SWITCHED)
    await client.head()
    await client.send(b"last words")
    client.fin()
    assert await link.end() == (b"last words", "fin")
    await link.send(b"answer")
    assert await client.exactly(6) == b"answer"
    link.close()
    assert await client.ended() == "fin"
    assert (await rig.record()).outcome == "completed"


async def test_half_close_before_the_101_passes_through_the_tunnel_too(rig):
    client, link = await rig.ask(UPGRADE + b"all")
    await link.head()
    client.fin()
    await becomes(lambda: any(c._eof for c in rig.listener.connections), "the half-close is known")
    await link.send(SWITCHED)
    assert await link.end() == (b"all", "fin")
    link.close()
    assert await client.end() == (SWITCHED, "fin")


# --- what is known about the peer ---


def pair(family: socket.AddressFamily, address: object) -> tuple[socket.socket, socket.socket]:
    with socket.socket(family) as listening:
        listening.bind(address)
        listening.listen(1)
        near = socket.socket(family)
        near.connect(listening.getsockname())
        return near, listening.accept()[0]


PLACES = [
    (socket.AF_INET, ("127.0.0.1", 0)),
    (socket.AF_INET6, ("::1", 0)),
    (socket.AF_UNIX, f"\0slotgate-test-{os.getpid()}"),
]


@pytest.mark.asyncio(loop_factories=["asyncio"])
@pytest.mark.parametrize(("family", "address"), PLACES, ids=["v4", "v6", "unix"])
async def test_peer_that_half_closes_may_read_and_one_that_closes_may_not(family, address):
    peer, here = pair(family, address)
    with here, peer:
        assert half_close.may_read(here)
        peer.shutdown(socket.SHUT_WR)
        assert half_close.may_read(here)
        peer.close()
        assert half_close.held(here) is False


async def test_peer_elsewhere_is_neither_held_nor_let_go():
    class Elsewhere:
        family = socket.AF_INET

        def getpeername(self):
            return ("192.0.2.1", 1234)

        def getsockname(self):
            return ("192.0.2.2", 8787)

    assert half_close.held(Elsewhere()) is None
    assert not half_close.may_read(Elsewhere())


@pytest.mark.asyncio(loop_factories=["asyncio"])
async def test_v4_client_of_a_v6_listener_is_known_too():
    with socket.socket(socket.AF_INET6) as listening:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(("::", 0))
        listening.listen(1)
        peer = await Peer.connect(("127.0.0.1", listening.getsockname()[1]))
        here, _ = await asyncio.to_thread(listening.accept)
    with here:
        peer.fin()
        assert half_close.may_read(here)
        peer.close()
        assert not half_close.may_read(here)


async def test_peer_that_nothing_is_known_about_counts_as_gone(start, monkeypatch):
    """A kernel that does not tell, or a client on another machine."""
    monkeypatch.setattr(sock_diag, "_SOCK_DIAG", 31)  # no such netlink family
    rig = await start({"limit": 1})
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    client.fin()
    assert (await link.end())[1] in ("fin", "rst")
    assert (await rig.record()).outcome == "abandoned"
