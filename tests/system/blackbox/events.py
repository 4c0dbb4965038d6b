# Reading a stream of server-sent events, one at a time, with whatever framing it came in; and those of several replicas
# as if they were one.
#
# Rule 1: what every replica tells of all (a limit, a pause) is told once; each tells of the requests at it alone.

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from blackbox.client import Headers, RawClient
from blackbox.message import Dechunker, Head
from blackbox.waiting import PATIENCE

OF_ALL = ("paused", "resumed", "reduced", "limit_set", "cooldown_set")  # what replicas tell in the same order


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    name: str
    id: str | None
    data: dict[str, Any]


class Events(Protocol):
    """A reader. `head` is that of the answer."""

    head: Head

    def close(self) -> None: ...

    async def next(self) -> Event: ...

    async def until(self, name: str, *, timeout: float = PATIENCE, **fields: Any) -> Event: ...


class EventStream:
    """One reader of `/concurrency/events`."""

    def __init__(self, client: RawClient, head: Head) -> None:
        self._client = client
        self.head = head
        self._chunks = Dechunker() if head.chunked else None
        self._text = bytearray()

    @classmethod
    async def open(cls, address: tuple[str, int], path: str, headers: Headers = ()) -> "EventStream":
        client = await RawClient.connect(address)
        await client.request("GET", path, [("Host", f"{address[0]}:{address[1]}"), *headers])
        return cls(client, await client.head())

    def close(self) -> None:
        self._client.close()

    async def next(self) -> Event:
        """The next event; comments and keep-alives are skipped."""
        while True:
            block = (await self._block()).decode()
            fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
            if "data" in fields:
                return Event(name=fields.get("event", "message"), id=fields.get("id"), data=json.loads(fields["data"]))

    async def until(self, name: str, *, timeout: float = PATIENCE, **fields: Any) -> Event:
        """The next event of that name whose data has these values."""
        return await _first(self.next, name, timeout, fields)

    async def _block(self) -> bytes:
        while (at := self._text.find(b"\n\n")) < 0:
            more = self._client.take() or await self._client.receive()
            assert more, "the stream of events ended"
            if self._chunks is None:
                self._text += more
                continue
            self._chunks.feed(more)
            self._text += self._chunks.data
            self._chunks.data.clear()
        block = bytes(self._text[:at])
        del self._text[: at + 2]
        return block


class MergedEvents:
    """Of several replicas, whose order is known for each alone: `until` passes over what the same one told before. It
    ends when all have ended."""

    def __init__(self, streams: Sequence[EventStream]) -> None:
        self.head = streams[0].head
        self._streams = streams
        self._come: list[tuple[int, Event]] = []
        self._news = asyncio.Event()
        self._told: list[Counter[str]] = [Counter() for _ in streams]
        self._tasks = [asyncio.create_task(self._read(number)) for number in range(len(streams))]
        for task, stream in zip(self._tasks, streams, strict=True):
            task.add_done_callback(lambda _, stream=stream: stream.close())  # no sooner: the loop still watches it

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def next(self) -> Event:
        while not self._come:
            await self._more()
        return self._come.pop(0)[1]

    async def until(self, name: str, *, timeout: float = PATIENCE, **fields: Any) -> Event:
        try:
            async with asyncio.timeout(timeout):
                while True:
                    for place, (number, event) in enumerate(self._come):
                        if _is_that(event, name, fields):
                            self._come[: place + 1] = [
                                one for one in self._come[:place] if not _before(one, number, event)
                            ]
                            return event
                    await self._more()
        except TimeoutError:
            raise AssertionError(f"no event {name} {fields}; these came: {self._come}") from None

    async def _more(self) -> None:
        assert not all(task.done() for task in self._tasks), "the streams of events ended"
        self._news.clear()
        await self._news.wait()

    async def _read(self, number: int) -> None:
        try:
            while True:
                event = await self._streams[number].next()
                if self._is_new(number, event):
                    self._come.append((number, event))
                    self._news.set()
        except (AssertionError, OSError):
            asyncio.get_running_loop().call_soon(self._news.set)  # when this task is done

    def _is_new(self, number: int, event: Event) -> bool:
        """Whether no other replica has told it as often as this one."""
        what = json.dumps([event.name, {key: value for key, value in event.data.items() if key not in ("at", "until")}])
        most = max(told[what] for told in self._told)
        self._told[number][what] += 1
        return self._told[number][what] > most


async def _first(come: Callable[[], Awaitable[Event]], name: str, timeout: float, fields: dict[str, Any]) -> Event:
    seen = []
    try:
        async with asyncio.timeout(timeout):
            while True:
                event = await come()
                if _is_that(event, name, fields):
                    return event
                seen.append(event)
    except TimeoutError:
        raise AssertionError(f"no event {name} {fields}; these came: {seen}") from None


def _before(one: tuple[int, Event], number: int, event: Event) -> bool:
    """Whether this was told before the `event` of replica `number`: by the same one, or both by all."""
    return one[0] == number or (one[1].name in OF_ALL and event.name in OF_ALL)


def _is_that(event: Event, name: str, fields: dict[str, Any]) -> bool:
    return event.name == name and all(event.data.get(key) == value for key, value in fields.items())
