# The simulated provider: an HTTP server on a free port of this machine, with one account.
#
# Rule 1: an answer ends for the account before its last byte is sent: nobody can know of the end and come too early.

import asyncio
import json
import math

from aiohttp import web

from proxy.demo.account import Account, Refusal
from proxy.demo.answers import plan, refusal
from proxy.demo.journal import Journal
from proxy.demo.terms import REFUSED_S, Terms


class Provider:
    """Between `start` and `close` it answers at `url`."""

    def __init__(self, terms: Terms, journal: Journal) -> None:
        self._terms, self._journal = terms, journal
        self._chance = terms.chance("provider")
        self.account = Account(terms, terms.chance("account"))
        self.url = ""
        app = web.Application()
        app.router.add_post("/v1/messages", self._messages)
        # A request whose client has left counts no longer.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)

    async def start(self) -> None:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0]
        self.url = f"http://{host}:{port}"

    async def close(self) -> None:
        await self._runner.cleanup()

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        asked = json.loads(await request.read())
        now = asyncio.get_running_loop().time
        taken = self.account.begin(now())
        if isinstance(taken, Refusal):
            headers, body = refusal(math.ceil(REFUSED_S / self._terms.speed))
            self._journal.tell("provider_refused", why=taken, limit=self._terms.limit)
            return web.Response(status=429, headers=headers, body=body)
        try:
            answer = plan(asked, self._terms, self._chance)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
            await asyncio.sleep(answer.first_byte_s)
            await response.prepare(request)
            for piece in answer.pieces[:-1]:
                await response.write(piece)
                await asyncio.sleep(answer.pause_s)
            self.account.end(taken, now())
            await response.write(answer.pieces[-1])
            await response.write_eof()
        finally:
            self.account.end(taken, now())
        return response
