# Every way in which a request can end, played from both sides.
#
# Rule 1: when an ending returns, what happened has begun to be seen by the proxy; the peers may still be open.

import asyncio
from collections.abc import Awaitable, Callable

from rawsides.message import CHUNKED, answer, begun, chunk, get, post, request
from rawsides.rig import Rig, becomes

BODY = b"x" * 20_000
UPGRADE = ("Connection: Upgrade", "Upgrade: websocket")
Ending = Callable[[Rig], Awaitable[None]]


async def completed(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/messages", BODY))
    await link.until(BODY)
    await link.send(answer(b"whole"))
    await client.until(b"whole")


async def completed_uncounted(rig: Rig) -> None:
    client, link = await rig.ask(get("/up/v1/models"))
    await link.head()
    await link.send(answer(b"whole"))
    await client.until(b"whole")


async def left_inside_its_body(rig: Rig) -> None:
    client = await rig.client()
    await client.send(post("/up/v1/messages", BODY)[:-1])
    await becomes(lambda: bool(rig.listener.serving()))
    client.reset()


async def left_inside_a_streamed_body(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/files", BODY)[:-1])
    await link.until(b"xxx")
    client.reset()


async def left_in_the_queue(rig: Rig) -> None:
    first, link = await rig.ask(post("/up/v1/messages", BODY))
    await link.head()
    second = await rig.client()
    await second.send(post("/up/v1/messages", BODY))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    second.reset()
    await becomes(lambda: len(rig.scheduler.waiting) == 0)
    await link.send(answer(b"whole"))
    await first.until(b"whole")


async def left_before_the_answer(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/messages", BODY))
    await link.until(BODY)
    client.reset()


async def left_in_the_stream(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/messages", BODY))
    await link.head()
    await link.send(begun(CHUNKED) + chunk(b"one"))
    await client.until(b"one")
    client.reset()


async def left_with_more_behind(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/messages", BODY) * 3)
    await link.head()
    await link.send(answer(b"whole"))
    await client.until(b"whole")
    client.reset()


async def left_its_tunnel(rig: Rig) -> None:
    client, link = await rig.ask(get("/up/v1/realtime", *UPGRADE))
    await link.head()
    await link.send(begun(*UPGRADE, status="101 Switching Protocols") + b"hello")
    await client.until(b"hello")
    client.reset()


async def cut_in_the_stream(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/messages", BODY))
    await link.head()
    await link.send(begun(CHUNKED) + chunk(b"one"))
    await client.until(b"one")
    link.reset()
    await client.end()


async def cut_before_the_answer(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/messages", BODY))
    await link.head()
    link.reset()
    await client.until(b"upstream_bad_response")


async def answered_with_nonsense(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/messages", BODY))
    await link.head()
    await link.send(b"HTTP/1.1 nonsense\r\n\r\n")
    await client.until(b"upstream_bad_response")


async def answered_with_an_error(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/messages", BODY))
    await link.head()
    await link.send(answer(b"whole", status="500 Oops"))
    await client.until(b"whole")


async def refused_for_its_size(rig: Rig) -> None:
    client = await rig.client()
    await client.send(request("POST", "/up/v1/messages", "Content-Length: 1000000000000") + BODY)
    await client.until(b"body_too_large")


async def refused_for_its_framing(rig: Rig) -> None:
    client = await rig.client()
    await client.send(request("POST", "/up/v1/messages", CHUNKED) + chunk(BODY))
    await becomes(lambda: bool(rig.listener.serving()))
    await client.send(b"nonsense\r\n")
    await client.until(b"bad_request")


async def resent_on_a_fresh_connection(rig: Rig) -> None:
    client, link = await rig.ask(get("/up/v1/models"))
    await link.head()
    await link.send(answer(b"first"))
    await client.until(b"first")
    await client.send(post("/up/v1/messages", BODY))
    await link.until(BODY)
    link.reset()
    fresh = await rig.upstream.link()
    await fresh.head()
    await fresh.send(answer(b"second"))
    await client.until(b"second")


async def reclaimed(rig: Rig) -> None:
    client, link = await rig.ask(post("/up/v1/messages", BODY))
    await link.until(BODY)
    admission = rig.admission
    admission.apply(admission.scheduler.reclaim_overdue(asyncio.get_running_loop().time() + 1_000_000))
    await client.until(b"reclaimed")


ENDINGS: tuple[Ending, ...] = (
    *(completed, completed_uncounted, left_inside_its_body, left_inside_a_streamed_body, left_in_the_queue),
    *(left_before_the_answer, left_in_the_stream, left_with_more_behind, left_its_tunnel, cut_in_the_stream),
    *(cut_before_the_answer, answered_with_nonsense, answered_with_an_error, refused_for_its_size),
    *(refused_for_its_framing, resent_on_a_fresh_connection, reclaimed),
)
