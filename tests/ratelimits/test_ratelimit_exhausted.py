# Which successful answers say that the next request would be refused (spec §7.6).

from datetime import UTC, datetime

import pytest

from proxy.ratelimits import buckets, grammar, requests_left
from proxy.ratelimits.buckets import Bucket
from proxy.ratelimits.classifier import may_count_down

NOW = datetime(2026, 10, 8, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("headers", "ms"),
    [
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1.2s"}, 1200),
        ({"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "1791460818"}, 18_000),
        ({"x-ratelimit-remaining-requests-minute": "0", "x-ratelimit-reset-requests-minute": "41.25"}, 41_250),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-10-08T12:00:30Z",
            },
            30_000,
        ),
        ({"RateLimit": '"api";r=0;t=55'}, 55_000),
        ({"RateLimit": "limit=100, remaining=0, reset=30"}, 30_000),
        ({"RateLimit-Remaining": "0", "RateLimit-Reset": "12"}, 12_000),
    ],
)
def test_a_used_up_bucket_of_requests_says_when_it_is_full_again(headers, ms):
    assert may_count_down([name.lower().encode() for name in headers])
    assert requests_left(list(headers.items()), now=NOW) == (0, ms)


def test_names_that_count_nothing_down_are_known_at_once():
    assert not may_count_down([b"content-type", b"retry-after", b"remaining", b"x-rate", b"lim", b"it"])


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-ratelimit-remaining-requests": "100", "x-ratelimit-reset-requests": "1.2s"},
        {"x-ratelimit-remaining-requests": "-1", "x-ratelimit-reset-requests": "1.2s"},
        {"x-ratelimit-limit-requests": "1", "x-ratelimit-reset-requests": "1.2s"},
        {"x-ratelimit-remaining-requests": "10", "x-ratelimit-reset-requests": "0"},
        {"x-ratelimit-remaining-requests": "0"},
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "0"},
        {"x-ratelimit-reset-requests": "1.2s"},
        {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.2s"},
        {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-10-08T12:00:30Z"},
        {"RateLimit": '"api";r=0;t=55', "RateLimit-Policy": '"api";q=9;qu="concurrent-requests"'},
        {"Retry-After": "0"},
    ],
)
def test_anything_else_says_nothing(headers):
    assert requests_left(list(headers.items()), now=NOW) is None


def test_of_several_buckets_of_requests_the_last_to_recover_counts():
    headers = [
        ("x-ratelimit-remaining-requests-minute", "0"),
        ("x-ratelimit-reset-requests-minute", "9"),
        ("x-ratelimit-remaining-requests-day", "0"),
        ("x-ratelimit-reset-requests-day", "900"),
        ("x-ratelimit-remaining-tokens-day", "0"),
        ("x-ratelimit-reset-tokens-day", "9000"),
    ]
    assert requests_left(headers, now=NOW) == (0, 900_000)


@pytest.mark.parametrize(
    ("headers", "left"),
    [
        ({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "1.2s"}, (1, 1200)),
        ({"x-ratelimit-remaining-requests": "99", "x-ratelimit-reset-requests": "6m0s"}, (99, 360_000)),
        ({"RateLimit": '"api";r=3;t=55'}, (3, 55_000)),
        ({"RateLimit": "limit=100, remaining=4, reset=30"}, (4, 30_000)),
        (
            {
                "anthropic-ratelimit-requests-remaining": "2",
                "anthropic-ratelimit-requests-reset": "2026-10-08T12:00:30Z",
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-10-08T12:00:50Z",
            },
            (2, 30_000),
        ),
        (
            {
                "x-ratelimit-remaining-requests-minute": "5",
                "x-ratelimit-reset-requests-minute": "9",
                "x-ratelimit-remaining-requests-day": "3",
                "x-ratelimit-reset-requests-day": "900",
            },
            (3, 900_000),
        ),
    ],
)
def test_a_bucket_with_few_requests_says_how_many_and_until_when(headers, left):
    assert requests_left(list(headers.items()), now=NOW) == left


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"x-usage-ratelimit-session": "rem=0&rst=2026-10-08T12%3A00%3A30Z"}, [("usage-ratelimit-session", 0, 30_000)]),
        ({"x-usage-ratelimit-session": "rem=35.3&rst=7"}, [("usage-ratelimit-session", 35, 7000)]),
        ({"x-usage-ratelimit-session": "ent=9"}, []),
        ({"cookie": "rem=0&rst=7"}, []),
        ({"anthropic-ratelimit-unified-5h-status": "rejected"}, [("unified-5h", 0, None)]),
        (
            {
                "anthropic-ratelimit-unified-status": "allowed_warning",
                "anthropic-ratelimit-unified-5h-status": "rejected",
            },
            [],
        ),
        (
            {
                "anthropic-ratelimit-unified-status": "Allowed",
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-10-08T12:00:30Z",
            },
            [("requests", 0, 30_000)],
        ),
        (
            {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-5h-status": "rejected"},
            [("unified", 0, None), ("unified-5h", 0, None)],
        ),
        ({"anthropic-ratelimit-unified-overage-status": "rejected"}, []),
        ({"anthropic-priority-requests-remaining": "3"}, [("requests", 3, None)]),
        ({"x-concurrency-limit": "4", "x-concurrency-limit-active": "4"}, [("concurrency-limit", 0, None)]),
        ({"x-concurrency-limit": "4", "x-concurrency-limit-active": "5"}, [("concurrency-limit", 0, None)]),
        ({"x-concurrency-limit": "4", "x-concurrency-limit-active": "3"}, []),
        ({"x-concurrency-limit": "4"}, []),
        ({"x-concurrency-limit-active": "4"}, []),
        (
            {"x-codex-primary-used-percent": "100", "x-codex-primary-reset-at": "1791460818"},
            [("codex-primary", 0, 18_000)],
        ),
        ({"x-codex-primary-used-percent": "99", "x-codex-primary-reset-after-seconds": "7"}, []),
        ({"ratelimit": '"a";r=5;t=7', "ratelimit-policy": '"a";q=9;w=86400'}, [("a requests day", 5, 7000)]),
        ({"ratelimit": '"a";r=5;t=7', "ratelimit-policy": '"a";q=9;w=3600;qu="tokens"'}, [("a tokens", 5, 7000)]),
        ({"ratelimit": '"a";r=0;t=7, "b'}, []),  # does not parse
        ({"ratelimit": "limit=9, remaining=2, reset=7"}, [("requests", 2, 7000)]),
        ({"ratelimit": "limit=9, reset=7"}, []),
        ({"x-ratelimit-remaining-requests": "-1"}, []),
    ],
)
def test_buckets_are_told_as_the_server_calls_them(headers, told):
    values = {name: [value] for name, value in headers.items()}
    assert buckets.told(values, grammar.clock(NOW, "")) == [Bucket(*each) for each in told]


def test_lines_of_a_list_are_one_list():
    values = {"ratelimit": ['"a";r=5;t=7', '"b";r=0;t=9']}
    assert buckets.exhausted(values, grammar.clock(NOW, "")) == [Bucket("b requests", 0, 9000)]


@pytest.mark.parametrize(("left", "ms"), [("1", 9000), ("0", 900_000)])
def test_of_equal_buckets_with_something_left_the_first_to_be_full_counts(left, ms):
    headers = [
        ("x-ratelimit-remaining-requests-minute", left),
        ("x-ratelimit-reset-requests-minute", "9"),
        ("x-ratelimit-remaining-requests-day", left),
        ("x-ratelimit-reset-requests-day", "900"),
    ]
    assert requests_left(headers, now=NOW) == (int(left), ms)
