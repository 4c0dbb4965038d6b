# Who wins at a start: the file, or what was decided since (spec §13: the latest human action).

import pytest

from proxy.config import Pause, Provider, Usage
from proxy.core.model import RateLimit, Snapshot
from proxy.core.pause import OPERATOR
from proxy.service import standing
from proxy.service.standing import AUTO, OPERATOR_PAUSE_MAX_S, Standing
from proxy.store import ProviderRecord

NOW_MS = 1_764_000_000_000
SEEN = (RateLimit(at=NOW_MS, status=429, kind="concurrency", retry_after_ms=None, in_flight=4),)


def the_file(limit: int | None = 4, cooldown_s: float = 0.35, *, learn: bool = False, max_s: float = 600.0) -> Provider:
    return Provider(provider_id="p", limit=limit, learn_limit=learn, cooldown_s=cooldown_s, pause=Pause(max_s=max_s))


def saved(limit: int | None, by: str, file_limit: int | None = 4, **changes: object) -> ProviderRecord:
    values: dict[str, object] = {
        "cooldown_s": 0.35,
        "cooldown_by": "file",
        "file_cooldown_s": 0.35,
        "auto_reduced_from": None,
        "evidence": (),
        "paused_until_ms": None,
        "pause_cause": None,
    }
    return ProviderRecord(provider_id="p", limit=limit, limit_by=by, file_limit=file_limit, **{**values, **changes})


@pytest.mark.parametrize(
    ("file", "record", "limit", "by"),
    [
        (the_file(4), None, 4, "file"),
        (the_file(None), None, None, "file"),
        (the_file(4), saved(7, "api"), 7, "api"),
        (the_file(4), saved(None, "api"), None, "api"),  # a DELETE is remembered
        (the_file(4), saved(3, "auto"), 3, "auto"),
        (the_file(5), saved(7, "api"), 5, "file"),  # the file was changed since
        (the_file(5), saved(3, "auto"), 5, "file"),
        (the_file(None), saved(7, "api"), None, "file"),
        (the_file(None), saved(7, "api", None), 7, "api"),  # it never said anything
        (the_file(4), saved(7, "api", None), 4, "file"),  # it says something now
        (the_file(4), saved(4, "file"), 4, "file"),
        (the_file(5), saved(4, "file"), 5, "file"),
        (the_file(None, learn=True), saved(6, "auto", AUTO), 6, "auto"),
        (the_file(None, learn=True), saved(6, "api", 4), None, "file"),
        (the_file(4), saved(6, "auto", AUTO), 4, "file"),
        (the_file(None), saved(6, "auto", AUTO), None, "file"),
    ],
)
def test_who_says_the_limit(file, record, limit, by):
    begin = standing.start(file, record, NOW_MS)
    assert (begin.limit, begin.standing.limit_by) == (limit, by)
    assert begin.standing.file_limit == standing.file_limit(file)


@pytest.mark.parametrize(
    ("file_s", "record", "cooldown_s", "by"),
    [
        (0.35, None, 0.35, "file"),
        (0.35, {"cooldown_s": 2.0, "cooldown_by": "api"}, 2.0, "api"),
        (0.35, {"cooldown_s": 0.0, "cooldown_by": "api"}, 0.0, "api"),
        (0.5, {"cooldown_s": 2.0, "cooldown_by": "api"}, 0.5, "file"),
        (0.5, {"cooldown_s": 0.35, "cooldown_by": "file"}, 0.5, "file"),
        (0.35, {"cooldown_s": 2.0, "cooldown_by": "api", "file_cooldown_s": None}, 0.35, "file"),
    ],
)
def test_who_says_the_cooldown(file_s, record, cooldown_s, by):
    begin = standing.start(the_file(4, file_s), None if record is None else saved(4, "file", **record), NOW_MS)
    assert (begin.cooldown_s, begin.standing.cooldown_by) == (cooldown_s, by)
    assert begin.standing.file_cooldown_s == file_s


def test_limit_and_cooldown_are_decided_apart():
    record = saved(7, "api", cooldown_s=2.0, cooldown_by="api")
    assert standing.start(the_file(5, 0.35), record, NOW_MS).cooldown_s == 2.0
    assert standing.start(the_file(4, 0.5), record, NOW_MS).limit == 7


def test_auto_reduced_limit_keeps_its_origin_and_evidence():
    begin = standing.start(the_file(4), saved(3, "auto", auto_reduced_from=4, evidence=SEEN), NOW_MS)
    assert (begin.auto_reduced_from, begin.evidence) == (4, SEEN)


def test_changed_file_ends_an_auto_reduce():
    begin = standing.start(the_file(6), saved(3, "auto", auto_reduced_from=4, evidence=SEEN), NOW_MS)
    assert (begin.limit, begin.auto_reduced_from, begin.evidence) == (6, None, ())


@pytest.mark.parametrize(
    ("until_ms", "cause", "left_s"),
    [
        (None, None, None),
        (NOW_MS - 1, "rate", None),
        (NOW_MS, "rate", None),
        (NOW_MS + 1500, "rate", 1.5),
        (NOW_MS + 1500, OPERATOR, 1.5),
        (NOW_MS + 900_000, "rate", 600.0),  # CLK-01: a clock that was wrong pauses no longer than pause.max
        (NOW_MS + 900_000, OPERATOR, 900.0),
        (NOW_MS + 10**12, OPERATOR, OPERATOR_PAUSE_MAX_S),
    ],
)
def test_what_is_left_of_a_pause(until_ms, cause, left_s):
    begin = standing.start(the_file(), saved(4, "file", paused_until_ms=until_ms, pause_cause=cause), NOW_MS)
    assert begin.pause_left_s == left_s
    assert begin.pause_cause == (None if left_s is None else cause)


def test_pause_goes_on_also_where_the_file_was_changed():
    begin = standing.start(the_file(9), saved(4, "file", paused_until_ms=NOW_MS + 1000, pause_cause="rate"), NOW_MS)
    assert begin.pause_left_s == 1.0


def snapshot(**changes: object) -> Snapshot:
    values: dict[str, object] = {
        "provider_id": "p",
        "limit": 3,
        "held": 1,
        "cooling": 0,
        "queued": 0,
        "paused_until_at": 2.0,
        "pause_cause": "rate",
        "cooldown_s": 0.5,
        "auto_reduced_from": 4,
        "notice": "n",
        "oldest_wait_s": None,
        "last_rate_limit": None,
        "evidence": SEEN,
        "gate": None,
    }
    return Snapshot(**{**values, **changes})  # type: ignore[arg-type]


def since_now(at: float) -> int:
    return NOW_MS + round(at * 1000)


def test_what_is_kept_starts_the_next_process_as_it_was():
    file = the_file(4)
    by = Standing(limit_by="auto", file_limit=4, cooldown_by="api", file_cooldown_s=0.35)
    begin = standing.start(file, standing.record(snapshot(), by, since_now), NOW_MS)
    assert (begin.limit, begin.auto_reduced_from, begin.evidence) == (3, 4, SEEN)
    assert (begin.cooldown_s, begin.pause_left_s, begin.pause_cause) == (0.5, 2.0, "rate")
    assert begin.standing == by


def test_evidence_is_kept_only_of_an_auto_reduce():
    by = Standing(limit_by="api", file_limit=4)
    assert standing.record(snapshot(auto_reduced_from=None), by, since_now).evidence == ()


def test_policy_is_the_configuration_of_the_scheduler():
    usage = Usage(url="http://a/v1/usage", field="n", interval_s=3.0, age_s=1.5)
    provider = Provider(
        provider_id="p",
        auto_reduce=False,
        auto_restore_s=60.0,
        strikes=10,
        pause=Pause(default_s=1.0, min_s=2.0, max_s=3.0),
        slot_timeout_s=None,
        max_hold_s=9.0,
        absorb=2,
        usage=usage,
    )
    policy = standing.policy(provider, max_waiting=7, max_wait_s=8.0)
    assert (policy.auto_reduce, policy.auto_restore_s, policy.strikes, policy.absorb) == (False, 60.0, 10, 2)
    assert (policy.pause.default_s, policy.pause.min_s, policy.pause.max_s) == (1.0, 2.0, 3.0)
    assert (policy.slot_timeout_s, policy.max_hold_s) == (None, 9.0)
    assert (policy.max_waiting, policy.max_wait_s, policy.gate_interval_s) == (7, 8.0, 3.0)
    assert policy.gate_age_s == 1.5
    without = standing.policy(Provider(provider_id="p"), max_waiting=7, max_wait_s=8.0)
    assert (without.gate_interval_s, without.gate_age_s) == (None, 0.0)


def test_strikes_of_the_day_and_the_time_to_a_restore_go_on():
    seen = snapshot(strikes=3, strikes_until_at=60.0, restore_after_s=120.0)
    by = Standing(limit_by="auto", file_limit=4, file_cooldown_s=0.35)
    begin = standing.start(the_file(4), standing.record(seen, by, since_now), NOW_MS)
    assert (begin.strikes, begin.strikes_left_s, begin.restore_after_s) == (3, 60.0, 120.0)


@pytest.mark.parametrize("ends_ms", [0, -1, 86_400_001])
def test_strikes_of_another_day_or_of_a_wrong_clock_are_not_counted(ends_ms):
    record = saved(4, "file", strikes=9, strikes_until_ms=NOW_MS + ends_ms)
    assert standing.start(the_file(4), record, NOW_MS).strikes == 0


@pytest.mark.parametrize("ends_ms", [1, 86_400_000])
def test_strikes_count_to_the_last_moment_of_their_day(ends_ms):
    record = saved(4, "file", strikes=9, strikes_until_ms=NOW_MS + ends_ms)
    assert standing.start(the_file(4), record, NOW_MS).strikes == 9


def test_time_to_a_restore_is_as_configured_where_the_file_set_another_limit():
    record = saved(4, "auto", file_limit=4, restore_after_s=120.0)
    assert standing.start(the_file(9), record, NOW_MS).restore_after_s is None


@pytest.mark.parametrize(("by", "learns"), [("file", True), ("auto", True), ("api", False)])
def test_what_is_auto_is_learned_until_a_person_sets_it(by, learns):
    file = Provider(provider_id="p", learn_limit=True, learn_cooldown=True)
    record = saved(4, by, file_limit=standing.AUTO, cooldown_s=1.5, cooldown_by=by, file_cooldown_s=standing.AUTO_S)
    begin = standing.start(file, record, NOW_MS)
    assert (begin.learns_limit, begin.learns_cooldown) == (learns, learns)
    assert begin.cooldown_s == (0.35 if by == "file" else 1.5)


def test_what_is_not_auto_is_not_learned():
    begin = standing.start(the_file(4), None, NOW_MS)
    assert (begin.learns_limit, begin.learns_cooldown) == (False, False)


def test_file_that_says_auto_now_beats_the_same_number_of_before():
    record = saved(4, "file", cooldown_s=0.6, cooldown_by="api", file_cooldown_s=0.35)
    begin = standing.start(Provider(provider_id="p", learn_cooldown=True), record, NOW_MS)
    assert (begin.cooldown_s, begin.learns_cooldown) == (0.35, True)


def test_auto_is_no_number_that_a_file_could_say():
    assert standing.AUTO < 1
    assert standing.AUTO_S < 0
