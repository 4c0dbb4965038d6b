# What a client still sends behind a refusal: thrown away for a while, so that it can read the refusal. Closing at once
# would reset the answer out of its hands before it has (spec §10).

import asyncio
from collections.abc import Callable

from proxy.errors import BadMessage
from proxy.wire.body import Body

BYTES_MAX = 8 * 1024 * 1024
TIME_S = 30.0


class Drain:
    """Takes what comes until `body` is whole, or for ever without one; but no more, and no longer, than the limits
    say. Then it calls `over`, perhaps more than once."""

    def __init__(self, body: Body | None, loop: asyncio.AbstractEventLoop, over: Callable[[], None]) -> None:
        self.drained = 0
        self._body = body
        self._over = over
        self._timer = loop.call_later(TIME_S, over)

    def __repr__(self) -> str:
        return f"<Drain {self.drained} bytes>"

    def data(self, data: bytes) -> None:
        self.drained += len(data)
        done = self.drained > BYTES_MAX
        if self._body is not None:
            try:
                self._body.feed(data)
            except BadMessage:
                done = True
            done = done or self._body.done
        if done:
            self._over()

    def stop(self) -> None:
        self._timer.cancel()
