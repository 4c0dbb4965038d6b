# Reading a stream of server-sent events, one at a time, with whatever framing it came in.

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from blackbox.client import Headers, RawClient
from blackbox.message import Dechunker, Head
from blackbox.waiting import PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    name: str
    id: str | None
    data: dict[str, Any]


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
        seen = []
        try:
            async with asyncio.timeout(timeout):
                while True:
                    event = await self.next()
                    if event.name == name and all(event.data.get(key) == value for key, value in fields.items()):
                        return event
                    seen.append(event)
        except TimeoutError:
            raise AssertionError(f"no event {name} {fields}; these came: {seen}") from None

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
