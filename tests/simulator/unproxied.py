# Calls without the proxy: straight to the provider, or through a semaphore as one writes it in an afternoon.

from collections import deque

from .dialects import Headers
from .fleet import Fleet
from .line import Line, Refused
from .measure import Meter
from .work import Request


class Direct:
    """Every call goes at once."""

    def __init__(self, line: Line, fleet: Fleet, meter: Meter) -> None:
        self._line, self._fleet, self._meter = line, fleet, meter

    def ask(self, request: Request) -> None:
        self._meter.sent(request)
        self._line.send(request, self)

    def answered(self, request: Request, headers: Headers) -> None:
        """Nobody is interested."""

    def refused(self, request: Request, refused: Refused) -> None:
        self._meter.no(request, refused, "")
        self._meter.returned()
        self._fleet.failed(request, refused)

    def ended(self, request: Request) -> None:
        self._meter.returned()
        self._fleet.done(request)


class Semaphore(Direct):
    """`places` at once, first come, first served; a place is free again as soon as the answer is over."""

    def __init__(self, line: Line, fleet: Fleet, meter: Meter, places: int) -> None:
        super().__init__(line, fleet, meter)
        self._free = places
        self._queue: deque[Request] = deque()

    def ask(self, request: Request) -> None:
        if self._free:
            self._free -= 1
            super().ask(request)
        else:
            self._meter.lined_up(request)
            self._queue.append(request)

    def refused(self, request: Request, refused: Refused) -> None:
        super().refused(request, refused)
        self._next()

    def ended(self, request: Request) -> None:
        super().ended(request)
        self._next()

    def _next(self) -> None:
        self._free += 1
        if self._queue:
            self.ask(self._queue.popleft())
