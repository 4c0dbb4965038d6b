# The two clocks: monotonic seconds for every duration, the wall's milliseconds for what people and files read.

import time
from collections.abc import Callable


def wall_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


def whole_ms(seconds: float) -> int:
    """A duration as JSON and the log have it: whole milliseconds."""
    return round(seconds * 1000)


_MOVED_MS = 20.0  # by how much the clocks must have moved apart for a moment to have another name


class Clock:
    """`now` is the event loop's time, so that it and the loop's timers agree; `wall_ms` is epoch milliseconds, and
    `prompt_ms` the same as prompts are ordered by: among replicas, of the server that they share."""

    __slots__ = ("_apart_ms", "now", "prompt_ms", "wall_ms")

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.wall_ms = wall_ms
        self.prompt_ms: Callable[[], int] = wall_ms
        self._apart_ms = self._apart()

    def to_wall_ms(self, at: float) -> int:
        """A monotonic moment as epoch milliseconds: the same whenever it is asked, until the wall's clock is set."""
        apart_ms = self._apart()
        if abs(apart_ms - self._apart_ms) > _MOVED_MS:
            self._apart_ms = apart_ms
        return round(at * 1000 + self._apart_ms)

    def _apart(self) -> float:
        return self.wall_ms() - self.now() * 1000
