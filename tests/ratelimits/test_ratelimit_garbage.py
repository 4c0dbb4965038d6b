# Whatever a server sends, reading it raises nothing and its wait is a sane number.

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.ratelimits import classify, decoded, requests_left

TEN_YEARS_MS = 10 * 365 * 86_400_000
NAMES = """retry-after retry-after-ms x-ms-retry-after-ms x-a-retry-after date ratelimit x-ratelimit ratelimit-policy
reset_at x-ratelimit-remaining x-ratelimit-reset x-ratelimit-remaining-requests x-ratelimit-reset-requests cf-ray server
anthropic-ratelimit-unified-status anthropic-ratelimit-unified-reset x-codex-primary-used-percent x-amzn-errortype
x-usage-ratelimit-session x-concurrent-threads x-concurrent-threads-active"""
FIELDS = """error errors message code type status detail details metadata headers response choices base_resp status_code
retryDelay quotaId violations retry_after resets_at text bucket X-RateLimit-Remaining X-RateLimit-Reset RateLimit"""
PIECES = """0 -1 5 1791460845 1e9 GMT Thu, 08 Oct 2026 12:00:30 -10-08T s 6m r=0 ;t= " , = remaining=0 reset= rejected
rem=0 &rst= %3A "message":" <
２ ² ÿ \0 wait try again in"""
SCRAPS = st.sampled_from([*PIECES.split(), " ", "9" * 30])
VALUES = st.lists(SCRAPS | st.text(max_size=8), max_size=8).map("".join)
HEADERS = st.lists(st.tuples(st.sampled_from(NAMES.split()) | st.text(max_size=12), VALUES), max_size=8)
KEYS = st.sampled_from(FIELDS.split())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | VALUES
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
BODIES = st.one_of(
    st.binary(max_size=200),
    VALUES.map(str.encode),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=60).map(lambda frame: b":exception-type\x07\0\x03abc" + frame),
    JSON.map(lambda value: b"event: error\r\ndata: " + json.dumps(value).encode() + b"\r\n\r\n"),
)
PRESETS = st.sampled_from([None, "umans", "gemini", "vertex", "deepseek", "tgi", "dashscope", "nobody", ""])
STATUSES = st.sampled_from([200, 400, 401, 402, 403, 429, 500, 503, 529]) | st.integers(100, 999)


@given(STATUSES, HEADERS, BODIES, PRESETS, st.floats(0, 4e9))
def test_no_answer_raises_and_every_wait_is_sane(status, headers, body, preset, now):
    verdict = classify(status, headers, body, preset=preset, now=now)
    left = requests_left(headers, now=now)
    for wait_ms in (verdict.retry_after_ms, left and left.reset_ms):
        assert wait_ms is None or (type(wait_ms) is int and 0 <= wait_ms <= TEN_YEARS_MS)
    assert verdict.kind in {"concurrency", "rate", "quota", "overload", "none"}
    assert verdict.kind != "none" or verdict.retry_after_ms is None


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, gzip", "x", ""]) | st.text())
def test_no_body_raises_when_it_is_decompressed(body, encoding):
    assert len(decoded(body, encoding, 100)) <= 100


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":' * 20_000,
        b"[" * 65_536,
        b'{"error":{"code":' + b"9" * 60_000 + b"}}",
        json.dumps({"error": {"message": "no " * 20_000}}).encode(),
        json.dumps({"error": {"message": "wait " + "1.1 s and " * 6000}}).encode(),
        json.dumps({"error": {"message": "weekly " * 9000}}).encode(),
        json.dumps([{"error": {"message": "out of a a a a "}}] * 1500).encode(),
        b"data: {}\n\n" * 6500,
        b'{"error":"x"}\n' * 4500,
        b'{"error":[' + b'"a",' * 16_000 + b'"a"]}',
        b'{"error":[' + b"{}," * 20_000 + b"{}]}",
        b'{"choices":[' + b'{"error":"no a a"},' * 3400 + b"{}]}",
        b"\r" * 65_536,
    ],
    ids=lambda body: body[:24].decode(),
)
@pytest.mark.parametrize("status", [200, 429])
def test_a_body_made_to_take_long_does_not(status, body):
    started = time.process_time()
    classify(status, [("ratelimit", '"' * 60_000), ("retry-after", "1," * 30_000)], body, now=1.0)
    assert time.process_time() - started < 1  # 64 KiB; the worst of these takes a tenth of that


@pytest.mark.parametrize("status", [200, 429])
def test_only_so_much_of_an_error_is_looked_at(status):
    def read(front):
        body = json.dumps({"error": [*front, {"message": "too many concurrent requests"}]}).encode()
        return classify(status, [], body, now=1.0).kind

    assert read([{"message": "no"}] * 15) == "concurrency"
    assert read([{"message": "no"}] * 16) != "concurrency"
    assert read([{"message": "no" * 900}]) == "concurrency"
    assert read([{"message": "no" * 2000}] * 5) != "concurrency"
    assert read([{}] * 100) == "concurrency"
    assert read([{}] * 300) != "concurrency"


def test_errors_inside_a_success_share_what_is_looked_at():
    choices = [{"error": "no" * 900}] * 3 + [{"error": "too many concurrent requests"}]
    assert classify(200, [], json.dumps({"choices": choices}).encode(), now=1.0).kind == "none"
    assert classify(200, [], json.dumps({"choices": choices[2:]}).encode(), now=1.0).kind == "concurrency"
