# Server-sent events (spec §14): what happens, as it happens.
#
# Rule 1: a reader that is slow is dropped by the stream; its connection is aborted, since it may hang in a write.
# Rule 2: silence is broken every HEARTBEAT_S, so that a reader that has gone is noticed and one that listens knows that
#         it is still connected.

import asyncio

from aiohttp import ClientConnectionError, web

from proxy.service.events import Subscription
from proxy.service.runtime import Runtime
from proxy.web.admin.call import Answer, Call

HEARTBEAT_S = 15.0  # well under the 60 s after which proxies in between give up
TOGETHER = 100  # events in one write, some 30 kB: what one burst says costs a reader one system call
_HEARTBEAT = b":\n\n"
_ID_DIGITS = 20
_MEDIA = "text/event-stream"


async def stream(runtime: Runtime, request: web.Request) -> web.StreamResponse:
    """Everything from now on, after what is kept since `Last-Event-ID`."""
    response = web.StreamResponse(headers={"Content-Type": _MEDIA})
    with runtime.telemetry.events.subscribe(_last_id(request)) as events:
        events.on_drop(lambda: _abort(request))
        try:
            await response.prepare(request)
            await tell(events, response, HEARTBEAT_S)
        except ClientConnectionError:
            pass  # the reader has gone, or was dropped
    return response


async def tell(events: Subscription, response: web.StreamResponse, heartbeat_s: float) -> None:
    """Write every event, and a comment into each silence of `heartbeat_s`, until the events end."""
    while True:
        try:
            async with asyncio.timeout(heartbeat_s):
                event = await anext(events)
        except TimeoutError:
            await response.write(_HEARTBEAT)
        except StopAsyncIteration:
            return
        else:
            more = events.take(TOGETHER)
            await response.write(b"".join([each.text for each in (event, *more)]))
            if len(more) == TOGETHER:
                await asyncio.sleep(0)  # a write need not wait, and requests do not for a reader


def _last_id(request: web.Request) -> int | None:
    text = request.headers.get("Last-Event-ID", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _ID_DIGITS else None


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


CALLS = (
    Call(
        method="GET",
        path="/concurrency/events",
        says="What happens, as server-sent events; Last-Event-ID resumes from the last 1,000",
        handler=stream,
        answers={200: Answer(says="Events, until the proxy ends", media=_MEDIA)},
    ),
)
