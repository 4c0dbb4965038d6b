# The minute that runs, of every provider, put together from looks at it.
#
# Rule 1: requests are not touched: what is in flight and waiting is looked at now and then, and what counters keep
#         anyway is taken as a difference between a minute's beginning and its end.
# Rule 2: time within a minute is monotonic, so it is never negative; which minute it is, the wall's clock says, and a
#         minute ends as soon as that says another one, earlier or later.
# Rule 3: nobody knows what was between two looks that are far apart (a machine that slept): that time is not seen.

from collections.abc import Callable, Iterable, Sequence

from proxy.core.model import Snapshot
from proxy.service.clock import whole_ms
from proxy.service.counts import Tally
from proxy.service.histogram import BUCKETS_S
from proxy.store import MINUTE_MS, Minute, Span

LOOK_MS = 1000  # between two looks, as intended
LONGEST_S = 2.0  # between two looks, twice of what is intended: what is beyond was not seen


def minute_of(wall_ms: int) -> int:
    """The beginning of the minute that `wall_ms` is in."""
    return wall_ms - wall_ms % MINUTE_MS


class _Running:
    """One provider in the minute that runs; the last look stands for the time until the next."""

    __slots__ = (
        "in_flight",
        "in_flight_max",
        "in_flight_s",
        "limit",
        "oldest_wait_s",
        "paused_s",
        "paused_until_at",
        "queued",
        "queued_max",
        "queued_s",
    )

    def __init__(self) -> None:
        self.limit: int | None = None
        self.in_flight = self.queued = 0
        self.paused_until_at: float | None = None
        self.begin()

    def begin(self) -> None:
        """A minute begins."""
        self.in_flight_max = self.queued_max = 0
        self.in_flight_s = self.queued_s = self.oldest_wait_s = self.paused_s = 0.0

    @property
    def is_idle(self) -> bool:
        return not (self.in_flight or self.queued) and self.paused_until_at is None

    def go_on(self, since: float, elapsed_s: float) -> None:
        """It was as seen last from `since` on."""
        self.in_flight_s += self.in_flight * elapsed_s
        self.queued_s += self.queued * elapsed_s
        if self.paused_until_at is not None:
            self.paused_s += min(max(self.paused_until_at - since, 0.0), elapsed_s)

    def see(self, snapshot: Snapshot) -> None:
        """It is so now."""
        self.in_flight, self.queued = snapshot.in_flight, snapshot.queued
        self.paused_until_at = snapshot.paused_until_at
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        self.queued_max = max(self.queued_max, self.queued)
        self.oldest_wait_s = max(self.oldest_wait_s, snapshot.oldest_wait_s or 0.0)


class Recorder:
    """Call `look` every second with what may have changed, and with everything when a minute `is_over`. `tally` gives
    a provider's counters so far."""

    def __init__(self, tally: Callable[[str], Tally], now: float, wall_ms: int) -> None:
        self._tally = tally
        self.at = minute_of(wall_ms)  # of the minute that runs
        self._looked_at = now
        self._seen_s = 0.0
        self._running: dict[str, _Running] = {}
        self._tallies: dict[str, Tally] = {}  # at the minute's beginning

    def __repr__(self) -> str:
        return f"<Recorder {len(self._running)} providers, {self._seen_s:.0f} s of the minute from {self.at} seen>"

    def is_over(self, wall_ms: int) -> bool:
        """Whether another minute than the one that runs has begun."""
        return minute_of(wall_ms) != self.at

    def is_idle(self, provider_id: str) -> bool:
        """Whether nothing went on there at the last look."""
        running = self._running.get(provider_id)
        return running is None or running.is_idle

    def look(self, snapshots: Iterable[Snapshot], now: float, wall_ms: int) -> Sequence[Minute]:
        """Note what is now; every provider's minute if it is over, and the next one begins."""
        elapsed_s = min(max(now - self._looked_at, 0.0), LONGEST_S)
        for running in self._running.values():
            if not running.is_idle:
                running.go_on(self._looked_at, elapsed_s)
        self._looked_at = now
        self._seen_s += elapsed_s
        snapshots = tuple(snapshots)
        for snapshot in snapshots:
            self._running.setdefault(snapshot.provider_id, _Running()).limit = snapshot.limit
        over = self._end(minute_of(wall_ms)) if self.is_over(wall_ms) else ()
        for snapshot in snapshots:
            self._running[snapshot.provider_id].see(snapshot)
        return over

    def present(self, provider_id: str) -> Minute | None:
        """The minute that runs as far as it was seen; None for a provider that was not."""
        running = self._running.get(provider_id)
        return None if running is None else self._minute(provider_id, running, self._tally(provider_id))

    def everything(self) -> Sequence[Minute]:
        """The same of every provider: what is to be kept at the end."""
        return [self._minute(name, running, self._tally(name)) for name, running in self._running.items()]

    def _end(self, next_at: int) -> Sequence[Minute]:
        ended = []
        for provider_id, running in self._running.items():
            tally = self._tally(provider_id)
            ended.append(self._minute(provider_id, running, tally))
            self._tallies[provider_id] = tally
            running.begin()
        self.at, self._seen_s = next_at, 0.0
        return ended

    def _minute(self, provider_id: str, running: _Running, tally: Tally) -> Minute:
        counted = tally.since(self._tallies.get(provider_id, Tally()))
        granted = sum(counted.waits)
        waits, longest_ms = _bounded(_spans(counted.waits), whole_ms(running.oldest_wait_s))
        return Minute(
            provider_id=provider_id,
            at=self.at,
            seen_ms=whole_ms(self._seen_s),
            limit=running.limit,
            # Whoever was granted was in flight, even if no look fell into that moment.
            in_flight_max=max(running.in_flight_max, 1 if granted else 0),
            in_flight_ms=whole_ms(running.in_flight_s),
            queued_max=running.queued_max,
            queued_ms=whole_ms(running.queued_s),
            oldest_wait_ms=longest_ms,
            granted=granted,
            completed=counted.completed,
            rate_limited=counted.rate_limited,
            reduced=counted.reduced,
            paused_ms=whole_ms(running.paused_s),
            waits=waits,
            first_bytes=_spans(counted.first_bytes),
        )


_BOUNDS_MS = tuple(bound * 1000 for bound in (0.0, *BUCKETS_S[:-1]))
_SPANS = tuple(zip(_BOUNDS_MS, (*_BOUNDS_MS[1:], None), strict=True))


def _spans(counts: Sequence[int]) -> tuple[Span, ...]:
    return tuple(Span(low, high, count) for (low, high), count in zip(_SPANS, counts, strict=True) if count)


def _bounded(waits: tuple[Span, ...], seen_ms: int) -> tuple[tuple[Span, ...], int]:
    """`waits` whose longest are no longer than the longest that was seen, `seen_ms`, or than that had become before
    another look; and how long that is. Percentiles of waits are then never above the longest one."""
    if not waits or waits[-1].low_ms == 0:
        return waits, seen_ms  # as good as none
    low_ms, high_ms, number = waits[-1]
    longest_ms = seen_ms if seen_ms >= low_ms else max(round(low_ms), seen_ms + LOOK_MS)
    if high_ms is not None and longest_ms >= high_ms:
        return waits, max(seen_ms, round(high_ms))
    if longest_ms == low_ms and high_ms is None:
        return waits, longest_ms
    return (*waits[:-1], Span(low_ms, float(longest_ms), number)), longest_ms
