# How long each waiter can expect to wait: the queue is played through, with how long slots have been held lately.
#
# Rule 1: it is asked for by people, never on a request's way: O(n log n) each time, of slots and waiters.
# Rule 2: it is an expectation and no promise. It does not know who will come with a star or an older prompt, who will
#         leave, what the provider will refuse, and how long a gate takes to let somebody go. What others use, as far
#         as polls tell, is counted as used for good.
# Rule 3: what nothing is known of is None, and not a guess: before the first slot was given back nobody knows how long
#         one is held.

from heapq import heapify, heappop, heappush, heapreplace
from math import inf
from typing import NamedTuple

from proxy.core.model import Ticket
from proxy.core.pause import OPERATOR, PROBE_S, State
from proxy.core.queue import Queue

_LEAST = 0.1  # of a usual hold: what is left of one that takes longer than usual


class Expected(NamedTuple):
    """Of one waiter. `wait_s` is from now on; None: unknown. `rests_until_at`: it was refused, and is not to be sent
    again before."""

    ticket: Ticket
    wait_s: float | None
    rests_until_at: float | None


def expected_waits(queue: Queue, now: float) -> list[Expected]:
    """Of every waiter, in the order of service. Nobody waits longer than who comes after, but for those who rest:
    others go meanwhile."""
    line, rests, course = queue.waiting.ordered(), queue.waiting.rests(), _Course(queue, now)
    starts = [inf] * len(line)
    ready = [place for place, ticket in enumerate(line) if ticket.id not in rests]  # in order, so it is a heap
    resting = [(rests[ticket.id], place) for place, ticket in enumerate(line) if ticket.id in rests]
    resting.sort(reverse=True)  # taken from the end
    while ready or resting:
        if resting and (not ready or resting[-1][0] <= course.next_at):
            at, place = resting.pop()
            course.wait(at)
            heappush(ready, place)
        else:
            starts[heappop(ready)] = course.start()
    return [
        Expected(ticket, _wait_s(start_at, now), rests.get(ticket.id))
        for ticket, start_at in zip(line, starts, strict=True)
    ]


def newcomer_wait_s(queue: Queue, now: float) -> float | None:
    """Of somebody who comes now and goes last; None: unknown."""
    course = _Course(queue, now)
    for _ in range(len(queue.waiting)):
        course.start()
    return _wait_s(course.next_at, now)


class _Course:
    """What is to come: when the slots will be free, and when waiters may go at all."""

    def __init__(self, queue: Queue, now: float) -> None:
        slots, limit, pause = queue.slots, queue.limit.value, queue.pause
        rest_s = 0.0 if limit is None else queue.cooldown.seconds
        mean_s = slots.mean_hold_s
        self._taken_s = 0.0 if limit is None else inf if mean_s is None else mean_s + rest_s
        free_at = [slot.cooled_at for slot in slots.resting()]
        for slot in slots.holding():
            left_s = inf if mean_s is None else max(mean_s - (now - slot.granted_at), _LEAST * mean_s)
            free_at.append(now + left_s + rest_s)
        self._free_at = [now] if limit is None else _of(limit - (queue.gate.external(now) or 0), free_at, now)
        self._opens_at = now
        if pause.until_at is not None:
            self._opens_at = max(now, pause.until_at)
        elif pause.probe is not None:
            self._opens_at = max(now, pause.probe_until_at)
        self._alone = pause.state is State.DUE or (pause.until_at is not None and pause.cause != OPERATOR)

    @property
    def next_at(self) -> float:
        """When the next one goes; inf: unknown."""
        return max(self._free_at[0], self._opens_at)

    def wait(self, until_at: float) -> None:
        """Nobody goes before `until_at`."""
        self._opens_at = max(self._opens_at, until_at)

    def start(self) -> float:
        """Let the next one go: when."""
        at = self.next_at
        heapreplace(self._free_at, at + self._taken_s)
        if self._alone:
            self._alone = False
            self.wait(at + PROBE_S)
        return at


def _of(count: int, free_at: list[float], now: float) -> list[float]:
    """A heap of when each of `count` slots is free, where those in use become so at `free_at`. Where more are in use
    than there are, the first to end are given to nobody. With none at all nobody knows."""
    if count <= 0:
        return [inf]
    free_at = sorted([*free_at, *[now] * (count - len(free_at))])[-count:]
    heapify(free_at)
    return free_at


def _wait_s(at: float, now: float) -> float | None:
    return None if at == inf else max(0.0, at - now)
