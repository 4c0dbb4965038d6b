# Which successful answers say that the next request would be refused (spec §7.6).

from datetime import UTC, datetime

import pytest

from proxy.ratelimits import exhausted_ms

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
    assert exhausted_ms(list(headers.items()), now=NOW) == ms


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "1.2s"},
        {"x-ratelimit-remaining-requests": "10", "x-ratelimit-reset-requests": "0"},
        {"x-ratelimit-remaining-requests": "0"},
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "0"},
        {"x-ratelimit-reset-requests": "1.2s"},
        {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.2s"},
        {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-10-08T12:00:30Z"},
        {"RateLimit": '"api";r=1;t=55'},
        {"RateLimit": '"api";r=0;t=55', "RateLimit-Policy": '"api";q=9;qu="concurrent-requests"'},
        {"Retry-After": "0"},
    ],
)
def test_anything_else_says_nothing(headers):
    assert exhausted_ms(list(headers.items()), now=NOW) is None


def test_of_several_buckets_of_requests_the_last_to_recover_counts():
    headers = [
        ("x-ratelimit-remaining-requests-minute", "0"),
        ("x-ratelimit-reset-requests-minute", "9"),
        ("x-ratelimit-remaining-requests-day", "0"),
        ("x-ratelimit-reset-requests-day", "900"),
        ("x-ratelimit-remaining-tokens-day", "0"),
        ("x-ratelimit-reset-tokens-day", "9000"),
    ]
    assert exhausted_ms(headers, now=NOW) == 900_000
