# What a request leaves behind is freed when it ends, not when the garbage collector comes: that one looks at how many
# objects there are, and a body of 60 MB is one. A ring of references shows as an object that only the collector finds.

import gc

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request
from rawsides.rig import Rig, becomes

from proxy.wire.request import Request

UPGRADE = get("/up/ws", "Connection: Upgrade", "Upgrade: websocket")
SWITCHED = begun("Upgrade: websocket", "Connection: Upgrade", status="101 Switching Protocols")


async def answered(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + chunk(b"data: 1\n\n") + LAST_CHUNK)
    await client.until(LAST_CHUNK)
    client.close()


async def uncounted(rig: Rig) -> None:
    client, link = await rig.ask(request("PUT", "/up/", CHUNKED) + LAST_CHUNK)
    await link.until(LAST_CHUNK)
    await link.send(answer(b"ok"))
    await client.until(b"ok")
    client.close()


async def refused_by_the_upstream(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(answer(b"no", status="400 Bad Request"))
    await client.until(b"no")
    client.close()


async def left_while_waiting(rig: Rig) -> None:
    holder, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(post("/up/", b"x" * 100_000))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    client.close()
    await becomes(lambda: not rig.scheduler.waiting)
    await link.send(answer(b"ok"))
    await holder.until(b"ok")


async def left_in_the_middle(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + chunk(b"part"))
    await client.until(b"part")
    client.reset()
    await link.end()


async def left_while_uploading(rig: Rig) -> None:
    client = await rig.client()
    await client.send(request("POST", "/up/", "Content-Length: 2000000") + b"x" * 1_000_000)
    await becomes(lambda: rig.forwarder._budget.used == 1_000_000)
    client.close()


async def cut_by_the_upstream(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + chunk(b"part"))
    link.reset()
    await client.end()


async def tunnelled(rig: Rig) -> None:
    client, link = await rig.ask(UPGRADE)
    await link.head()
    await link.send(SWITCHED)
    await client.head()
    await client.send(b"frame")
    await link.exactly(5)
    client.close()
    await link.end()


@pytest.mark.parametrize(
    "life",
    [
        answered,
        uncounted,
        refused_by_the_upstream,
        left_while_waiting,
        left_in_the_middle,
        left_while_uploading,
        cut_by_the_upstream,
        tunnelled,
    ],
)
async def test_request_that_has_ended_is_freed_without_the_collector(start, life):
    rig = await start({"limit": 1, "reuse": False})
    await life(rig)  # once before: what is made once stays
    await rig.at_rest()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        await life(rig)
        await becomes(lambda: not rig.listener.connections or rig.listener.serving() == [], "it has ended")
        await rig.at_rest()
        gc.collect()
        assert [found for found in gc.garbage if isinstance(found, Request)] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
