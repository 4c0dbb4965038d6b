# The numbers of spec §14 for Prometheus.
#
# Rule 1: labels are providers, outcomes, kinds, codes and facts, never what a client chose: no workspace, no
#         conversation, no path.
# Rule 2: what can be read is read at the scrape; only what would be forgotten is counted, and counting is on every
#         request's path. So the library writes the text, and its thread-safe counters, ten times slower, are not used.
# Rule 3: no global registry: names are exactly the contract's, without `_created` series.

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from proxy.core.model import Granted, RateLimited, Reclaimed, Reduced, Released, Snapshot
from proxy.errors import OWN_ANSWERS
from proxy.service.record import RequestRecord

NO_PROVIDER = "none"  # the label of requests that reached no upstream's name
# Seconds: from a grant on the spot to the longest wait that clients bear. From half a second on, where people look, no
# bound is twice the one before: the history's percentiles are no finer. Their number costs a request nothing.
BUCKETS_S = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 3.5, 5, 7.5),
    *(10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, math.inf),
)
_BOUNDS = tuple("+Inf" if math.isinf(bound) else str(float(bound)) for bound in BUCKETS_S)

# Name, what it says, how it is read (None: no sample).
_GAUGES: tuple[tuple[str, str, Callable[[Snapshot], float | None]], ...] = (
    ("limit", "Counted requests that may be in flight; absent: unlimited", lambda s: s.limit),
    ("in_flight", "Held and cooling slots", lambda s: s.in_flight),
    ("held", "Slots in use", lambda s: s.held),
    ("cooling", "Slots that rest after their release", lambda s: s.cooling),
    ("queued", "Requests that wait for a slot", lambda s: s.queued),
    ("oldest_wait_seconds", "How long the longest waiting request has waited", lambda s: s.oldest_wait_s or 0.0),
    ("paused", "1 while nothing is granted", lambda s: s.paused_until_at is not None),
    ("auto_reduced", "1 while the limit is lower because of rate limits", lambda s: s.auto_reduced),
    ("strikes", "Refusals for concurrency on this day (UTC)", lambda s: s.strikes),
    ("strikes_allowed", "How many of them the provider bears; absent: not known", lambda s: s.strikes_allowed),
    ("external_use", "What others use of the same account; absent: nobody has told lately", lambda s: s.external),
    ("cooldown_seconds", "How long a released slot rests", lambda s: s.cooldown_s),
)


class Tally(NamedTuple):
    """Counters of one provider, that only grow: of counted requests, how long each waited for its grant and for its
    first byte (how many in each of BUCKETS_S), how many were answered to their end; refusals and reductions."""

    waits: tuple[int, ...] = (0,) * len(BUCKETS_S)
    first_bytes: tuple[int, ...] = (0,) * len(BUCKETS_S)
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


class _Series:
    """One provider's part of a histogram."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * len(BUCKETS_S)
        self.sum_s = 0.0


class Histogram:
    """How often a duration fell into each bucket, by provider."""

    __slots__ = ("_series", "name", "says")

    def __init__(self, name: str, says: str) -> None:
        self.name = name
        self.says = says
        self._series: defaultdict[str, _Series] = defaultdict(_Series)

    def observe(self, provider_id: str, seconds: float) -> None:
        series = self._series[provider_id]
        series.counts[bisect_left(BUCKETS_S, seconds)] += 1
        series.sum_s += seconds

    def counts(self, provider_id: str) -> tuple[int, ...]:
        """How many there were in each bucket so far."""
        series = self._series.get(provider_id)
        return (0,) * len(BUCKETS_S) if series is None else tuple(series.counts)

    def family(self) -> HistogramMetricFamily:
        family = HistogramMetricFamily(self.name, self.says, labels=["provider"])
        for provider_id, series in self._series.items():
            reached, buckets = 0, []
            for bound, count in zip(_BOUNDS, series.counts, strict=True):
                reached += count
                buckets.append((bound, reached))
            family.add_metric([provider_id], buckets, series.sum_s)
        return family


class Metrics(Collector):
    """Counts, and tells; `snapshots` gives every known provider's present state. `measures` has, for each effect that
    counts, what is to be called with its provider and it."""

    def __init__(self, snapshots: Callable[[], Iterable[Snapshot]]) -> None:
        self._snapshots = snapshots
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._wait = Histogram(
            "slotgate_queue_wait_seconds", "From arrival in the queue to the grant, each time a request queues"
        )
        self._hold = Histogram("slotgate_hold_seconds", "From the grant to the release")
        self._first_byte = Histogram("slotgate_time_to_first_byte_seconds", "Until the first byte of a counted answer")
        # By provider, outcome, and whether it was counted. It adds in half of a Counter's time.
        self._requests: defaultdict[tuple[str, str, bool], int] = defaultdict(int)
        self._rate_limited: Counter[tuple[str, str]] = Counter()
        self._auto_reductions: Counter[str] = Counter()
        self._reclaimed: Counter[str] = Counter()
        self._poll_errors: Counter[str] = Counter()
        # At zero from the start: Prometheus cannot see the first event of a series that begins with it.
        self._own_answers: Counter[str] = Counter(dict.fromkeys(OWN_ANSWERS, 0))
        self._unreadable: Counter[str] = Counter()
        self._reload_succeeded = True
        self.measures: Mapping[type, Callable[[str, Any], None]] = {
            Granted: lambda provider_id, effect: self._wait.observe(provider_id, effect.waited_s),
            Released: lambda provider_id, effect: self._hold.observe(provider_id, effect.held_s),
            RateLimited: lambda provider_id, effect: self._rate_limited.update([(provider_id, str(effect.limit.kind))]),
            Reduced: lambda provider_id, _: self._auto_reductions.update([provider_id]),
            Reclaimed: lambda provider_id, _: self._reclaimed.update([provider_id]),
        }

    def request_ended(self, record: RequestRecord) -> None:
        """Any request's end."""
        provider_id = record.provider_id or NO_PROVIDER
        self._requests[provider_id, record.outcome, record.counted] += 1
        if record.code is not None:
            self._own_answers[record.code] += 1
        if record.counted and record.first_byte_ms is not None:
            self._first_byte.observe(provider_id, record.first_byte_ms / 1000)

    def poll_failed(self, provider_id: str) -> None:
        """A usage poll gave no information."""
        self._poll_errors[provider_id] += 1

    def unreadable(self, fact: str) -> None:
        """A request stated `fact` in a way that could not be read."""
        self._unreadable[fact] += 1

    def reloaded(self, succeeded: bool) -> None:
        """The last reload's outcome."""
        self._reload_succeeded = succeeded

    def tally(self, provider_id: str) -> Tally:
        """What the counters say of one provider so far."""
        return Tally(
            waits=self._wait.counts(provider_id),
            first_bytes=self._first_byte.counts(provider_id),
            completed=self._requests.get((provider_id, "completed", True), 0),
            rate_limited=sum(count for (name, _), count in self._rate_limited.items() if name == provider_id),
            reduced=self._auto_reductions[provider_id],
        )

    def text(self) -> bytes:
        """Everything, in the text exposition format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """For the library: everything, at this moment."""
        snapshots = tuple(self._snapshots())
        for name, says, read in _GAUGES:
            yield _gauge(name, says, [(snapshot.provider_id, read(snapshot)) for snapshot in snapshots])
        for histogram in (self._wait, self._hold, self._first_byte):
            yield histogram.family()
        zero = dict.fromkeys((snapshot.provider_id for snapshot in snapshots), 0)
        ended: Counter[tuple[str, str]] = Counter()
        for (provider_id, outcome, _), count in self._requests.items():
            ended[provider_id, outcome] += count
        yield _counter("requests", "Requests that have ended", ["provider", "outcome"], ended)
        yield _counter("rate_limited", "Refusals by the provider", ["provider", "kind"], self._rate_limited)
        yield _counter("auto_reductions", "Limits lowered by one", ["provider"], {**zero, **self._auto_reductions})
        yield _counter("reclaimed", "Slots taken back", ["provider"], {**zero, **self._reclaimed})
        yield _counter("own_answers", "Answers by the proxy itself", ["code"], self._own_answers)
        yield _counter("usage_poll_errors", "Usage polls that failed", ["provider"], {**zero, **self._poll_errors})
        yield _counter("identity_unreadable", "Stated facts that could not be read", ["fact"], self._unreadable)
        yield GaugeMetricFamily(
            "slotgate_config_last_reload_successful",
            "0 after a reload that failed",
            value=float(self._reload_succeeded),
        )


def _gauge(name: str, says: str, values: Iterable[tuple[str, float | None]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"slotgate_{name}", says, labels=["provider"])
    for provider_id, value in values:
        if value is not None:
            family.add_metric([provider_id], float(value))
    return family


def _counter(name: str, says: str, labels: list[str], counts: dict[Any, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"slotgate_{name}", says, labels=labels)
    for values, count in counts.items():
        family.add_metric([values] if isinstance(values, str) else list(values), count)
    return family
