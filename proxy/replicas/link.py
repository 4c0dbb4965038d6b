# One replica's connections to the server that all share: one to say what happens here, one to hear what does elsewhere.
#
# Rule 1: one task calls, one call of each provider after the other, and nobody who waits can cancel it: an answer is
#         always that to its question.
# Rule 2: with one connection the other is given up too: who may have missed news announces everything anew.
# Rule 3: whatever goes wrong is tried again for ever.
# Rule 4: every provider's line says something each RENEW_S: that renews the replica's lease, finds those of the dead,
#         and shows what of our own the server does not know.

import asyncio
import random
import socket
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote, unquote

from proxy.replicas import script
from proxy.replicas.ending import end
from proxy.replicas.line import Line, Listener
from proxy.replicas.server import FAILURES, Away, Server
from proxy.replicas.server_clock import ServerClock

RENEW_S = 4.0  # a third of a lease, and a little less
BACKOFF_S, BACKOFF_MAX_S = 0.05, 1.0
DEAF_S = 5.0  # without any news: is the connection still there?
SLOW_S = 2.0  # a call that takes longer is told as a server that is away
LOOK_S = 0.5  # between looks whether a call takes too long
NAMES = range(1, 100_000)  # of replicas, by chance: a server that has forgotten the last number would give it again.
# The number is in the ids of a replica's requests, which are exact in the server's script.
LEAVE_S = 2.0
IN_KEYS = ":@/[]"  # stand in them as they are; a brace would end the hash tag
NEW = "not connected yet"


class Link:
    """`changed` is told why the server is away, or None when it is back; `heard_of` of a provider that other replicas
    know; `warn` of what is wrong with the server; `complain` of what should not be."""

    def __init__(
        self,
        server: Server,
        *,
        now: Callable[[], float],
        wall_ms: Callable[[], int],
        changed: Callable[[str | None], None],
        heard_of: Callable[[str], object],
        warn: Callable[[str], None],
        complain: Callable[[BaseException], None],
    ) -> None:
        self.number = random.choice(NAMES)  # noqa: S311 - no secret
        self.replica = f"{socket.gethostname().replace(':', '.')}-{self.number}"
        self._server = server
        self._now = now
        self._wall_ms = wall_ms
        self._changed = changed
        self._heard_of = heard_of
        self._warn = warn
        self._complain = complain
        self._channel = server.channel
        self._lines: dict[str, Line] = {}
        self._wanted = asyncio.Event()
        self._connected = asyncio.Event()
        self._away: str | None = NEW
        self._told: str | None = None  # of `away`
        self._warned: list[str] = []
        self._clock = ServerClock()
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
        line = Line(self._key(provider_id), listener, self._wanted.set)
        self._lines[line.key] = line
        return line

    def _key(self, provider_id: str) -> str:
        return f"{self._server.prefix}:{{{quote(provider_id, safe=IN_KEYS)}}}:"

    async def connected(self) -> None:
        """Wait for the first connection that `run` makes."""
        await self._connected.wait()

    async def run(self) -> None:
        """Call and listen, for ever."""
        backoff_s = BACKOFF_S
        while True:
            try:
                await self._session()
            except Exception as error:  # noqa: BLE001 - a fault of ours must not end it either
                if not isinstance(error, (Away, *FAILURES)):
                    self._complain(error)
                backoff_s = BACKOFF_S if self._away is None else min(2 * backoff_s, BACKOFF_MAX_S)
                self._interrupted(str(self._server.away(error)))
            await asyncio.sleep(backoff_s * random.uniform(0.5, 1))  # noqa: S311 - jitter is no secret

    def server_ms(self) -> int:
        """The time as the server has it, in epoch milliseconds, so that who came first at any replica is first; without
        one, this machine's."""
        ahead_s = self._clock.ahead_s
        return self._wall_ms() if ahead_s is None else round((self._now() - ahead_s) * 1000)

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
            self._look_at(await self._server.prepare(client))
            self._run = await self._server.run_id(client)
            self._sha = await client.script_load(self._source)
            ear = await self._server.subscriber(client)
            connections.push_async_callback(ear.aclose)
            news = ear.pubsub()
            connections.push_async_callback(news.aclose)
            await news.subscribe(f"{self._channel}{self.replica}", f"{self._channel}all")
            self._back()
            await _until_one_ends(
                self._call_for_ever(client), self._hear_for_ever(news), self._renew_for_ever(), self._look_for_ever()
            )

    async def _call_for_ever(self, client: Any) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            lines = [line for line in self._lines.values() if line.has_something]
            calls = [(line.key, line.call(self.replica, self._run, self._channel)) for line in lines]
            self._calling_since = called_at = self._now()
            replies = await self._server.evaluate(client, self._sha, calls)
            self._calling_since = None
            for line, packed in zip(lines, replies, strict=True):
                self._answered(line, packed, called_at)

    def _answered(self, line: Line, packed: "bytes | Exception", called_at: float) -> None:
        if isinstance(packed, bytes):
            reply = script.reply(packed)
            self._clock.heard(reply.now, called_at=called_at, now=self._now())
            line.answered(reply)
        elif isinstance(away := self._server.refused(packed), Away):
            raise away
        else:
            line.failed(self._server.away(away))
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
                if told.replica != self.replica and (line := self._line_of(told.key)) is not None:
                    line.heard(told)

    def _line_of(self, key: str) -> Line | None:
        if key not in self._lines:  # a limit may be set for a provider that nobody here has heard of
            self._heard_of(unquote(key.removeprefix(f"{self._server.prefix}:{{").removesuffix("}:")))
        return self._lines.get(key)

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            for line in self._lines.values():
                line.renew()

    async def _look_for_ever(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._tell()

    def _look_at(self, warnings: list[str]) -> None:
        for warning in warnings:
            if warning not in self._warned:
                self._warn(warning)
        self._warned = warnings

    def _back(self) -> None:
        self._away = None
        self._tell()
        self._connected.set()
        self._wanted.set()

    def _interrupted(self, why: str) -> None:
        self._calling_since = None
        self._away = why
        for line in self._lines.values():
            line.interrupted()
        self._tell()

    def _tell(self) -> None:
        """Whether the server is away, once where that is another than was told. At first it is taken to be there."""
        away = self.away
        if away != NEW and (away is None) != (self._told is None):
            self._told = away
            self._changed(away)


async def _until_one_ends(*work: Coroutine[Any, Any, None]) -> None:
    """Run all until one fails, with its error."""
    tasks = [asyncio.create_task(one, name="replica") for one in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end(tasks)
    for error in [task.exception() for task in tasks if not task.cancelled()]:  # all are asked, else asyncio complains
        if error is not None:
            raise error
