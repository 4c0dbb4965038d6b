# The numbers of spec §14 for Prometheus.
#
# Rule 1: labels are providers, outcomes, kinds, codes and facts, never what a client chose: no workspace, no
#         conversation, no path.
# Rule 2: what can be read is read at the scrape; what would be forgotten is counted (counts.py). The library writes the
#         text, no more.
# Rule 3: no global registry: names are exactly the contract's, without `_created` series.

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from proxy.core.model import Snapshot
from proxy.service.counts import Counts
from proxy.service.histogram import BUCKETS_S, Histogram

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


# Name, what it says, which of the counts.
_HISTOGRAMS: tuple[tuple[str, str, Callable[[Counts], Histogram]], ...] = (
    (
        "queue_wait",
        "From arrival in the queue to the grant, each time a request queues",
        lambda counts: counts.waits,
    ),
    ("hold", "From the grant to the release", lambda counts: counts.holds),
    ("time_to_first_byte", "Until the first byte of a counted answer", lambda counts: counts.first_bytes),
)


class Metrics(Collector):
    """Tells what `counts` has; `snapshots` gives every known provider's present state."""

    def __init__(
        self,
        counts: Counts,
        snapshots: Callable[[], Iterable[Snapshot]],
        state_ok: Callable[[], bool] = lambda: True,
    ) -> None:
        self.counts = counts
        self._snapshots = snapshots
        self._state_ok = state_ok
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._reload_succeeded = True

    def reloaded(self, succeeded: bool) -> None:
        """The last reload's outcome."""
        self._reload_succeeded = succeeded

    def text(self) -> bytes:
        """Everything, in the text exposition format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """For the library: everything, at this moment."""
        snapshots = tuple(self._snapshots())
        for name, says, read in _GAUGES:
            yield _gauge(name, says, [(snapshot.provider_id, read(snapshot)) for snapshot in snapshots])
        counts = self.counts
        for name, says, histogram in _HISTOGRAMS:
            yield _histogram(name, says, histogram(counts))
        zero = dict.fromkeys((snapshot.provider_id for snapshot in snapshots), 0)
        ended: Counter[tuple[str, str]] = Counter()
        for (provider_id, outcome, _), count in counts.requests.items():
            ended[provider_id, outcome] += count
        yield _counter("requests", "Requests that have ended", ["provider", "outcome"], ended)
        yield _counter("rate_limited", "Refusals by the provider", ["provider", "kind"], counts.rate_limited)
        yield _counter("auto_reductions", "Limits lowered by one", ["provider"], {**zero, **counts.auto_reductions})
        yield _counter("reclaimed", "Slots taken back", ["provider"], {**zero, **counts.reclaimed})
        yield _counter("own_answers", "Answers by the proxy itself", ["code"], counts.own_answers)
        yield _counter("usage_poll_errors", "Usage polls that failed", ["provider"], {**zero, **counts.poll_errors})
        yield _counter("identity_unreadable", "Stated facts that could not be read", ["fact"], counts.unreadable)
        yield GaugeMetricFamily(
            "slotgate_state_ok",
            "0 while the state cannot be stored, or the one that replicas share not be reached",
            value=float(self._state_ok()),
        )
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


def _histogram(name: str, says: str, histogram: Histogram) -> HistogramMetricFamily:
    family = HistogramMetricFamily(f"slotgate_{name}_seconds", says, labels=["provider"])
    for provider_id, series in histogram.series.items():
        buckets = list(zip(_BOUNDS, accumulate(series.counts), strict=True))
        family.add_metric([provider_id], buckets, series.sum_s)
    return family


def _counter(name: str, says: str, labels: list[str], counts: dict[Any, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"slotgate_{name}", says, labels=labels)
    for values, count in counts.items():
        family.add_metric([values] if isinstance(values, str) else list(values), count)
    return family
