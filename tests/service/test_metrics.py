# The scrape, read as Prometheus reads it: exact names, labels and values.

import pytest
from prometheus_client.parser import text_string_to_metric_families
from records import record_of

from proxy.core.model import (
    Effect,
    Granted,
    Kind,
    Queued,
    RateLimit,
    RateLimited,
    Reclaimed,
    Reduced,
    Released,
    Slot,
    Snapshot,
    Ticket,
)
from proxy.errors import OWN_ANSWERS
from proxy.service.counts import Counts
from proxy.service.histogram import BUCKETS_S
from proxy.service.metrics import Metrics

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def snapshot(provider_id: str, **changed: object) -> Snapshot:
    values: dict[str, object] = {
        "limit": 4,
        "held": 2,
        "cooling": 1,
        "queued": 7,
        "paused_until_at": None,
        "pause_cause": None,
        "cooldown_s": 0.35,
        "auto_reduced_from": None,
        "notice": None,
        "oldest_wait_s": None,
        "last_rate_limit": None,
        "evidence": (),
        "gate": None,
        "external": 1,
        "strikes": 2,
        "strikes_allowed": 10,
    }
    return Snapshot(provider_id=provider_id, **{**values, **changed})  # type: ignore[arg-type]


def scrape(metrics: Metrics) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }


def of(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get((f"slotgate_{name}", tuple(sorted(labels.items()))))


def slot() -> Slot:
    ticket = Ticket(id=1, workspace="client-chosen", conversation="client-chosen", prompt_started_at=0, path="/chosen")
    return Slot(ticket, 0, 0.0)


def rate_limited(kind: str) -> RateLimited:
    return RateLimited(slot().ticket, RateLimit(0, 429, kind, None, 1))


EVERYTHING: list[Effect] = [
    Queued(slot().ticket),
    Granted(slot().ticket, slot(), 0.2),
    Released(slot(), 3.0),
    rate_limited(Kind.CONCURRENCY),
    Reduced(3, 4, "notice"),
    Reclaimed(slot(), "silent", 300.0),
]


def observe(metrics: Metrics, effect: Effect) -> None:
    if type(effect) in metrics.counts.measures:
        metrics.counts.measures[type(effect)]("p", effect)


def ended(metrics: Metrics, provider_id: str | None, outcome: str, **fields: object) -> None:
    metrics.counts.request_ended(record_of(provider_id=provider_id, outcome=outcome, **fields))


def busy() -> Metrics:
    """Each kind of number has happened once."""
    metrics = Metrics(Counts(), lambda: [snapshot("p")])
    for effect in EVERYTHING:
        observe(metrics, effect)
    ended(metrics, "p", "completed", counted=True, first_byte_ms=700)
    ended(metrics, None, "refused", code="unknown_upstream")
    metrics.counts.poll_errors["p"] += 1
    metrics.counts.unreadable["workspace"] += 1
    return metrics


def test_names_and_labels_are_exactly_the_contracts() -> None:
    provider = frozenset({"provider"})
    families = {
        (family.name, family.type, frozenset(label for sample in family.samples for label in sample.labels) - {"le"})
        for family in text_string_to_metric_families(busy().text().decode())
    }
    assert families == {
        ("slotgate_limit", "gauge", provider),
        ("slotgate_in_flight", "gauge", provider),
        ("slotgate_held", "gauge", provider),
        ("slotgate_cooling", "gauge", provider),
        ("slotgate_queued", "gauge", provider),
        ("slotgate_oldest_wait_seconds", "gauge", provider),
        ("slotgate_paused", "gauge", provider),
        ("slotgate_auto_reduced", "gauge", provider),
        ("slotgate_strikes", "gauge", provider),
        ("slotgate_strikes_allowed", "gauge", provider),
        ("slotgate_external_use", "gauge", provider),
        ("slotgate_cooldown_seconds", "gauge", provider),
        ("slotgate_queue_wait_seconds", "histogram", provider),
        ("slotgate_hold_seconds", "histogram", provider),
        ("slotgate_time_to_first_byte_seconds", "histogram", provider),
        ("slotgate_requests", "counter", frozenset({"provider", "outcome"})),
        ("slotgate_rate_limited", "counter", frozenset({"provider", "kind"})),
        ("slotgate_auto_reductions", "counter", provider),
        ("slotgate_reclaimed", "counter", provider),
        ("slotgate_own_answers", "counter", frozenset({"code"})),
        ("slotgate_usage_poll_errors", "counter", provider),
        ("slotgate_identity_unreadable", "counter", frozenset({"fact"})),
        ("slotgate_config_last_reload_successful", "gauge", frozenset()),
        ("slotgate_state_ok", "gauge", frozenset()),
    }


def test_no_label_is_what_a_client_chose() -> None:
    assert b"chosen" not in busy().text()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limit", 4),
        ("in_flight", 3),
        ("held", 2),
        ("cooling", 1),
        ("queued", 7),
        ("oldest_wait_seconds", 1.5),
        ("strikes", 2),
        ("strikes_allowed", 10),
        ("external_use", 1),
    ],
)
def test_gauges_are_the_snapshots_at_the_scrape(name: str, value: float) -> None:
    present = [snapshot("p", oldest_wait_s=1.5)]
    metrics = Metrics(Counts(), lambda: present)
    assert of(scrape(metrics), name, provider="p") == value
    present[:] = [snapshot("q")]
    assert of(scrape(metrics), name, provider="p") is None


def test_an_unlimited_provider_has_no_limit_sample() -> None:
    samples = scrape(Metrics(Counts(), lambda: [snapshot("p", limit=None)]))
    assert of(samples, "limit", provider="p") is None
    assert of(samples, "held", provider="p") == 2


def test_nobody_waiting_is_an_oldest_wait_of_zero() -> None:
    assert of(scrape(Metrics(Counts(), lambda: [snapshot("p")])), "oldest_wait_seconds", provider="p") == 0


def test_paused_and_auto_reduced_are_zero_or_one() -> None:
    samples = scrape(
        Metrics(Counts(), lambda: [snapshot("p", paused_until_at=9.0, auto_reduced_from=5), snapshot("q")])
    )
    assert [of(samples, name, provider="p") for name in ("paused", "auto_reduced")] == [1, 1]
    assert [of(samples, name, provider="q") for name in ("paused", "auto_reduced")] == [0, 0]


@pytest.mark.parametrize(
    ("name", "seconds"), [("queue_wait_seconds", 0.2), ("hold_seconds", 3.0), ("time_to_first_byte_seconds", 0.7)]
)
def test_a_duration_is_in_every_bucket_from_its_own_up(name: str, seconds: float) -> None:
    samples = scrape(busy())
    buckets = {
        float(dict(labels)["le"]): value
        for (sample, labels), value in samples.items()
        if sample == f"slotgate_{name}_bucket"
    }
    assert buckets == {bound: float(seconds <= bound) for bound in BUCKETS_S}
    assert of(samples, f"{name}_count", provider="p") == 1
    assert of(samples, f"{name}_sum", provider="p") == seconds


def test_a_bound_belongs_to_its_own_bucket() -> None:
    metrics = Metrics(Counts(), list)
    ended(metrics, "p", "completed", counted=True, first_byte_ms=500)
    ended(metrics, "p", "completed", counted=True, first_byte_ms=5_000_000)
    samples = scrape(metrics)
    assert of(samples, "time_to_first_byte_seconds_bucket", provider="p", le="0.25") == 0
    assert of(samples, "time_to_first_byte_seconds_bucket", provider="p", le="0.5") == 1
    assert of(samples, "time_to_first_byte_seconds_bucket", provider="p", le="600.0") == 1
    assert of(samples, "time_to_first_byte_seconds_bucket", provider="p", le="+Inf") == 2


def test_everything_that_counts_is_counted() -> None:
    metrics = busy()
    observe(metrics, rate_limited("rate"))
    observe(metrics, rate_limited("rate"))
    samples = scrape(metrics)
    assert of(samples, "requests_total", provider="p", outcome="completed") == 1
    assert of(samples, "rate_limited_total", provider="p", kind="concurrency") == 1
    assert of(samples, "rate_limited_total", provider="p", kind="rate") == 2
    assert of(samples, "auto_reductions_total", provider="p") == 1
    assert of(samples, "reclaimed_total", provider="p") == 1
    assert of(samples, "usage_poll_errors_total", provider="p") == 1
    assert of(samples, "identity_unreadable_total", fact="workspace") == 1
    assert of(samples, "own_answers_total", code="unknown_upstream") == 1


def test_a_request_that_reached_no_upstreams_name_is_counted_under_none() -> None:
    assert of(scrape(busy()), "requests_total", provider="none", outcome="refused") == 1


def test_rare_counters_begin_at_zero_so_that_their_first_step_is_seen() -> None:
    samples = scrape(Metrics(Counts(), lambda: [snapshot("p")]))
    for name in ("auto_reductions_total", "reclaimed_total", "usage_poll_errors_total"):
        assert of(samples, name, provider="p") == 0
    assert {code: of(samples, "own_answers_total", code=code) for code in OWN_ANSWERS} == dict.fromkeys(OWN_ANSWERS, 0)


def test_counts_outlive_the_provider_they_are_about() -> None:
    present = [snapshot("p")]
    metrics = Metrics(Counts(), lambda: present)
    observe(metrics, Reclaimed(slot(), "silent", 1.0))
    present.clear()
    assert of(scrape(metrics), "reclaimed_total", provider="p") == 1


def test_the_last_reload_counts() -> None:
    metrics = Metrics(Counts(), list)
    assert of(scrape(metrics), "config_last_reload_successful") == 1
    metrics.reloaded(False)
    assert of(scrape(metrics), "config_last_reload_successful") == 0
    metrics.reloaded(True)
    assert of(scrape(metrics), "config_last_reload_successful") == 1


def test_two_instances_share_nothing() -> None:
    busy()
    assert of(scrape(Metrics(Counts(), list)), "requests_total", provider="p", outcome="completed") is None
