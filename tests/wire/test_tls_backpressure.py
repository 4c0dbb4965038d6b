# Large bodies over TLS: whole in the end, and a side that does not read holds up the other one, not our memory.

import asyncio
import tracemalloc

import pytest
from rawsides.message import answer, begun, get, post, request
from rawsides.rig import becomes
from rawsides.tls_fixtures import authority, names, start_tls, tls_rig

__all__ = ["authority", "names", "start_tls", "tls_rig"]

MIB = 1024 * 1024
PLENTY = 24 * MIB
KERNEL = 18 * MIB  # more than two sockets on the loopback take by themselves
KEPT = 2 * MIB  # what we may keep: marks of 512 KiB for TLS and of 64 KiB below it, on each side, with room
PIECE = bytes(range(256)) * 256


async def push(peer, size: int) -> int:
    """Send up to `size` bytes as far as they are taken: how many were before nothing moved for many turns."""
    sent, idle = 0, 0
    while sent < size and idle < 30:
        at = sent % len(PIECE)  # a plain socket may take a part
        taken = peer.send_what_fits(PIECE[at : at + size - sent])
        sent += taken
        idle = 0 if taken else idle + 1
        await asyncio.sleep(0 if taken else 0.001)
    return sent


async def give(peer, size: int, sent: int = 0) -> None:
    """The rest of `size` bytes."""
    while sent < size:
        piece = PIECE[sent % len(PIECE) :]
        await peer.send(piece)
        sent += len(piece)


async def take(peer, size: int) -> None:
    """All of it, and all of it right."""
    for at in range(0, size, len(PIECE)):
        assert await peer.exactly(len(PIECE)) == PIECE, f"other bytes between {at} and {at + len(PIECE)}"


async def test_slow_client_holds_up_the_upstream(tls_rig):
    client, link = await tls_rig.ask(get("/up/"), receive_buffer=4096)
    await link.head()
    await link.send(begun(f"Content-Length: {PLENTY}"))
    await client.head()
    (connection,) = tls_rig.listener.connections
    tracemalloc.start()
    try:
        sent = await push(link, PLENTY)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert sent < KERNEL
    assert connection.unsent() < KEPT
    assert kept < 2 * KEPT  # the test's own end is in it
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(give(link, PLENTY, sent))
        await take(client, PLENTY)
    assert (await tls_rig.record()).outcome == "completed"


async def test_slow_upstream_holds_up_a_streamed_upload(start_tls):
    rig = await start_tls(receive_buffer=4096)
    client, link = await rig.ask(request("PUT", "/up/", f"Content-Length: {PLENTY}"))
    await link.head()
    (served,) = rig.listener.serving()
    sent = await push(client, PLENTY)
    assert sent < KERNEL
    assert served.received < KERNEL
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(give(client, PLENTY, sent))
        await take(link, PLENTY)
    await link.send(answer(b"all"))
    assert (await client.until(b"all")).startswith(b"HTTP/1.1 200 ")


async def test_counted_body_and_its_answer_arrive_whole(tls_rig):
    body = PIECE * (8 * MIB // len(PIECE))
    client = await tls_rig.client()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.send(post("/up/", body)))
        link = await tls_rig.upstream.link()
        await link.head()
        await take(link, len(body))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(link.send(answer(body)))
        assert await client.head() == begun(f"Content-Length: {len(body)}")
        await take(client, len(body))


@pytest.mark.parametrize("closes", [True, False])
async def test_refusal_of_an_upload_is_read_by_the_client_while_it_still_sends(tls_rig, closes):
    """BODY-05 over TLS."""
    client, link = await tls_rig.ask(request("PUT", "/up/", f"Content-Length: {8 * MIB}"))
    await link.head()
    refusal = answer(b"too large", status="413 Content Too Large")

    async def upload() -> None:
        try:
            await give(client, 8 * MIB)
        except ConnectionError:
            return  # it may be told to stop

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(upload())
        await link.send(refusal)
        if closes:
            await link.close_notify()
            link.close()
        assert await client.head() == begun("Content-Length: 9", "Connection: close", status="413 Content Too Large")
        assert await client.end() == (b"too large", "fin")
    if not closes:
        assert (await link.end())[1] in ("fin", "rst")


async def test_refusal_is_read_although_a_write_to_its_connection_failed_first(tls_rig):
    """The client's next piece, the answer and the RST behind it are here at once, in this order."""
    client, link = await tls_rig.ask(request("PUT", "/up/", "Content-Length: 10000000"))
    await link.head()
    await client.send(b"x" * 1000)
    await becomes(lambda: link.unheard() >= 1000, "the upload has begun")
    client.send_what_fits(b"x" * 1000)
    link.send_what_fits(answer(b"too large", status="413 Content Too Large"))
    link.reset()
    heard, _ = await client.end()
    assert heard.startswith(b"HTTP/1.1 413 Content Too Large\r\n")
    assert heard.endswith(b"too large")
