# A bare timer of an event loop in the proxy's place: asks, and asks again so long after each answer.

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from .child import Command, serve
from .load import connected
from .messages import ANSWER, PATH, post


class Resting(asyncio.Protocol):
    def __init__(self, key: str, rest_s: float) -> None:
        self._message = post(f"{PATH}?paced={key}")
        self._rest_s = rest_s
        self._held = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are none by inheritance
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._held += data
        if self._held.endswith(ANSWER):
            self._held = b""
            self._timer = asyncio.get_running_loop().call_later(self._rest_s, self._ask)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.transport.abort()

    def _ask(self) -> None:
        self.transport.write(self._message)


async def commands() -> Mapping[str, Command]:
    running: list[Resting] = []

    async def start(address: list[Any], number: int, rest_s: float) -> None:
        for n in range(number):
            running.extend(await connected(address, [lambda n=n: Resting(f"timer-{n}", rest_s)]))
            await asyncio.sleep(rest_s / number)

    async def stop() -> None:
        for resting in running:
            resting.close()

    return {"start": start, "stop": stop}


if __name__ == "__main__":
    serve(commands)
