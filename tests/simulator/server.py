# The account as a real HTTP server: streamed answers in two dialects, refusals in many, a usage count.
#
# Rule 1: an answer takes `hold_s`, in events of EVERY_S; a client that leaves ends it, as it does at a real provider.
# Rule 2: every event says "k/n", so that whoever reads a whole answer can tell that it is whole.

import asyncio
import contextlib
import json
import math
import random
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from aiohttp import web

from .dialects import refusal
from .provider import Account, Refusal, Taken, Terms

EVERY_S = 0.05  # between two events
USAGE_PATH, SEEN_PATH = "/v1/usage", "/simulator"
_STREAM = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


class Server:
    """One provider. `url` is its base URL; `account` says what it has seen."""

    def __init__(self, terms: Terms, *, seed: int = 1) -> None:
        self.account = Account(terms, random.Random(f"account {seed}"), time.time())
        self.url = ""
        self._chance = random.Random(f"server {seed}")
        self._offset = time.time() - time.monotonic()

    @property
    def now(self) -> float:
        """Epoch seconds that never go back."""
        return time.monotonic() + self._offset

    def application(self) -> web.Application:
        application = web.Application(client_max_size=64 * 1024 * 1024)
        application.router.add_get(USAGE_PATH, self._usage)
        application.router.add_get(SEEN_PATH, self._tell)
        application.router.add_post("/{path:.*}", self._answer)
        return application

    def seen(self) -> dict[str, Any]:
        """What it has seen until now."""
        seen, strikes = self.account.seen, self.account.strikes
        return {
            "answered": seen.taken,
            "open": self.account.open,
            "counted": self.account.counted(self.now),
            "peak": seen.peak,
            "refused": {str(reason): count for reason, count in sorted(seen.refused.items())},
            "strikes": strikes.count,
            "lockouts": strikes.lockouts,
            "polls": seen.polls,
        }

    # --- answers ---

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        asked = await _asked(request)
        tokens = len(await request.read()) // 4 + 1
        taken = self.account.begin(self.now, tokens=tokens, model=str(asked.get("model", "")))
        if isinstance(taken, Refusal):
            return await self._refuse(request, taken)
        try:
            return await self._give(request, taken, asked)
        finally:
            self.account.end(taken, self.now)

    async def _refuse(self, request: web.Request, said: Refusal) -> web.StreamResponse:
        answer = refusal(self.account.terms.dialect, said, self.now)
        headers = [*answer.headers, *self.account.headers(self.now)]
        if self._chance.random() >= self.account.terms.in_stream:
            return web.Response(status=answer.status, headers=_fields(headers), body=answer.body)
        response = web.StreamResponse(headers=_STREAM)
        await response.prepare(request)
        await response.write(answer.frame)
        await response.write_eof()
        return response

    async def _give(self, request: web.Request, taken: Taken, asked: dict[str, Any]) -> web.StreamResponse:
        lasts_s = self.account.terms.hold_s.draw(self._chance) * taken.slowness
        headers = _fields(self.account.headers(self.now))
        anthropic = request.path.endswith("/messages")
        if asked.get("stream") is False:
            await asyncio.sleep(lasts_s)
            return web.json_response(_anthropic_whole() if anthropic else _openai_whole(), headers=headers)
        response = web.StreamResponse(headers={**_STREAM, **headers})
        await response.prepare(request)
        count = max(1, math.ceil(lasts_s / EVERY_S))
        for event in (_anthropic_events if anthropic else _openai_events)(count):
            if event is None:
                await asyncio.sleep(lasts_s / count)
            else:
                await response.write(event)
        self.account.end(taken, self.now)  # the last byte is out: what else the connection does is not an answer
        await response.write_eof()
        return response

    async def _usage(self, request: web.Request) -> web.Response:
        terms = self.account.terms
        there_s = terms.usage_latency_s.draw(self._chance) / 2
        await asyncio.sleep(there_s)
        count = self.account.usage(self.now)
        await asyncio.sleep(there_s)
        if count is None:
            return web.json_response({"error": "unavailable"}, status=503)
        limits = {"concurrency": {"limit": terms.limit}}
        return web.json_response({"usage": {"concurrent_sessions": count}, "limits": limits})

    async def _tell(self, request: web.Request) -> web.Response:
        return web.json_response(self.seen())


@contextlib.asynccontextmanager
async def serving(terms: Terms, *, seed: int = 1, port: int = 0) -> AsyncIterator[Server]:
    """A provider on 127.0.0.1, stopped at the end."""
    server = Server(terms, seed=seed)
    # A handler whose client has left is cancelled: then its answer is over.
    runner = web.AppRunner(server.application(), handler_cancellation=True, access_log=None, shutdown_timeout=0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()


def serve_until_interrupted(terms: Terms, *, port: int, seed: int) -> None:
    """Print the URL, serve, and print at the end what was seen."""

    async def serve() -> None:
        async with serving(terms, seed=seed, port=port) as server:
            print(server.url, flush=True)
            try:
                await asyncio.Event().wait()
            finally:
                for name, value in server.seen().items():
                    print(f"{name:>10}  {value}", flush=True)

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())


def _fields(lines: list[tuple[str, str]]) -> dict[str, str]:
    return dict(lines)


async def _asked(request: web.Request) -> dict[str, Any]:
    try:
        asked = json.loads(await request.read())
    except ValueError:
        return {}
    return asked if isinstance(asked, dict) else {}


# None stands for the pause before the next event.
def _anthropic_events(count: int) -> Iterator[bytes | None]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
    yield _event("message_start", {"message": message})
    yield _event("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})
    for number in range(1, count + 1):
        yield None
        delta = {"type": "text_delta", "text": f"{number}/{count} "}
        yield _event("content_block_delta", {"index": 0, "delta": delta})
    yield _event("content_block_stop", {"index": 0})
    yield _event("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": count}})
    yield _event("message_stop", {})


def _openai_events(count: int) -> Iterator[bytes | None]:
    for number in range(1, count + 1):
        yield None
        yield _data(_chunk({"content": f"{number}/{count} "}, None))
    yield _data(_chunk({}, "stop"))
    yield b"data: [DONE]\n\n"


def _event(name: str, fields: dict[str, Any]) -> bytes:
    return f"event: {name}\n".encode() + _data({"type": name, **fields})


def _data(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _chunk(delta: dict[str, str], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}


def _anthropic_whole() -> dict[str, Any]:
    content = [{"type": "text", "text": "1/1"}]
    return {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}


def _openai_whole() -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": "1/1"}, "finish_reason": "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}
