# How long each waiter can expect to wait: the queue is played through, as the last requests let expect.
#
# Rule 1: it is asked for by people, never on a request's way: O(n log n) each time, of slots and waiters.
# Rule 2: it is an expectation and no promise. It knows that agents come back with the prompt at which they work, and
#         how often starred workspaces begin one, which goes before all without a star. It knows nothing of who will get
#         a star, who will leave, what the provider will refuse, and how long a gate takes to let somebody go. What
#         others use, as far as polls tell, is counted as used for good.
# Rule 3: what nothing is known of is None, and not a guess: before the first answer has ended nobody knows how long one
#         takes. Refusals and failures say nothing of it.

from heapq import heapify, heappop, heappush, heapreplace
from math import inf
from typing import NamedTuple

from proxy.core.model import Ticket
from proxy.core.past import past, turn_of
from proxy.core.pause import OPERATOR, PROBE_S, State
from proxy.core.queue import Queue

_LEAST = 0.1  # of its age, or of a usual hold: what is left of one that takes longer than usual
_APART_S = 0.001  # between two prompts of those with a star; so that answers of no length are none of infinity
_MOST = 0.9  # of what the slots can do, for those with a star
_PLAYED = 1000  # slots given one by one; who is behind that comes in at the usual pace

Key = tuple[bool, float, float]
_STARRED: Key = (False, inf, inf)  # one who comes with a star and a new prompt


class Expected(NamedTuple):
    """Of one waiter. `wait_s` is from now on; None: unknown. `rests_until_at`: it was refused, and is not to be sent
    again before."""

    ticket: Ticket
    wait_s: float | None
    rests_until_at: float | None


def expected_waits(queue: Queue, now: float, now_ms: int) -> list[Expected]:
    """Of every waiter, in the order of service; `now_ms` is `now` as epoch milliseconds. Nobody waits longer than who
    comes after, but for those who rest: others go meanwhile."""
    line, rests = queue.waiting.ordered(), queue.waiting.rests()
    starts = _starts(queue, line, [queue.waiting.key(ticket) for ticket in line], now, now_ms)
    return [Expected(one, _wait_s(at, now), rests.get(one.id)) for one, at in zip(line, starts, strict=True)]


def newcomer_wait_s(queue: Queue, now: float, now_ms: int) -> float | None:
    """Of somebody who comes now with a new prompt; None: unknown."""
    line = queue.waiting.ordered()
    keys: list[Key] = [*(queue.waiting.key(ticket) for ticket in line), (True, now_ms, inf)]
    return _wait_s(_starts(queue, line, keys, now, now_ms)[-1], now)


def _wait_s(at: float, now: float) -> float | None:
    return None if at == inf else max(0.0, at - now)


def _starts(queue: Queue, line: list[Ticket], keys: list[Key], now: float, now_ms: int) -> list[float]:
    """When those with `keys` go, which are in order and begin with those of `line`; inf: unknown."""
    rests = queue.waiting.rests()
    wakes = {place: rests[ticket.id] for place, ticket in enumerate(line) if ticket.id in rests}
    resting = sorted(((at, place) for place, at in wakes.items()), reverse=True)  # taken from the end
    ready = [place for place in range(len(keys)) if place not in wakes]  # in order, so it is a heap
    course, starts = _Course(queue, line, now, now_ms), [inf] * len(keys)
    while (ready or resting) and (course.given < _PLAYED or course.pace_s == inf):
        if resting and (not ready or resting[-1][0] <= course.next_at):
            at, place = resting.pop()
            course.wait(at)
            heappush(ready, place)
        elif (start_at := course.give(keys[ready[0]])) is not None:
            starts[heappop(ready)] = start_at
    for number, place in enumerate(sorted([*ready, *(place for _, place in resting)])):
        starts[place] = max(course.next_at + number * course.pace_s, wakes.get(place, now))
    return starts


class _Course:
    """What is to come: when slots will be free, when waiters may go at all, and who comes back before them."""

    def __init__(self, queue: Queue, line: list[Ticket], now: float, now_ms: int) -> None:
        slots, limit, pause, waiting = queue.slots, queue.limit.value, queue.pause, queue.waiting
        held = slots.holding()
        here = {turn_of(ticket) for ticket in [*line, *(slot.ticket for slot in held)]}
        seen = past(slots.past, waiting.stars, here, now, now_ms)
        self.given = 0
        hold_s = inf if slots.mean_hold_s is None else slots.mean_hold_s
        self._hold_s, self._gap_s, self._returns = hold_s, seen.gap_s, seen.returns
        self._rest_s = queue.cooldown.seconds
        self._share = 0.5  # of one who comes back
        self._away: list[tuple[float, Key]] = []  # who will come back, and when
        self._back: list[Key] = []  # who has
        free_at, ends = [slot.cooled_at for slot in slots.resting()], list[float]()
        for slot in held:
            age_s = now - slot.granted_at
            left_s = max(hold_s - age_s, _LEAST * max(hold_s, age_s))
            ends.append(now + left_s)
            free_at.append(now + left_s + self._rest_s)
            self._end(now + left_s, waiting.key(slot.ticket))
        for ticket, at in seen.gone:
            self._end(at, waiting.key(ticket))
        if limit is None:  # nobody waits for anybody
            self._free_at, self._hold_s, self._rest_s = [now], 0.0, 0.0
        else:
            self._free_at = _of(limit - (queue.gate.external(now) or 0), free_at, now)
        # A prompt of somebody with a star, again and again; of what there is they leave some to the others.
        self._starred_s = max(seen.starred_s, self._prompt_s / _MOST, _APART_S)
        self._starred_at = now + self._starred_s / 2 if limit is not None else inf
        self._opens_at = now
        if pause.until_at is not None:
            self._opens_at = max(now, pause.until_at)
        elif pause.probe is not None:
            self._opens_at = max(now, pause.probe_until_at)
        if queue.allowance.until_at is not None and slots.grants >= queue.allowance.last_grant:
            # An answer may let somebody go, at the latest when it has ended.
            self.wait(min([queue.allowance.until_at, *ends]))
        self._alone = pause.state is State.DUE or (pause.until_at is not None and pause.cause != OPERATOR)

    @property
    def next_at(self) -> float:
        """When the next one goes; inf: unknown."""
        return max(self._free_at[0], self._opens_at)

    @property
    def pace_s(self) -> float:
        """How much later than another the next one in the queue goes, on the long run."""
        starred = self._prompt_s / self._starred_s if self._starred_at < inf else 0.0
        return self._prompt_s / (1 - starred)

    @property
    def _prompt_s(self) -> float:
        """How long all slots together take for one prompt with all of its calls."""
        return (self._hold_s + self._rest_s) / len(self._free_at) / (1 - self._returns)

    def wait(self, until_at: float) -> None:
        """Nobody goes before `until_at`."""
        self._opens_at = max(self._opens_at, until_at)

    def give(self, key: Key) -> float | None:
        """Give the next slot to the waiter with `key`, or to somebody who is back, or new with a star, and goes before
        it: when it went; None: it was the other."""
        at = self.next_at
        while self._away and self._away[0][0] <= at:
            heappush(self._back, heappop(self._away)[1])
        taker = min(key, self._back[0]) if self._back else key
        if self._starred_at <= at < inf and taker > _STARRED:
            taker = _STARRED
            self._starred_at += self._starred_s
        elif taker != key:
            heappop(self._back)
        heapreplace(self._free_at, at + self._hold_s + self._rest_s)
        self._end(at + self._hold_s, taker)
        self.given += 1
        if self._alone:
            self._alone = False
            self.wait(at + PROBE_S)
        return at if taker == key else None

    def _end(self, at: float, key: Key) -> None:
        """A call ends at `at`, and another follows it or not. How often one does is known, so it is spread evenly."""
        self._share += self._returns
        if self._share >= 1:
            self._share -= 1
            heappush(self._away, (at + self._gap_s, (key[0], key[1], inf)))


def _of(count: int, free_at: list[float], now: float) -> list[float]:
    """A heap of when each of `count` slots is free, where those in use become so at `free_at`. Where more are in use
    than there are, the first to end are given to nobody. With none at all nobody knows."""
    if count <= 0:
        return [inf]
    free_at = sorted([*free_at, *[now] * (count - len(free_at))])[-count:]
    heapify(free_at)
    return free_at
