# An error's JSON that was cut short, by a bound of the copy or by its connection, says what it said until then.

import json
from itertools import pairwise

import pytest

from proxy.ratelimits import classify
from proxy.ratelimits.bodies import error_fields

LIMIT = 65_536
PAD = "x" * 300_000
WORDS = "too many concurrent requests"


def kind(body):
    return classify(429, [], body[:LIMIT], now=0.0).kind


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"message": WORDS}, "pad": PAD},
        {"error": {"message": WORDS, "received": [{"messages": [{"content": PAD}]}]}},
        {"error": {"message": f"{WORDS}; received: {PAD}"}},
        {"error": {"message": f"{WORDS}; received: " + "\u4e2d" * 99_999}},
        {"error": {"message": WORDS, "numbers": [1] * 99_999}},
        [{"error": {"message": WORDS}}, *[{}] * 99_999],
    ],
    ids=["behind it", "in it", "in its message", "in escapes", "numbers", "objects"],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_what_the_first_64_kib_of_a_long_error_say_counts(said, indent):
    body = json.dumps(said, indent=indent).encode()
    assert len(body) > LIMIT
    assert [kind(body[: LIMIT - less]) for less in range(12)] == ["concurrency"] * 12


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"error":{"code":"insufficient_quota"', "insufficient_quota"),
        (b'{"error":{"code":"insufficient_quota"}', "insufficient_quota"),
        (b'{"error":{"code":"insufficient_quota","mess', "insufficient_quota"),
        (b'{"error":{"code":"insufficient_quota","message":', "insufficient_quota"),
        (b'{"error":{"code":"insufficient_quota","retry_after":1', "insufficient_quota"),
        (b'[{"error":{"code":"insufficient_quota"}},', "insufficient_quota"),
        (b'{"error":{"code":"insufficient_quota"}} and more', "insufficient_quota"),
        (b'{"error":{"code":"insufficient_quo', None),
        (b'{"error":{"code":42', None),
        (b'{"error":{"code":"insufficient_quota"]', None),
        (b"{'error':{'code':'insufficient_quota'", None),
        (b'{"', None),
        (b"[", None),
    ],
)
def test_no_value_is_read_that_may_be_the_beginning_of_another(body, code):
    said = error_fields(body)
    assert set(said.get("code", ())) == ({code} if code else set())
    assert "retry_after" not in said


def test_the_longer_beginning_says_no_less():
    body = json.dumps(
        {"error": {"code": "a_code", "message": 'a "word" \\ \u00e9', "details": [{"reason": "b"}, {"reason": "c"}]}}
    ).encode()
    seen = [error_fields(body[:end]) for end in range(1, len(body) + 1)]
    for shorter, longer in pairwise(seen):
        assert all(set(values) <= set(longer[name]) for name, values in shorter.items())
    assert set(seen[-1]["code"]) == {"a_code", "b", "c"}


def test_a_success_that_was_cut_says_nothing():
    assert classify(200, [], b'{"error":{"code":"rate_limit_exceeded"}', now=0.0).kind == "none"
