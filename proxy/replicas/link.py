# One replica's connections to the server that all share: one to say what happens here, one to hear what does elsewhere.
#
# Rule 1: one task calls, one call of each provider after the other, and nobody who waits can cancel it: an answer is
#         always that to its question.
# Rule 2: with one connection the other is given up too: who may have missed news announces everything anew.
# Rule 3: whatever goes wrong is tried again for ever. Only `start` fails.
# Rule 4: every provider's line says something each RENEW_S: that renews the replica's lease, finds those of the dead,
#         and shows what of our own the server does not know.

import asyncio
import random
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

from proxy.replicas import script
from proxy.replicas.line import Line, Listener
from proxy.replicas.server import FAILURES, Away, Server

RENEW_S = 4.0  # a third of a lease, and a little less
BACKOFF_S, BACKOFF_MAX_S = 0.05, 1.0
DEAF_S = 5.0  # without any news: is the connection still there?
SLOW_S = 2.0  # a call that takes longer is told as a server that is away
NAMES = 10_000  # replicas are numbered; the number is in their requests' ids, which are exact in the server's script
LEAVE_S = 2.0
NEW = "not connected yet"


class Link:
    """`changed` is told why the server is away, or None when it is back; `complain` of what should not be."""

    def __init__(
        self,
        server: Server,
        *,
        now: Callable[[], float],
        changed: Callable[[str | None], None],
        complain: Callable[[BaseException], None],
    ) -> None:
        self.replica = ""
        self.number = 0
        self._server = server
        self._now = now
        self._changed = changed
        self._complain = complain
        self._channel = f"{server.prefix}:news:"
        self._lines: dict[str, Line] = {}
        self._wanted = asyncio.Event()
        self._away: str | None = NEW
        self._calling_since: float | None = None
        self._run: str | None = None
        self._sha = ""
        self._source = script.source()

    def __repr__(self) -> str:
        return f"<Link {self.replica} to {self._server.name}, {len(self._lines)} lines, {self._away or 'connected'}>"

    @property
    def away(self) -> str | None:
        """Why the server cannot be asked now; None: it can."""
        since = self._calling_since
        if self._away is None and since is not None and self._now() - since > SLOW_S:
            return f"state {self._server.name}: no answer for {self._now() - since:.0f} s"
        return self._away

    def line(self, provider_id: str, listener: Listener) -> Line:
        """A provider's; its name is the hash tag, so that all of its keys lie on one node of a cluster."""
        line = Line(f"{self._server.prefix}:{{{provider_id}}}:", listener, self._wanted.set)
        self._lines[line.key] = line
        return line

    async def start(self) -> list[str]:
        """Become a replica; what a person should be warned of. Away: the server cannot be used."""
        client = self._server.client()
        try:
            warnings = await self._server.prepare(client)
            self.number = int(await client.incr(f"{self._server.prefix}:replicas")) % NAMES
        except FAILURES as error:
            raise self._server.away(error) from error
        finally:
            await client.aclose()
        self.replica = f"{socket.gethostname().replace(':', '.')}-{self.number}"
        return warnings

    async def run(self) -> None:
        """Call and listen, for ever."""
        backoff_s = BACKOFF_S
        while True:
            try:
                await self._session()
            except* Exception as errors:  # a fault of ours must not end it either
                error = _first(errors)
                if not isinstance(error, (Away, *FAILURES)):
                    self._complain(error)
                backoff_s = BACKOFF_S if self._away is None else min(2 * backoff_s, BACKOFF_MAX_S)
                self._interrupted(str(self._server.away(error)))
            await asyncio.sleep(backoff_s * random.uniform(0.5, 1))  # noqa: S311 - jitter is no secret

    async def leave(self) -> None:
        """Give back everything, at the end. What cannot be said is found out by the lease."""
        told = [line.ask("leave_all") for line in self._lines.values() if line.announced]
        if told and self._away is None:
            await asyncio.wait(told, timeout=LEAVE_S)

    # --- one pair of connections ---

    async def _session(self) -> None:
        async with AsyncExitStack() as connections:
            client = self._server.client()
            connections.push_async_callback(client.aclose)
            await self._server.prepare(client)
            self._run = await self._server.run_id(client)
            self._sha = await client.script_load(self._source)
            ear = await self._server.subscriber(client)
            connections.push_async_callback(ear.aclose)
            news = ear.pubsub()
            connections.push_async_callback(news.aclose)
            await news.subscribe(f"{self._channel}{self.replica}", f"{self._channel}all")
            self._back()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._call_for_ever(client), name="replica calls")
                tasks.create_task(self._hear_for_ever(news), name="replica news")
                tasks.create_task(self._renew_for_ever(), name="replica lease")

    async def _call_for_ever(self, client: Any) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            lines = [line for line in self._lines.values() if line.has_something]
            calls = [(line.key, line.call(self.replica, self._run, self._channel)) for line in lines]
            self._calling_since = self._now()
            replies = await self._server.evaluate(client, self._sha, calls)
            self._calling_since = None
            for line, packed in zip(lines, replies, strict=True):
                self._answered(line, packed)

    def _answered(self, line: Line, packed: "bytes | Exception") -> None:
        if isinstance(packed, bytes):
            line.answered(script.reply(packed))
        elif isinstance(away := self._server.refused(packed), Away):
            raise away
        else:
            line.failed(away)
            self._complain(away)

    async def _hear_for_ever(self, news: Any) -> None:
        asked = False
        while True:
            message = await news.get_message(timeout=DEAF_S)
            if message is None:
                if asked:
                    raise Away(f"state {self._server.name}: no news, and no answer to a ping")
                await news.ping()
                asked = True
                continue
            asked = False
            if message["type"] == "message":
                told = script.news(message["data"])
                line = self._lines.get(told.key)
                if line is not None and told.replica != self.replica:
                    line.heard(told)

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            for line in self._lines.values():
                line.renew()

    def _back(self) -> None:
        was_away, self._away = self._away, None
        if was_away != NEW:
            self._changed(None)
        self._wanted.set()

    def _interrupted(self, why: str) -> None:
        self._calling_since = None
        was_away, self._away = self._away, why
        for line in self._lines.values():
            line.interrupted()
        if was_away is None:
            self._changed(why)


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    found = errors.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
