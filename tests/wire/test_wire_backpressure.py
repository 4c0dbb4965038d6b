# A side that does not read holds up the other one, not our memory.

import asyncio
import socket
import tracemalloc

import pytest
from rawsides.message import answer, begun, get, request
from rawsides.rig import IN_ONE_SEGMENT, becomes, narrow

MIB = 1024 * 1024
PLENTY = 32 * MIB
KERNEL = 20 * MIB  # more than two sockets on the loopback take by themselves
KEPT = MIB  # what we may keep: a high-water mark of 64 KiB and what one read brings, with room


async def push(peer, size: int, data: bytes = b"x" * 65536) -> int:
    """Send `size` bytes, of `data` again and again, as far as they are taken: how many were before nothing moved for
    many turns of the loop."""
    sent, idle = 0, 0
    while sent < size and idle < 30:
        at = sent % len(data)
        taken = peer.send_what_fits(data[at : at + min(65536, size - sent)])
        sent += taken
        idle = 0 if taken else idle + 1
        await asyncio.sleep(0 if taken else 0.001)
    return sent


async def carry(source, target, size: int, sent: int, received: int = 0) -> None:
    """Move the rest of `size` bytes, of which some are on their way, and see them all arrive."""
    target.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * MIB)
    while received < size:
        sent += await push(source, size - sent) if sent < size and not target.unheard() else 0
        received += len(await target.exactly(max(1, min(target.unheard(), size - received))))


async def test_slow_upstream_holds_up_a_streamed_upload(start):
    """BODY-09: flat memory, the client is slowed down, and every byte arrives."""
    rig = await start(receive_buffer=4096)
    client, link = await rig.ask(request("PUT", "/up/", f"Content-Length: {PLENTY}"))
    await link.head()
    (served,) = rig.listener.serving()
    sent = await push(client, PLENTY)
    assert sent < KERNEL
    assert served.received < KERNEL
    await carry(client, link, PLENTY, sent)
    await link.send(answer(b"all"))
    assert (await client.until(b"all")).startswith(b"HTTP/1.1 200 ")


async def test_upload_is_not_read_ahead_of_a_handshake(start):
    rig = await start(scheme="https")
    client, _ = await rig.ask(request("PUT", "/up/", f"Content-Length: {PLENTY}"))
    (served,) = rig.listener.serving()
    assert await push(client, PLENTY) < KERNEL
    assert served.buffered < KEPT


async def test_slow_client_holds_up_the_upstream(rig):
    """SSE-08: bounded, and whole in the end."""
    client, link = await rig.ask(get("/up/"), receive_buffer=4096)
    await link.head()
    await link.send(begun(f"Content-Length: {PLENTY}"))
    await client.head()
    (connection,) = rig.listener.connections
    sent = await push(link, PLENTY)
    assert sent < KERNEL
    assert 0 < connection.unsent() < KEPT
    await carry(link, client, PLENTY, sent)
    record = await rig.record()
    assert (record.outcome, record.bytes) == ("completed", PLENTY)


@pytest.mark.parametrize("at_once", [True, False])
async def test_next_request_of_a_slow_client_begins_when_it_has_taken_the_answer(rig, at_once):
    """The first answer has left the upstream, but not us, when the second could begin."""
    client, link = await rig.ask(get("/up/1") + get("/up/2") * at_once, receive_buffer=4096)
    await link.head()
    (connection,) = rig.listener.connections
    narrow(connection)
    await link.send(answer(b"x" * IN_ONE_SEGMENT))
    await rig.record()
    assert connection.unsent() > 0
    if not at_once:
        await client.send(get("/up/2"))
        await becomes(lambda: len(connection._buffer) > 0 or connection.request is not None)
    other = await rig.client()
    await other.send(get("/up/other"))
    assert (await link.head()).startswith(b"GET /other ")
    assert await client.head() == begun(f"Content-Length: {IN_ONE_SEGMENT}")
    assert await client.exactly(IN_ONE_SEGMENT) == b"x" * IN_ONE_SEGMENT
    second = await rig.upstream.link()
    assert (await second.head()).startswith(b"GET /2 ")
    await second.send(answer(b"second"))
    assert await client.exactly(len(answer(b"second"))) == answer(b"second")


async def test_nothing_begins_on_a_connection_that_only_has_to_deliver_its_last_answer(rig):
    client, link = await rig.ask(get("/up/1", "Connection: close") + get("/up/2"), receive_buffer=4096)
    await link.head()
    (connection,) = rig.listener.connections
    narrow(connection)
    await link.send(answer(b"x" * IN_ONE_SEGMENT))
    await rig.record()
    assert connection.unsent() > 0
    assert await client.head() == begun(f"Content-Length: {IN_ONE_SEGMENT}", "Connection: close")
    assert await client.end() == (b"x" * IN_ONE_SEGMENT, "fin")
    await rig.at_rest()
    assert len(rig.records) == 1
    assert link.unheard() == 0


async def test_our_own_answers_to_a_client_that_does_not_read_are_bounded(rig):
    client = await rig.client(receive_buffer=4096)
    await client.send(get("/nowhere/"))
    first = await client.head() + await client.until(b"}}")
    (connection,) = rig.listener.connections
    narrow(connection)
    sent = await push(client, PLENTY, get("/nowhere/") * 1000)
    assert sent < KERNEL
    assert connection.unsent() < KEPT
    assert len(connection._buffer) < KEPT
    for _ in range(1000):
        assert await client.exactly(len(first)) == first


async def test_connection_whose_client_was_slow_serves_the_next_one(rig):
    """Reading from it was paused when its answer ended."""
    _slow, link = await rig.ask(get("/up/1"), receive_buffer=4096)
    await link.head()
    (connection,) = rig.listener.connections
    narrow(connection)
    await link.send(answer(b"x" * IN_ONE_SEGMENT))
    await rig.record()
    assert not connection.writable
    quick = await rig.client()
    await quick.send(get("/up/2"))
    assert (await link.head()).startswith(b"GET /2 ")
    await link.send(answer(b"quick"))
    assert await quick.exactly(len(answer(b"quick"))) == answer(b"quick")


async def test_body_is_not_kept_while_its_answer_streams(rig):
    client, size = await rig.client(), 16 * MIB
    await client.send(request("POST", "/up/", f"Content-Length: {size}"))
    tracemalloc.start()
    try:
        assert await push(client, size) == size
        link = await rig.upstream.link()
        await link.head()
        received = 0
        while received < size:
            received += len(await link.exactly(min(65536, size - received)))
        assert tracemalloc.get_traced_memory()[1] > size
        await link.send(begun("Content-Length: 10"))
        await client.head()
        assert tracemalloc.get_traced_memory()[0] < size / 4
    finally:
        tracemalloc.stop()


@pytest.mark.asyncio(loop_factories=["uvloop"])  # asyncio's own loop copies what it is given
async def test_large_body_is_not_copied_on_its_way(rig):
    client, size = await rig.client(), 16 * MIB
    await client.send(request("POST", "/up/", f"Content-Length: {size}"))
    tracemalloc.start()
    try:
        assert await push(client, size) == size
        link = await rig.upstream.link()
        await link.head()
        assert tracemalloc.get_traced_memory()[0] < 1.5 * size
    finally:
        tracemalloc.stop()
    await link.exactly(size)


async def test_pipelined_bytes_are_bounded(rig):
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    (connection,) = rig.listener.connections
    assert await push(client, PLENTY) < KERNEL
    assert len(connection._buffer) < KEPT


async def test_both_directions_of_a_tunnel_are_held_up(start):
    rig = await start(receive_buffer=4096)
    client, link = await rig.ask(get("/up/", "Connection: Upgrade", "Upgrade: websocket"), receive_buffer=4096)
    await link.head()
    await link.send(begun("Connection: Upgrade", "Upgrade: websocket", status="101 Switching Protocols"))
    await client.head()
    (connection,) = rig.listener.connections
    down, up = await push(link, PLENTY), await push(client, PLENTY)
    assert down < KERNEL
    assert up < KERNEL
    assert 0 < connection.unsent() < KEPT
    await carry(link, client, PLENTY, down)
    await carry(client, link, PLENTY, up)


async def test_answer_that_has_ended_and_is_not_taken_yet_keeps_a_drain_waiting(rig):
    client, link = await rig.ask(get("/up/"), receive_buffer=4096)
    await link.head()
    (connection,) = rig.listener.connections
    narrow(connection)
    await link.send(answer(b"x" * IN_ONE_SEGMENT))
    await becomes(lambda: not rig.listener.serving(), "its request has ended")
    assert rig.listener.busy()
    await client.exactly(len(answer(b"x" * IN_ONE_SEGMENT)))
    await becomes(lambda: not rig.listener.busy(), "it is taken")


async def test_client_that_takes_nothing_of_its_last_answer_is_let_go(rig, monkeypatch):
    monkeypatch.setattr("proxy.wire.client.LINGER_S", 0.05)
    monkeypatch.setattr("proxy.wire.drain.TIME_S", 0.05)
    client, link = await rig.ask(get("/up/", "Connection: close"), receive_buffer=4096)
    await link.head()
    (connection,) = rig.listener.connections
    narrow(connection)
    await link.send(answer(b"x" * IN_ONE_SEGMENT))
    await becomes(lambda: not rig.listener.connections, "the connection is gone")
    assert (await client.end())[1] == "rst"
