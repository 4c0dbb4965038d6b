# What all fronts lead to: one server that answers at once, streams at a set pace, and notes when requests came.
#
# Rule 1: it is cheap, for it may share a core with the load: what it sends is made beforehand, of a request only its
#         query and its length are read, and those once for each head: a caller's are all the same.

import asyncio
import random
import time
from collections.abc import Mapping
from typing import cast

from .child import Command, serve
from .messages import CHUNK, SHORT, STREAM_BEGIN, STREAM_END, stamped

TICK_S = 0.001
PIECE = bytes(256 * 1024)
LATE_S = 1.0  # at most
UP = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Upstream:
    """Its streams, and the rests between an answer and the next request, by key."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.chance = random.Random(0)
        self.streams: list[asyncio.WriteTransport] = []
        self.first_events = self.sent = 0
        self._rate = 0.0
        self._stamped = False
        self._began_at = 0.0
        self.read: dict[bytes, tuple[bytes, int]] = {}
        self.answered_at: dict[bytes, float] = {}
        self.rests: list[tuple[str, float]] = []

    async def pace(self, a_second: float, stamped: bool = False) -> None:
        """From now on each stream gets so many events a second, evenly spread; 0: none. `stamped` ones say when they
        were sent."""
        self._stamped = stamped
        running, self._rate, self._began_at = self._rate > 0, a_second, self.loop.time()
        self.sent = 0
        if a_second and not running:
            self.loop.call_later(TICK_S, self._tick)

    async def end_streams(self) -> int:
        """Ends them all; how many events they got, the first ones too."""
        self._rate = 0.0
        total = self.sent + self.first_events
        for stream in self.streams:
            stream.write(STREAM_END)
        self.streams.clear()
        self.sent = self.first_events = 0
        return total

    async def take_rests(self) -> list[tuple[str, float]]:
        taken, self.rests = self.rests, []
        self.answered_at.clear()
        return taken

    def _tick(self) -> None:
        if not self._rate:
            return
        streams = self.streams
        due = int((self.loop.time() - self._began_at) * self._rate * len(streams))
        for number in range(self.sent, due):
            event = stamped(time.monotonic_ns()) if self._stamped else CHUNK
            streams[number % len(streams)].write(event)
        self.sent = due
        self.loop.call_later(TICK_S, self._tick)


def query_and_length(head: bytes) -> tuple[bytes, int]:
    """What a request asks for, and of how many bytes its body is."""
    at = head.find(b"?") + 1
    query = head[at : head.find(b" ", at)].removesuffix(b"=")  # some proxies make ?short= of ?short
    lowered = head.lower()  # HAProxy writes names in small letters
    at = lowered.find(b"\r\ncontent-length:")
    return query, 0 if at < 0 else int(lowered[at + 17 :].partition(b"\r")[0])


class Connection(asyncio.Protocol):
    """One after the other; whoever pipelines is told nothing."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._begun = b""
        self._left = 0  # of the request's body
        self._query = b""
        self._to_send = 0
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's are none by inheritance

    def data_received(self, data: bytes) -> None:
        if self._left:
            self._left -= len(data)
        else:
            data = self._begun + data if self._begun else data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._begun = data
                return
            self._begun = b""
            head = data[:end]
            read = self._upstream.read.get(head)
            if read is None:
                read = self._upstream.read[head] = query_and_length(head)
            self._query, length = read
            self._left = length - (len(data) - end - 4)
        if self._left <= 0:
            self._answer(self._query)

    def _answer(self, query: bytes) -> None:
        if query == b"short":
            self._transport.write(SHORT)
        elif query == b"late":
            self._upstream.loop.call_later(LATE_S * self._upstream.chance.random(), self._transport.write, SHORT)
        elif query == b"stream":
            self._transport.write(STREAM_BEGIN)
            self._upstream.streams.append(self._transport)
            self._upstream.first_events += 1
        elif query == b"up":
            self._transport.write(UP)
        elif query.startswith(b"paced="):
            self._pace(query[6:])
        elif query.startswith(b"down="):
            self._to_send = int(query[5:])
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self._to_send)
            self._send()
        else:
            self._transport.write(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")

    def _pace(self, key: bytes) -> None:
        last = self._upstream.answered_at.get(key)
        if last is not None:
            self._upstream.rests.append((key.decode(), time.monotonic() - last))
        self._transport.write(SHORT)
        self._upstream.answered_at[key] = time.monotonic()

    # --- a body as large as asked for ---

    def _send(self) -> None:
        while self._to_send and not self._paused:
            piece = PIECE if self._to_send >= len(PIECE) else PIECE[: self._to_send]
            self._to_send -= len(piece)
            self._transport.write(piece)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._send()


async def commands() -> Mapping[str, Command]:
    loop = asyncio.get_running_loop()
    upstream = Upstream(loop)
    server = await loop.create_server(lambda: Connection(upstream), "127.0.0.1", 0, backlog=4096)

    async def port() -> int:
        found: int = server.sockets[0].getsockname()[1]
        return found

    return {"port": port, "pace": upstream.pace, "end_streams": upstream.end_streams, "take_rests": upstream.take_rests}


if __name__ == "__main__":
    serve(commands)
