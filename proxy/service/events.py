# What happened, as the readers of /concurrency/events get it.
#
# Rule 1: publishing is on every request's path: an event's data is made when somebody reads it, its text once for all.
# Rule 2: nobody is waited for. A reader that is BACKLOG events behind is dropped.
# Rule 3: ids only grow, over restarts too, so that a reader who comes back after one gets what it has not seen.

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NamedTuple

from proxy.service.clock import Clock

RING = 1000  # events that can be read again (spec §14)
BACKLOG = 5000  # a pause that refuses a whole queue at once must not cost the readers that watch it

Data = dict[str, object]


class EventKind(NamedTuple):
    """What its events are called, and what makes their details of the fact that they tell."""

    name: str
    details_of: Callable[[Any], Data]


class Event:
    """One event; `fact` does not change any more. `provider_id` is None where it concerns none."""

    __slots__ = ("_at", "_fact", "_kind", "_provider_id", "_text", "id")

    def __init__(self, event_id: int, kind: EventKind, provider_id: str | None, at: int, fact: object) -> None:
        self.id = event_id
        self._kind = kind
        self._provider_id = provider_id
        self._at = at
        self._fact = fact
        self._text: bytes | None = None

    @property
    def name(self) -> str:
        return self._kind.name

    @property
    def data(self) -> Data:
        """JSON-able: `at` (epoch milliseconds), `providerId` and the rest."""
        return {"at": self._at, "providerId": self._provider_id, **self._kind.details_of(self._fact)}

    @property
    def text(self) -> bytes:
        """As server-sent events have it; made at the first look, for every reader."""
        if self._text is None:
            self._text = f"id: {self.id}\nevent: {self.name}\ndata: {json.dumps(self.data)}\n\n".encode()
        return self._text

    def __repr__(self) -> str:
        return f"<Event {self.id} {self.name} {self._provider_id}>"


class Subscription:
    """One reader's events, in order: an async iterator for one task at a time, and a context manager that ends it.
    A cancelled `anext` loses nothing. The iteration ends at once when the reader was dropped, and after what is left
    when the stream was closed."""

    def __init__(self, backlog: Iterable[Event], leave: Callable[["Subscription"], None]) -> None:
        self._backlog = deque(backlog)
        self._leave = leave
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._dropped: Callable[[], None] | None = None

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Event:
        while not self._backlog:
            if self._ended:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._backlog.popleft()

    def take(self, most: int) -> list[Event]:
        """Up to `most` events that `anext` would give without waiting."""
        return [self._backlog.popleft() for _ in range(min(most, len(self._backlog)))]

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def on_drop(self, call: Callable[[], None]) -> None:
        """Call `call` when this reader is dropped: it may hang in a write, where it cannot notice the end."""
        self._dropped = call

    def close(self) -> None:
        """No more events; again and again does no harm."""
        self._leave(self)
        self._backlog.clear()
        self.end()

    def end(self) -> None:
        """What is left may still be read; then the iteration ends."""
        self._ended = True
        self._notify()

    def push(self, event: Event) -> None:
        """One more event, or the end of a reader that is too slow."""
        if len(self._backlog) < BACKLOG:
            self._backlog.append(event)
            self._notify()
            return
        self.close()
        if self._dropped is not None:
            self._dropped()

    def _notify(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class EventStream:
    """All events of the process and their readers."""

    def __init__(self, clock: Clock) -> None:
        self._wall_ms = clock.wall_ms
        self._ring: deque[Event] = deque(maxlen=RING)
        # 1,000 ids for each millisecond, so that the next process begins above the last id of this one; exact in
        # JavaScript until the year 2255.
        self._next_id = clock.wall_ms() * 1000
        self._subscriptions: dict[Subscription, None] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<EventStream {len(self._ring)} kept, {len(self._subscriptions)} readers>"

    def publish(self, name: str, provider_id: str | None, **details: object) -> None:
        """Tell every reader, now."""
        self.publish_late(EventKind(name, dict), provider_id, details)

    def publish_late(self, kind: EventKind, provider_id: str | None, fact: object) -> None:
        """The same; `kind` makes the details of `fact` when somebody reads the event: much later, or never."""
        event = Event(self._next_id, kind, provider_id, self._wall_ms(), fact)
        self._next_id += 1
        self._ring.append(event)
        if self._subscriptions:
            for subscription in tuple(self._subscriptions):
                subscription.push(event)

    def subscribe(self, last_event_id: int | None) -> Subscription:
        """Everything from now on, after what is kept and newer than `last_event_id`; an id from the future is from
        another process and gets all that is kept, None nothing."""
        backlog: list[Event] = []
        if last_event_id is not None:
            known = last_event_id if last_event_id < self._next_id else 0
            backlog = [event for event in self._ring if event.id > known]
        subscription = Subscription(backlog, self._forget)
        if self._closed:
            subscription.end()
        else:
            self._subscriptions[subscription] = None
        return subscription

    def close(self) -> None:
        """End every reader's iteration once it has read what is left: nothing may keep a process that drains."""
        self._closed = True
        for subscription in tuple(self._subscriptions):
            self._forget(subscription)
            subscription.end()

    def _forget(self, subscription: Subscription) -> None:
        self._subscriptions.pop(subscription, None)
