# What is counted because it would be forgotten: of requests that have ended, and of what the queues did.
#
# Rule 1: counting is on every request's path. The library's own counters are thread-safe, ten times slower, and not
#         used; metrics.py tells Prometheus what stands here.
# Rule 2: everything only grows.

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from proxy.core.model import Granted, RateLimited, Reclaimed, Reduced, Released
from proxy.errors import OWN_ANSWERS
from proxy.service.histogram import NOTHING, Histogram
from proxy.service.record import RequestRecord

NO_PROVIDER = "none"  # stands for the provider of requests that reached no upstream's name


class Tally(NamedTuple):
    """Counters of one provider, that only grow: of counted requests, how long each waited for its grant and for its
    first byte (how many in each of BUCKETS_S), how many were answered to their end; refusals and reductions."""

    waits: tuple[int, ...] = NOTHING
    first_bytes: tuple[int, ...] = NOTHING
    completed: int = 0
    rate_limited: int = 0
    reduced: int = 0

    def since(self, earlier: "Tally") -> "Tally":
        """What has come about since `earlier`."""
        return Tally(
            waits=tuple(now - then for now, then in zip(self.waits, earlier.waits, strict=True)),
            first_bytes=tuple(now - then for now, then in zip(self.first_bytes, earlier.first_bytes, strict=True)),
            completed=self.completed - earlier.completed,
            rate_limited=self.rate_limited - earlier.rate_limited,
            reduced=self.reduced - earlier.reduced,
        )


class Counts:
    """All of one process. `measures` has what is to be called, with provider and effect, for each kind that counts."""

    def __init__(self) -> None:
        self.waits = Histogram()
        self.holds = Histogram()
        self.first_bytes = Histogram()
        # By provider, outcome, and whether it was counted.
        self.requests: dict[tuple[str, str, bool], int] = {}
        self.rate_limited: Counter[tuple[str, str]] = Counter()
        self.auto_reductions: Counter[str] = Counter()
        self.reclaimed: Counter[str] = Counter()
        self.poll_errors: Counter[str] = Counter()
        # At zero from the start: Prometheus cannot see the first event of a series that begins with it.
        self.own_answers: Counter[str] = Counter(dict.fromkeys(OWN_ANSWERS, 0))
        self.unreadable: Counter[str] = Counter()
        self.measures: Mapping[type, Callable[[str, Any], None]] = {
            Granted: self._granted,
            Released: self._released,
            RateLimited: self._refused,
            Reduced: self._reduced,
            Reclaimed: self._taken_back,
        }

    def request_ended(self, record: RequestRecord) -> None:
        """Any request's end."""
        provider_id = record.provider_id or NO_PROVIDER
        kind = (provider_id, record.outcome, record.counted)
        self.requests[kind] = self.requests.get(kind, 0) + 1
        if record.code is not None:
            self.own_answers[record.code] += 1
        if record.counted and record.first_byte_ms is not None:
            self.first_bytes.observe(provider_id, record.first_byte_ms / 1000)

    def tally(self, provider_id: str) -> Tally:
        """What there is of one provider so far."""
        return Tally(
            waits=self.waits.counts(provider_id),
            first_bytes=self.first_bytes.counts(provider_id),
            completed=self.requests.get((provider_id, "completed", True), 0),
            rate_limited=sum(count for (name, _), count in self.rate_limited.items() if name == provider_id),
            reduced=self.auto_reductions[provider_id],
        )

    def _granted(self, provider_id: str, effect: Granted) -> None:
        self.waits.observe(provider_id, effect.waited_s)

    def _released(self, provider_id: str, effect: Released) -> None:
        self.holds.observe(provider_id, effect.held_s)

    def _refused(self, provider_id: str, effect: RateLimited) -> None:
        self.rate_limited[provider_id, str(effect.limit.kind)] += 1

    def _reduced(self, provider_id: str, _: Reduced) -> None:
        self.auto_reductions[provider_id] += 1

    def _taken_back(self, provider_id: str, _: Reclaimed) -> None:
        self.reclaimed[provider_id] += 1
