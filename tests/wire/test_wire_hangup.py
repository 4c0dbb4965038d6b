# A client that leaves while backpressure keeps it from being read is noticed all the same, and at once.
#
# A FIN that stands behind bytes which nobody takes does not arrive, whoever listens: the kernel is asked who is there.

import asyncio

import pytest
from rawsides.message import begun, get, post, request
from rawsides.rig import becomes

BIG = b"x" * 65536
UPGRADE = get("/up/ws", "Connection: Upgrade", "Upgrade: websocket")
SWITCHED = begun("Upgrade: websocket", "Connection: Upgrade", status="101 Switching Protocols")


async def sent_until_stuck(peer) -> None:
    """Send until nothing more is taken for a while: whoever should read does not."""
    quiet = 0
    while quiet < 20:
        quiet = 0 if peer.send_what_fits(BIG) else quiet + 1
        await asyncio.sleep(0.005)


async def test_waiter_that_has_pipelined_more_than_sockets_hold_leaves_the_queue_with_its_client(start):
    rig = await start({"limit": 1})
    _, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    waiting = await rig.client()
    await waiting.send(post("/up/", b"{}"))
    await becomes(lambda: len(rig.scheduler.waiting) == 1, "one waits")
    await sent_until_stuck(waiting)
    waiting.close()
    await becomes(lambda: len(rig.scheduler.waiting) == 0, "the queue is empty")


async def test_upload_to_an_upstream_that_does_not_read_ends_with_its_client_also_by_a_fin(start):
    rig = await start(receive_buffer=4096)
    client, link = await rig.ask(request("POST", "/up/v1/files", "Content-Length: 1000000000"))
    await link.head()
    await sent_until_stuck(client)
    client.close()
    await becomes(lambda: not rig.listener.connections, "the client's connection is gone")
    await link.end()


async def test_tunnel_whose_upstream_does_not_read_ends_with_its_client(start):
    rig = await start({"limit": 1}, receive_buffer=4096)
    client, link = await rig.ask(UPGRADE)
    await link.head()
    await link.send(SWITCHED)
    await client.head()
    await sent_until_stuck(client)
    client.reset()
    await becomes(lambda: rig.scheduler.held == 0, "the slot is free")
    await link.end()


async def test_upload_to_an_upstream_that_does_not_read_ends_with_its_client(start):
    rig = await start(receive_buffer=4096)
    client, link = await rig.ask(request("POST", "/up/v1/files", "Content-Length: 1000000000"))
    await link.head()
    await sent_until_stuck(client)
    client.reset()
    await becomes(lambda: not rig.listener.connections, "the client's connection is gone")
    await link.end()


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_waiter_that_has_pipelined_too_much_leaves_the_queue_with_its_client(start, how):
    rig = await start({"limit": 1})
    _, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    waiting = await rig.client()
    await waiting.send(post("/up/", b"{}") + BIG)
    await becomes(lambda: len(rig.scheduler.waiting) == 1, "one waits")
    waiting.send_what_fits(BIG)
    waiting.close() if how == "fin" else waiting.reset()
    await becomes(lambda: len(rig.scheduler.waiting) == 0, "the queue is empty")


async def test_who_is_held_up_and_stays_is_served(start):
    rig = await start({"limit": 1})
    _, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    waiting = await rig.client()
    await waiting.send(post("/up/a", b"{}") + post("/up/b", BIG + BIG))
    await becomes(lambda: len(rig.scheduler.waiting) == 1, "one waits")
    await link.send(begun("Content-Length: 2") + b"ok")
    assert (await link.until(b"{}")).startswith(b"POST /a")
    await link.send(begun("Content-Length: 2") + b"ok")
    assert (await link.head()).startswith(b"POST /b")
    await link.exactly(len(BIG + BIG))


async def test_stuck_tunnel_is_reclaimed_and_an_idle_one_is_not(start):
    """§9: what waits for a side that does not read is no progress; a tunnel on which nobody says anything is idle."""
    rig = await start({"limit": 2, "slot_timeout": "100ms"}, receive_buffer=4096)
    idle, idle_link = await rig.ask(UPGRADE)
    await idle_link.head()
    await idle_link.send(SWITCHED)
    await idle.head()
    stuck, stuck_link = await rig.ask(UPGRADE)
    await stuck_link.head()
    await stuck_link.send(SWITCHED)
    await stuck.head()
    await sent_until_stuck(stuck)

    def watched_until_one_is_left() -> bool:
        rig.admission.watch()
        return rig.scheduler.held == 1

    await becomes(watched_until_one_is_left, "the stuck tunnel is taken back")
    await stuck.end()
    await idle.send(b"still here")
    await idle_link.until(b"still here")


async def test_interim_answers_and_the_bytes_of_a_head_are_progress(start):
    rig = await start({"limit": 1})
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    (slot,) = rig.scheduler.slots()
    for data in (b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 200 OK\r\n", b"Content-Length: 2\r\n"):
        before = slot.last_byte_at
        await asyncio.sleep(0.01)
        await link.send(data)
        await becomes(lambda before=before: slot.last_byte_at > before, f"{data!r} moved")
    await link.send(b"\r\nok")
    await client.until(b"\r\n\r\nok")
