"""What a provider begins with at a server that knows nothing of it."""

import pytest

from proxy.config import Provider
from proxy.core.model import Policy, RateLimit
from proxy.core.scheduler import Scheduler
from proxy.replicas.script import Standing
from proxy.service import standing as standings
from proxy.service.shared_start import in_force, shared_policy, shared_start

STOOD = Standing(limit=3, cooldown_s=0.5, paused_until=1000.0)


def seen(now=50.0):
    """As it is after a refusal of many on their way, and a pause."""
    scheduler = Scheduler(
        "p",
        Policy(strikes=9, auto_restore_s=60.0),
        set(),
        limit=2,
        auto_reduced_from=4,
        evidence=(RateLimit(1, 429, "concurrency", None, 4),),
        learns_limit=True,
        learns_cooldown=True,
        paused_until_at=90.0,
        pause_cause="concurrency",
        strikes=2,
        strikes_until_at=80.0,
        restore_after_s=120.0,
    )
    return scheduler.snapshot(now)


def test_what_is_left_of_a_pause_is_told_and_not_when_it_ends():
    known = in_force(STOOD, None, cause=None, ahead_s=-900.0, now=60.0)  # the server's 1000 is 100 here
    assert known == {"limit": 3, "cooldown_s": 0.5, "pause_left_s": 40.0, "pause_cause": "rate"}


def test_a_cause_that_was_stored_holds_until_somebody_has_looked():
    assert in_force(STOOD, None, cause="operator", ahead_s=0.0, now=0.0)["pause_cause"] == "operator"
    assert in_force(STOOD, seen(), cause="operator", ahead_s=0.0, now=50.0)["pause_cause"] == "concurrency"


def test_no_pause_is_none():
    assert in_force(Standing(limit=1), None, cause=None, ahead_s=7.0, now=1.0)["pause_left_s"] is None


def test_what_was_learned_and_seen_is_told_beside_how_it_stands():
    known = in_force(STOOD, seen(), cause=None, ahead_s=-900.0, now=50.0)
    assert (known["limit"], known["cooldown_s"], known["pause_left_s"]) == (3, 0.5, 50.0), "the last word is newer"
    assert (known["original"], known["learns_limit"], known["learns_cooldown"]) == (4, True, True)
    assert known["evidence"] == [{"at": 1, "status": 429, "kind": "concurrency", "in_flight": 4}]
    assert (known["strikes"], known["strikes_left_s"], known["restore_after_s"]) == (2, 30.0, 120.0)


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        (Provider(provider_id="p"), (False, False, False)),
        (Provider(provider_id="p", limit=4), (4, 4, False)),
        (Provider(provider_id="p", learn_limit=True), (standings.AUTO, False, True)),
    ],
    ids=["none", "a number", "auto"],
)
def test_the_files_limit_is_told_as_it_stands_there(provider, said):
    file = shared_start(provider, standings.start(provider, None, 0))["file"]
    assert (file["limit_said"], file["limit"], file["learns_limit"]) == said


def test_a_poll_of_a_replica_that_hangs_is_not_waited_for_for_ever():
    assert shared_policy(Policy())["gate_patience_s"] == 30.0
