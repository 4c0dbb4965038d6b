# Keeping waiting clients from giving up: an interim 102 now and then, for those known to need and to bear it (spec §9).
#
# Rule 1: never to others, and never on HTTP/1.0, which knows none.
# Rule 2: a configured list is an operator's word, and beats what is known, but for a number that kills the client.

import asyncio
from collections.abc import Sequence
from typing import Literal

from proxy.web.agents import FEW, Interim, known, shortest_limit_s
from proxy.wire.request import Request

EVERY_S = shortest_limit_s() / 3  # two may be lost or late
PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"
ANY_NUMBER = 1_000_000

Keepalive = Literal["auto", "off"] | Sequence[str]


def interims(request: Request, keepalive: Keepalive) -> int:
    """How many 102s this client may be sent while it waits: none, a few, or any number."""
    head = request.head
    if keepalive == "off" or head.minor == 0:
        return 0
    user_agent = head.get(b"user-agent") or b""
    agent = known(user_agent, head.get(b"x-stainless-runtime"))
    if keepalive == "auto" or not any(mark.encode() in user_agent for mark in keepalive):
        return ANY_NUMBER if agent is not None and agent.interim is Interim.NEEDED else 0
    return FEW if agent is not None and agent.interim is Interim.FEW else ANY_NUMBER


class Patience:
    """Sends a 102 every EVERY_S between `start` and `stop`, in all as many as `left`. A request that waits more than
    once has one for all of it."""

    def __init__(self, request: Request, left: int, loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._left = left
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<Patience {self._left} left{', waiting' if self._timer else ''}>"

    def start(self) -> None:
        if self._left > 0:
            self._timer = self._loop.call_later(EVERY_S, self._send)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send(self) -> None:
        self._left -= 1
        self._timer = None
        self._request.connection.write(PROCESSING)
        self.start()
