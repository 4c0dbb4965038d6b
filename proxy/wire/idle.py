# Noticing that nothing moves any more, at the price of one timer, however much moves.

import asyncio
from collections.abc import Callable


class IdleTimer:
    """Calls `stuck` once `measure` has given the same for `limit_s`, or up to twice that; `stop` ends it."""

    def __init__(self, limit_s: float, measure: Callable[[], int], stuck: Callable[[], None]) -> None:
        self._limit_s = limit_s
        self._measure = measure
        self._stuck = stuck
        self._seen = measure()
        self._timer = asyncio.get_running_loop().call_later(limit_s, self._look)

    def __repr__(self) -> str:
        return f"<IdleTimer {self._limit_s:g} s, last {self._seen}>"

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now = self._measure()
        if now == self._seen:
            self._stuck()
            return
        self._seen = now
        self._timer = asyncio.get_running_loop().call_later(self._limit_s, self._look)
