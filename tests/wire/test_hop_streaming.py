# Streams behind any hop: each piece is on its way the moment it comes, and who does not read holds up the other side.

import asyncio
import socket

import pytest
from rawsides.hop import carried, folded, heard, trailers
from rawsides.message import CHUNKED, LAST_CHUNK, begun, chunk, get, post, request

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

MIB = 1024 * 1024
PLENTY = 32 * MIB
KERNEL = 20 * MIB  # more than two sockets on the loopback take by themselves, and what a hop may keep between them


async def push(peer, size: int) -> int:
    """Send up to `size` bytes, until nothing has moved for many turns of the loop: how many were taken."""
    sent, idle = 0, 0
    while sent < size and idle < 50:
        taken = peer.send_what_fits(bytes(min(65536, size - sent)))
        sent += taken
        idle = 0 if taken else idle + 1
        await asyncio.sleep(0 if taken else 0.002)
    return sent


async def drain(peer, size: int) -> None:
    """Take `size` bytes, now with a buffer that lets them through."""
    peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * MIB)
    left = size
    while left:
        left -= len(await peer.exactly(min(left, MIB)))


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("framing", [CHUNKED, "Content-Length: 1000", "X-Framed: by close"])
async def test_head_and_every_event_are_passed_on_the_moment_they_come(hop, kind, framing):
    client, link = await hop.ask(post("/x", b"{}"))
    await link.until(b"{}")
    await link.send(begun(f"Content-Type: {kind}", framing))
    closing = ["Connection: close"] * ("close" in framing)
    assert await heard(client) == folded(begun(f"Content-Type: {kind}", framing, *closing))
    for number in range(10):
        event = b"data: %d\n\n" % number
        await link.send(chunk(event) if framing == CHUNKED else event)
        assert await (carried if framing == CHUNKED else type(client).exactly)(client, len(event)) == event


@pytest.mark.parametrize("size", [1, 32768, 65536, 131072, 262144])
async def test_chunk_of_any_size_arrives_before_the_next_one(hop, size):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(begun(CHUNKED))
    assert await heard(client) == folded(begun(CHUNKED))
    for _ in range(2):
        await link.send(chunk(b"x" * size))
        assert await carried(client, size) == b"x" * size
    await link.send(LAST_CHUNK)
    assert await trailers(client) == []


async def test_many_tiny_chunks_in_one_segment(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(begun(CHUNKED) + b"".join(chunk(b"%04d" % number) for number in range(3000)) + LAST_CHUNK)
    await client.head()
    assert await carried(client, 12_000) == b"".join(b"%04d" % number for number in range(3000))
    assert await trailers(client) == []


@pytest.mark.parametrize("step", [1, 2, 5])
async def test_answer_in_any_pieces(hop, step):
    client, link = await hop.ask(get("/x"))
    await link.head()
    whole = begun(CHUNKED, "X-A: b") + chunk(b"0123456789") + chunk(b"abc") + b"0\r\nX-T: u\r\n\r\n"
    for at in range(0, len(whole), step):
        await link.send(whole[at : at + step])
    assert await heard(client) == folded(begun(CHUNKED, "X-A: b"))
    assert await carried(client, 13) == b"0123456789abc"
    assert await trailers(client) == [(b"x-t", b"u")]


async def test_question_and_answer_stream_at_once(hop):
    client, link = await hop.ask(request("PUT", "/x", CHUNKED) + chunk(b"one"))
    await link.head()
    assert await carried(link, 3) == b"one"
    await link.send(begun(CHUNKED) + chunk(b"answer to one"))
    assert (await heard(client)).first == b"HTTP/1.1 200 OK"
    assert await carried(client, 13) == b"answer to one"
    await client.send(chunk(b"two") + LAST_CHUNK)
    assert await carried(link, 3) == b"two"
    assert await trailers(link) == []
    await link.send(chunk(b"answer to two") + LAST_CHUNK)
    assert await carried(client, 13) == b"answer to two"
    assert await trailers(client) == []


async def test_slow_client_holds_up_the_upstream(hop):
    client, link = await hop.ask(get("/x"), receive_buffer=4096)
    await link.head()
    await link.send(begun(f"Content-Length: {PLENTY}"))
    await client.head()
    sent = await push(link, PLENTY)
    assert sent < KERNEL
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(link.send(bytes(PLENTY - sent)))
        await drain(client, PLENTY)


async def test_slow_upstream_holds_up_an_upload(start_hop):
    hop = await start_hop(receive_buffer=4096)
    client, link = await hop.ask(request("PUT", "/x", f"Content-Length: {PLENTY}"))
    await link.head()
    sent = await push(client, PLENTY)
    assert sent < KERNEL
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.send(bytes(PLENTY - sent)))
        await drain(link, PLENTY)
