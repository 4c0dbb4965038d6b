# The admin API as a script would call it, one connection a call.

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from blackbox.client import Headers, RawClient
from blackbox.message import Head

JSON = (("Content-Type", "application/json"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    head: Head
    body: bytes

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Admin:
    """Calls with JSON in and out. `Host` is the address unless a header says otherwise. `others` are the other replicas
    of the same file, which reload it together."""

    def __init__(self, address: tuple[str, int], others: Sequence[tuple[str, int]] = ()) -> None:
        self._address = address
        self._others = others

    async def call(self, method: str, path: str, body: Any = None, headers: Headers = ()) -> Reply:
        """`body` is sent as JSON where it is given; bytes are sent as they are, without a content type."""
        if (method, path) == ("POST", "/reload"):
            for other in self._others:
                await Admin(other).call(method, path, body, headers)
        headers = list(headers)
        if not any(name.lower() == "host" for name, _ in headers):
            headers.insert(0, ("Host", f"{self._address[0]}:{self._address[1]}"))
        if body is not None and not isinstance(body, bytes):
            headers += JSON
            body = json.dumps(body).encode()
        client = await RawClient.connect(self._address)
        try:
            await client.request(method, path, [*headers, ("Connection", "close")], body)
            answer = await client.answer()
        finally:
            client.close()
        return Reply(head=answer.head, body=answer.body)

    async def get(self, path: str, headers: Headers = ()) -> Reply:
        return await self.call("GET", path, headers=headers)

    async def put(self, path: str, body: Any = None) -> Reply:
        return await self.call("PUT", path, body)

    async def post(self, path: str, body: Any = None) -> Reply:
        return await self.call("POST", path, body)

    async def delete(self, path: str) -> Reply:
        return await self.call("DELETE", path)


def part(text: str) -> str:
    """One part of a path, as it must be written there."""
    return quote(text, safe=":")
