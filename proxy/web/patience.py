# Keeping waiting clients from giving up: an interim 102 now and then, for those known to need and to bear it (spec §9).
#
# Rule: never to others, never on HTTP/1.0. To Python's http.client a 102 is the answer; Go dies of the sixth.

import asyncio
from collections.abc import Sequence
from typing import Literal

from proxy.wire.request import Request

EVERY_S = 20.0  # a third of the shortest limit known, Gemini CLI's 60 s
PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"
_NODE_MARKS = (b"GeminiCLI", b"gl-node", b"runtime/node")  # in a User-Agent: undici, with its limit on headers


def needs_interim(request: Request, keepalive: Literal["auto", "off"] | Sequence[str]) -> bool:
    """Whether this client is to be kept waiting by 102s."""
    head = request.head
    if keepalive == "off" or head.minor == 0:
        return False
    if head.get(b"x-stainless-runtime") == b"node":
        return True
    agent = head.get(b"user-agent") or b""
    marks = _NODE_MARKS if keepalive == "auto" else (*_NODE_MARKS, *(mark.encode() for mark in keepalive))
    return any(mark in agent for mark in marks)


class Patience:
    """Sends a 102 every EVERY_S between `start` and `stop`."""

    def __init__(self, request: Request, loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = self._loop.call_later(EVERY_S, self._send)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send(self) -> None:
        self._request.connection.write(PROCESSING)
        self.start()
