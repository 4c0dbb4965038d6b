# The two clocks: monotonic seconds for every duration, the wall's milliseconds for what people and files read.

import time
from collections.abc import Callable


def wall_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


class Clock:
    """`now` is the event loop's time, so that it and the loop's timers agree."""

    __slots__ = ("now",)

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now

    def wall_ms(self) -> int:
        """Epoch milliseconds."""
        return wall_ms()

    def to_wall_ms(self, at: float) -> int:
        """A monotonic moment as epoch milliseconds."""
        return self.wall_ms() + round((at - self.now()) * 1000)
