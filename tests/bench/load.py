# Who calls the fronts: callers that ask again at once, readers of streams, and calls one at a time.
#
# Rule 1: a unit counts when it has arrived whole and right; whatever was asked for and did not is lost.
# Rule 2: no caller hangs for ever: what has not come PATIENCE_S after the end is lost.

import asyncio
import random
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .bulk import transfer
from .child import Command, serve
from .messages import ANSWER, MARK, PATH, STREAM_END, dated_now, post, stamps

PATIENCE_S = 30.0
OK = b"HTTP/1.1 200 "
ROOM = 400  # calls under way at one address, as far as a pace goes; more would fail
AT_ONCE = 200  # connections in the making: a burst of thousands would overflow a listen queue
Address = list[Any]  # host and port, as JSON has it


class Caller(asyncio.Protocol):
    """Asks, and asks again when the answer is there."""

    def __init__(self, calls: "Calls", message: bytes, dated: bool = False) -> None:
        self._calls = calls
        self._message = message
        self._dated = dated
        self._held = b""
        self.asking = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are none by inheritance

    def ask(self) -> None:
        self.asking = True
        self._calls.sent += 1
        self.transport.write(dated_now(self._message) if self._dated else self._message)

    def data_received(self, data: bytes) -> None:
        if self._held:
            data = self._held + data
        if not data.endswith(ANSWER):
            self._held = data
            return
        self._held = b""
        self.asking = False
        if data.startswith(OK):
            self._calls.good += 1
        if self._calls.running:
            self.ask()


class Calls:
    """Short POSTs, so many at once."""

    def __init__(self) -> None:
        self._callers: list[Caller] = []
        self.running = False
        self.sent = self.good = 0

    async def open(
        self,
        address: Address,
        at_once: int,
        targets: list[str] | None = None,
        others: Sequence[Address] = (),
        dated: bool = False,
    ) -> None:
        """So many at the address, and so many at each of the `others`; `dated` ones begin a prompt with each call."""
        messages = [post(target, dated) for target in targets or [f"{PATH}?short"]]
        self.sent = self.good = 0
        self._callers = []
        for each in (address, *others):
            self._callers += await connected(
                each, [lambda n=n: Caller(self, messages[n % len(messages)], dated) for n in range(at_once)]
            )

    async def start(self, apart_s: float = 0.0) -> None:
        self.running = True
        for caller in self._callers:
            caller.ask()
            if apart_s:
                await asyncio.sleep(apart_s)

    async def count(self) -> int:
        return self.good

    async def stop(self) -> int:
        """Asks no more; how many were lost since `open`."""
        self.running = False
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and any(caller.asking for caller in self._callers):
            await asyncio.sleep(0.01)
        return self.sent - self.good

    async def close(self) -> None:
        for caller in self._callers:
            caller.transport.abort()
        self._callers.clear()


class Timed(asyncio.Protocol):
    """Asks once in a while, and tells how long the answer took."""

    def __init__(self, pace: "Pace", idle: "deque[Timed]") -> None:
        self._pace = pace
        self._idle = idle
        self._held = b""
        self._asked_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are none by inheritance
        self._idle.append(self)

    def ask(self) -> None:
        self._asked_at = time.perf_counter()
        self.transport.write(_SHORT)

    def data_received(self, data: bytes) -> None:
        data, self._held = self._held + data, b""
        if not data.endswith(ANSWER):
            self._held = data
        elif data.startswith(OK):
            self._pace.took.append(time.perf_counter() - self._asked_at)
            self._idle.append(self)


class Pace:
    """Short POSTs at so many a second, whatever becomes of those before: at each address in turn, apart by chance, so
    that now and then some are under way together."""

    def __init__(self) -> None:
        self._idle: list[deque[Timed]] = []
        self.took: list[float] = []

    async def ask(self, addresses: list[Address], a_second: float, seconds: float) -> tuple[list[float], int]:
        """Seconds of each call, and how many were lost."""
        self.took = []
        self._idle = [deque() for _ in addresses]
        made: list[Timed] = []
        for address, idle in zip(addresses, self._idle, strict=True):
            made += await connected(address, [lambda idle=idle: Timed(self, idle)] * ROOM)
        asked = await self._ask_all(a_second, int(a_second * seconds))
        until = time.monotonic() + PATIENCE_S
        while len(self.took) < asked and time.monotonic() < until:
            await asyncio.sleep(0.01)
        for one in made:
            one.transport.abort()
        return self.took, asked - len(self.took)

    async def _ask_all(self, a_second: float, calls: int) -> int:
        chance, loop = random.Random(calls), asyncio.get_running_loop()
        due_at = loop.time()
        for number in range(calls):
            due_at += chance.expovariate(a_second)
            await asyncio.sleep(max(0.0, due_at - loop.time()))
            self._idle[number % len(self._idle)].popleft().ask()
        return calls


class Reader(asyncio.Protocol):
    """Of one stream."""

    def __init__(self, streams: "Streams") -> None:
        self._streams = streams
        self._tail = b""
        self.events = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are none by inheritance
        transport.write(_STREAM)

    def data_received(self, data: bytes) -> None:
        self.events += data.count(MARK)
        if self._streams.timed:
            now = time.monotonic_ns()
            self._streams.delays += [now - sent for sent in stamps(data)]
        self._tail = data if len(data) >= len(STREAM_END) else self._tail + data

    @property
    def ended(self) -> bool:
        return self._tail.endswith(STREAM_END)


class Streams:
    """Open ones."""

    def __init__(self) -> None:
        self._readers: list[Reader] = []
        self.timed = False
        self.delays: list[int] = []

    async def open(self, address: Address, number: int, timed: bool = False) -> int:
        """Returns when each has got its first event; how many have not."""
        self.timed = timed
        self._readers = await connected(address, [lambda: Reader(self)] * number)
        return await self._patiently(lambda reader: reader.events > 0)

    async def count(self) -> int:
        return sum(reader.events for reader in self._readers)

    async def take_delays(self) -> list[int]:
        """How long stamped events were under way since this was asked for last, in ns."""
        taken, self.delays = self.delays, []
        return taken

    async def close(self) -> tuple[int, int]:
        """After they were ended: all events that came, and how many streams have no proper end."""
        cut = await self._patiently(lambda reader: reader.ended)
        events = await self.count()
        for reader in self._readers:
            reader.transport.abort()
        self._readers.clear()
        return events, cut

    async def _patiently(self, done: Callable[[Reader], bool]) -> int:
        until = time.monotonic() + PATIENCE_S
        while (left := sum(not done(reader) for reader in self._readers)) and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return left


_STREAM = post(f"{PATH}?stream")
_SHORT = post(f"{PATH}?short")


async def connected(address: Address, factories: list[Any]) -> list[Any]:
    """The protocols of new connections."""
    loop = asyncio.get_running_loop()
    made: list[Any] = []
    for at in range(0, len(factories), AT_ONCE):
        some = [loop.create_connection(factory, *address) for factory in factories[at : at + AT_ONCE]]
        made += [protocol for _, protocol in await asyncio.gather(*some)]
    return made


async def one_at_a_time(address: Address, calls: int) -> tuple[list[float], int]:
    """Seconds of each of `calls` on one connection, and how many were lost. Blocking: no event loop is in its way."""
    message, took, lost = _SHORT, [], 0
    with socket.create_connection(tuple(address), PATIENCE_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(calls):
            began = time.perf_counter()
            sock.sendall(message)
            data = sock.recv(65536)
            while not data.endswith(ANSWER) and (more := sock.recv(65536)):
                data += more
            took.append(time.perf_counter() - began)
            lost += not (data.startswith(OK) and data.endswith(ANSWER))
    return took, lost


async def commands() -> Mapping[str, Command]:
    calls, streams, pace = Calls(), Streams(), Pace()
    return {
        "open_calls": calls.open,
        "start_calls": calls.start,
        "count_calls": calls.count,
        "stop_calls": calls.stop,
        "close_calls": calls.close,
        "open_streams": streams.open,
        "count_streams": streams.count,
        "take_delays": streams.take_delays,
        "close_streams": streams.close,
        "one_at_a_time": one_at_a_time,
        "ask_at_a_pace": pace.ask,
        "transfer": transfer,
    }


if __name__ == "__main__":
    serve(commands)
