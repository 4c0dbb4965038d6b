# A clock that is moved on by what is to be done next: hours in seconds.

from collections.abc import Callable
from heapq import heappop, heappush

BEGIN = 1_796_040_000.0  # epoch seconds: noon (UTC) of a day in November 2026


class Clock:
    """`now` is epoch seconds and stands for monotonic ones, too. Actions of one moment run in the order of `later`."""

    def __init__(self) -> None:
        self.now = BEGIN
        self._planned: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    @property
    def elapsed_s(self) -> float:
        return self.now - BEGIN

    @property
    def next_at(self) -> float:
        """When something is to be done next."""
        if not self._planned:
            raise RuntimeError("everybody waits for nothing")
        return self._planned[0][0]

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Do `action` in `seconds`."""
        self.at(self.now + seconds, action)

    def at(self, moment: float, action: Callable[[], None]) -> None:
        """Do `action` at `moment`."""
        self._count += 1
        heappush(self._planned, (max(moment, self.now), self._count, action))

    def step(self) -> None:
        """Move on to what is next, and do it."""
        self.now, _, action = heappop(self._planned)
        action()
