# A provider made of sockets: it sees every byte, does what the test says, and enforces its limit like a real one.
#
# Rule 1: a counted call is open from its head until the last byte of its answer has left, or until either side closed
#         the connection; more open than `limit` is a violation, answered 429, and never forgotten.
# Rule 2: a call without a behaviour is held until the test does something with it.

import asyncio
import select
from collections.abc import Awaitable, Callable
from typing import Any

from blackbox.call import Call, Connection
from blackbox.message import Head
from blackbox.waiting import PATIENCE, until

Behaviour = Callable[[Call], Awaitable[None]]


class FakeUpstream:
    """A listening provider. Every POST is counted, or what `counts` says; `limit` is what it enforces, `lag` how long
    its own books keep a call that has ended."""

    def __init__(self, *, limit: int | None = None, lag: float = 0.0) -> None:
        self.limit, self.lag = limit, lag
        self.behaviour: Behaviour = hold
        self.counts: Callable[[Head], bool] = _is_post
        self.usage: Usage | None = None
        self.port = 0
        self.failures: list[BaseException] = []  # of behaviours: a fault of the test
        self.connections: list[Connection] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: list[asyncio.TimerHandle] = []
        self.clear()

    def clear(self) -> None:
        """Forgets what it saw. Open calls stay counted."""
        self.calls: list[Call] = []
        self.violations: list[Call] = []
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self.open = sum(1 for c in self.connections for call in c.calls if call.counted and not call.done.is_set())
        self.peak = self.open
        self._taken = 0

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self), "127.0.0.1", self.port, backlog=4096, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        self.drop()
        for timer in self._timers:
            timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await until(lambda: all(c.closed for c in self.connections))
        assert not self.failures, self.failures

    def drop(self) -> None:
        """Resets every connection."""
        for connection in self.connections:
            connection.transport.abort()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def names(self) -> list[str | None]:
        """The counted calls in the order of their arrival, by name."""
        return [call.name for call in self.calls if call.counted]

    async def call(self, *, timeout: float = PATIENCE) -> Call:
        """The next call that nobody has taken yet, in the order of arrival."""
        await until(lambda: len(self.calls) > self._taken, timeout=timeout, every=0.002, what="a call to the upstream")
        self._taken += 1
        return self.calls[self._taken - 1]

    async def take(self, count: int) -> list[Call]:
        return [await self.call() for _ in range(count)]

    # --- what connections tell -------------------------------------------------------------------------------------

    def opened(self, connection: Connection, head: Head) -> Call:
        call = Call(connection, head, counted=self.counts(head))
        if call.counted:
            self.open += 1
        return call

    def closed(self, call: Call) -> None:
        if not call.counted:
            return
        if self.lag and not call.refused:
            self._timers.append(asyncio.get_running_loop().call_later(self.lag, self._forget))
        else:
            self._forget()

    def _forget(self) -> None:
        self.open -= 1

    def ready(self, call: Call) -> None:
        if self.usage is not None and call.head.method == "GET" and call.head.target.startswith(self.usage.path):
            self._spawn(self.usage.serve(call))
        else:
            self._spawn(self._serve(call))

    async def _serve(self, call: Call) -> None:
        # A close and the next request can be told of in one turn of the loop, the close's callback one turn later.
        for _ in range(3):
            await asyncio.sleep(0)
        self.calls.append(call)
        if call.done.is_set():
            return
        call.open_then = open_now = self.open - self._left_unnoticed()
        self.peak = max(self.peak, open_now)
        if call.counted and self.limit is not None and open_now > self.limit:
            call.refused = True
            self.violations.append(call)
            await call.answer(429, b'{"error":{"message":"too many concurrent requests"}}')
        else:
            await self.behaviour(call)

    def _left_unnoticed(self) -> int:
        """Open calls whose connection the other side has closed, though our loop has not been told yet."""
        polling, found = select.poll(), {}
        for connection in self.connections:
            calls = sum(1 for call in connection.calls if call.counted and not call.done.is_set())
            sock = connection.transport.get_extra_info("socket")
            if calls and sock is not None and sock.fileno() >= 0:
                polling.register(sock.fileno(), select.POLLRDHUP)
                found[sock.fileno()] = calls
        return sum(found[fd] for fd, _ in polling.poll(0))

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(error)


class Usage:
    """The usage endpoint: says `number`, or what `answer` does instead."""

    def __init__(self, number: int = 0, *, path: str = "/v1/usage") -> None:
        self.number = number
        self.path = path
        self.answer: Behaviour | None = None
        self.polls: list[Call] = []
        self.open = self.peak = 0

    async def serve(self, call: Call) -> None:
        self.polls.append(call)
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            if self.answer is None:
                await call.answer(200, b'{"usage":{"concurrent_sessions":%d}}' % self.number)
            else:
                await self.answer(call)
            await call.done.wait()
        finally:
            self.open -= 1


async def hold(call: Call) -> None:
    """Leaves the call to the test."""


def _is_post(head: Head) -> bool:
    return head.method == "POST"
