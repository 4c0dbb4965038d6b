# Which successful answers say that the next request would be refused (spec §7.6).

from datetime import UTC, datetime

import pytest

from proxy.ratelimits import requests_left

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
    assert requests_left(list(headers.items()), now=NOW) == (0, ms)


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
