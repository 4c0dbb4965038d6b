"""The account: what it counts, whom it refuses, what it holds against whom."""

import random
from itertools import pairwise

import pytest

from .provider import Account, Reason, Refusal, Taken, Terms
from .ranges import Range

NOW = 1_796_000_000.0


def account(**terms: object) -> Account:
    return Account(Terms(**terms), random.Random(1), NOW)  # type: ignore[arg-type]


def taken(outcome: Taken | Refusal) -> Taken:
    assert isinstance(outcome, Taken)
    return outcome


def reason(outcome: Taken | Refusal) -> Reason:
    assert isinstance(outcome, Refusal)
    return outcome.reason


def test_finished_answer_takes_its_place_until_the_lag_is_over() -> None:
    one = account(limit=1, lag_s=Range(0.5, 0.5))
    first = taken(one.begin(NOW))
    one.end(first, NOW + 10)
    one.end(first, NOW + 11)
    assert reason(one.begin(NOW + 10.4)) == "concurrency"
    taken(one.begin(NOW + 10.5))
    assert (one.seen.taken, one.seen.refused[Reason.CONCURRENCY], one.open) == (2, 1, 1)


def test_usage_count_is_as_old_as_its_lag_says() -> None:
    one = account(lag_s=Range(1.0, 1.0), usage_lag_s=Range(0.3, 0.3))
    first = taken(one.begin(NOW))
    assert [one.usage(NOW + 0.2), one.usage(NOW + 0.3)] == [0, 1]
    one.end(first, NOW + 2)
    assert [one.usage(NOW + 3.2), one.usage(NOW + 3.3)] == [1, 0]


def test_usage_count_fails_as_often_as_told() -> None:
    one = account(usage_failures=0.5)
    failures = sum(one.usage(NOW + second) is None for second in range(1000))
    assert 400 < failures < 600


def test_strikes_slow_down_and_then_lock() -> None:
    one = account(limit=1, strikes=2, slowness=0.5, lockout_s=3600.0)
    first = taken(one.begin(NOW))
    assert [reason(one.begin(NOW + second)) for second in (1, 2)] == ["concurrency"] * 2
    one.end(first, NOW + 3)
    slow = taken(one.begin(NOW + 4))
    assert slow.slowness == 2.0
    assert reason(one.begin(NOW + 5)) == "concurrency"
    locked = one.begin(NOW + 6)
    assert locked == Refusal(Reason.LOCKED, 3599.0)
    one.end(slow, NOW + 7)
    assert taken(one.begin(NOW + 3606)).slowness == 1.0
    assert (one.strikes.count, one.strikes.lockouts) == (3, 1)


@pytest.mark.parametrize(("bucket", "waits"), [("window", 50.0), ("steady", 20.0)])
def test_requests_a_minute(bucket: str, waits: float) -> None:
    one = account(rpm=2, bucket=bucket, bucket_headers="openai")
    taken(one.begin(NOW))
    assert ("x-ratelimit-remaining-requests", "1") in one.headers(NOW)
    taken(one.begin(NOW + 10))
    refused = one.begin(NOW + 10)
    assert reason(refused) == "requests"
    assert refused.wait_s == pytest.approx(waits)  # type: ignore[union-attr]
    taken(one.begin(NOW + 10 + waits))


def test_tokens_a_minute_do_not_cost_a_request() -> None:
    one = account(rpm=1, tpm=1000)
    assert reason(one.begin(NOW, tokens=1001)) == "tokens"
    taken(one.begin(NOW, tokens=1000))
    assert reason(one.begin(NOW, tokens=1)) == "requests"


def test_buckets_are_told_as_anthropic_tells_them() -> None:
    one = account(rpm=2, bucket_headers="anthropic")
    taken(one.begin(NOW))
    assert one.headers(NOW + 1) == [
        ("anthropic-ratelimit-requests-limit", "2"),
        ("anthropic-ratelimit-requests-remaining", "1"),
        ("anthropic-ratelimit-requests-reset", "2026-11-30T00:54:20Z"),
    ]


def test_quota_of_one_model_leaves_the_others() -> None:
    one = account(quota={"large": 1}, quota_s=3600.0)
    taken(one.begin(NOW, model="large"))
    assert one.begin(NOW + 1, model="large") == Refusal(Reason.QUOTA, 3600.0)
    taken(one.begin(NOW + 2, model="small"))
    assert reason(one.begin(NOW + 3600, model="large")) == "quota"
    taken(one.begin(NOW + 3602, model="large"))


def test_overload_comes_in_bursts_of_about_the_share_told() -> None:
    one = account(overload=0.1)
    refused = []
    for second in range(100_000):
        outcome = one.begin(NOW + second)
        refused.append(isinstance(outcome, Refusal))
        if isinstance(outcome, Taken):
            one.end(outcome, NOW + second)
    assert 0.05 < sum(refused) / len(refused) < 0.2
    changes = sum(a is not b for a, b in pairwise(refused))
    assert changes < sum(refused) / 3
    assert one.strikes.count == 0


def test_others_are_counted_and_refused_like_everybody() -> None:
    one = account(limit=2, external=Range(1, 2))
    seen = set()
    for second in range(20_000):
        one.advance(NOW + second)
        assert one.counted(NOW + second) == one.others <= 2
        seen.add(one.others)
    assert seen == {0, 1, 2}
    for at in range(30_000, 30_100):
        if isinstance(outcome := one.begin(NOW + at), Taken):
            assert one.counted(NOW + at) <= 2
            one.end(outcome, NOW + at)


def test_others_find_no_place_beside_us() -> None:
    one = account(limit=1, external=Range(0, 1))
    taken(one.begin(NOW))
    one.advance(NOW + 3600)
    assert (one.others, one.seen.others_refused > 10) == (0, True)
