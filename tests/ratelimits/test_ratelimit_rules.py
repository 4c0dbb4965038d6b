# Each part of an answer decides by itself, and in the right order where two of them disagree.

import json

import pytest

from proxy.ratelimits import classify

CONCURRENCY, RATE, QUOTA, OVERLOAD, NONE = "concurrency", "rate", "quota", "overload", "none"

CODES = {
    CONCURRENCY: "1302 openrouter_in_flight_budget Throttling.Concurrency max_parallel_requests",
    RATE: "1303 slow_down openrouter_shared_capacity Throttling.RateQuota Throttling.AllocationQuota limit_requests",
    QUOTA: "insufficient_quota credit_balance_exhausted billing_error enforced_spend_limit_reached cap_abuse 1113 1308"
    " exceeded_current_quota_error openrouter_free_tier_daily openrouter_credits QUOTA_EXHAUSTED 3036 Arrearage"
    " ns#ServiceQuotaExceededException:http://x user_weekly_rate_limited:pro budget_exceeded usage_limit_reached",
    OVERLOAD: "server_is_overloaded overloaded_error 1305 engine_overloaded_error upstream_provider_shared_pool 3040"
    " MODEL_CAPACITY_EXHAUSTED ModelNotReadyException ServiceUnavailableException queue_exceeded system_busy",
}
WORDS = [
    ("too many concurrent requests", CONCURRENCY),
    ("Too many simultaneous requests", CONCURRENCY),
    ("并发数过高", CONCURRENCY),
    ("Limit type: max_parallel_requests.", CONCURRENCY),
    ("max parallel requests reached", RATE),
    ("Your daily free allocation is gone", QUOTA),
    ("Limit: 200 / day", QUOTA),
    ("Weekly rate limit reached", QUOTA),
    ("账户余额不足", QUOTA),
    ("Quota exceeded", QUOTA),
    ("Quota exceeded for tokens per minute", RATE),
    ("You exceeded your current quota", QUOTA),
    ("The request queue is full", OVERLOAD),
    ("当前模型过载", OVERLOAD),
    ("Server is temporarily limiting requests (not your usage limit)", OVERLOAD),
    # where words disagree, the earlier kind of word counts
    ("You exceeded your current quota of concurrent requests per day", CONCURRENCY),
    ("Daily limit reached, the model is overloaded", QUOTA),
]
DISAGREEING = [
    ("code before text", {"code": "overloaded_error", "message": "too many concurrent requests"}, {}, OVERLOAD),
    ("text before a vague code", {"code": "rate_limit_exceeded", "message": "concurrency"}, {}, CONCURRENCY),
    ("quotaId before text", {"message": "daily limit", "quotaId": "PerMinute"}, {}, RATE),
    ("header before text", {"message": "concurrency"}, {"rate_limit_type": "tokens"}, RATE),
    ("header before silence", {"message": "no"}, {"rate_limit_type": "max_parallel_requests"}, CONCURRENCY),
    ("bucket before text", {"message": "daily limit"}, {"RateLimit": '"concurrent-requests";r=0'}, CONCURRENCY),
    ("a short window in a header", {"message": "weekly limit"}, {"x-ratelimit-exceeded": "a:tps-2026"}, RATE),
    ("a long bucket before silence", {"message": "no"}, {"x-ratelimit-remaining-tokens-day": "0"}, QUOTA),
    ("a rejected plan", {"message": "no"}, {"anthropic-ratelimit-unified-status": "rejected"}, QUOTA),
    ("a header of AWS", {"message": "no"}, {"x-amzn-errortype": "ServiceQuotaExceededException"}, QUOTA),
]
INSIDE = {
    RATE: "rate_limit_exceeded rate_limit_error too_many_requests throttlingException",
    QUOTA: "quota_exceeded payment_required",
    OVERLOAD: "UNAVAILABLE service_unavailable_error serviceUnavailable",
    NONE: "server_error invalid_request_error 404 413 500",
}


def kind(said, status=429, preset=None, **headers):
    body = json.dumps({"error": said}).encode()
    return classify(status, list(headers.items()), body, preset=preset, now=1.0).kind


@pytest.mark.parametrize(("code", "expected"), [(code, each) for each in CODES for code in CODES[each].split()])
@pytest.mark.parametrize("field", ["code", "type", "status", "reason", "limit_source"])
def test_a_providers_code_decides_wherever_it_stands_and_whatever_the_text_says(field, code, expected):
    text = "daily limit" if expected == CONCURRENCY else "too many concurrent requests"
    assert kind({field: code, "message": text}) == expected


@pytest.mark.parametrize(("status_code", "expected"), [(1002, RATE), (1008, QUOTA), (1041, CONCURRENCY), (2013, NONE)])
def test_minimax_says_no_inside_a_success(status_code, expected):
    body = json.dumps({"base_resp": {"status_code": status_code, "status_msg": "no"}}).encode()
    assert classify(200, [], body, now=1.0).kind == expected


@pytest.mark.parametrize(("text", "expected"), WORDS)
def test_words_for_people_decide_where_no_code_does(text, expected):
    assert kind({"message": text}) == expected


@pytest.mark.parametrize(
    ("said", "headers", "expected"), [each[1:] for each in DISAGREEING], ids=[d[0] for d in DISAGREEING]
)
def test_the_more_exact_part_decides(said, headers, expected):
    assert kind(said, **headers) == expected


@pytest.mark.parametrize(("code", "expected"), [(code, each) for each in INSIDE for code in INSIDE[each].split()])
def test_inside_a_success_a_code_stands_for_the_status(code, expected):
    assert kind({"code": code, "message": "no"}, status=200) == expected


NAMED = [
    # what its name says of it, its words, its kind
    (
        {"type": "invalid_request_error"},
        "Your prompt mentions too many concurrent requests and a rate limit reached",
        NONE,
    ),
    ({"code": "invalid_prompt"}, "rate limit exceeded", NONE),
    ({"code": "context_length_exceeded"}, "too many concurrent requests", NONE),
    ({"code": "content_filter"}, "the model is overloaded", NONE),
    ({"type": "authentication_error"}, "Your usage limit", NONE),
    ({"type": "not_found_error"}, "too many requests", NONE),
    ({"type": "request_too_large"}, "rate limit exceeded", NONE),
    ({"type": "validationException"}, "too many concurrent requests", NONE),
    ({"code": "server_error"}, "tool said: rate limit exceeded (429)", NONE),
    ({"code": "server_error"}, "tool said: too many concurrent requests", NONE),
    ({"type": "api_error"}, "Overloaded", OVERLOAD),
    ({"type": "api_error"}, "Upstream returned 429 Too Many Requests.", RATE),
    ({"type": "invalid_request_error"}, "You have reached your specified API usage limits.", QUOTA),
    ({"type": "permission_error"}, "You've reached your usage limit", QUOTA),
    ({"type": "permission_error"}, "You do not have access to this model", NONE),
    # whoever names a limit beside it means that
    ({"type": "server_error", "code": "slow_down"}, "no", RATE),
    ({"type": "invalid_request_error", "code": "insufficient_quota"}, "no", QUOTA),
    ({"type": "invalid_request_error", "code": "1302"}, "no", CONCURRENCY),
    ({"code": "server_error", "metadata": {"error_type": "rate_limit_exceeded"}}, "no", RATE),
    ({"type": "invalid_request_error", "code": 429}, "no", RATE),
]


@pytest.mark.parametrize(("said", "text", "expected"), NAMED)
def test_inside_a_success_an_errors_name_counts_before_its_words(said, text, expected):
    assert kind(said | {"message": text}, status=200) == expected


@pytest.mark.parametrize(
    "said", [{"code": 429}, {"type": "rate_limit_error"}, {"message": "Rate limit reached. Please slow down."}]
)
@pytest.mark.parametrize(("preset", "expected"), [("deepseek", CONCURRENCY), ("umans", CONCURRENCY), ("openai", RATE)])
def test_inside_a_success_a_rate_limit_is_what_a_providers_429_is(preset, said, expected):
    assert kind(said, status=200, preset=preset) == expected
    assert kind(said, status=429, preset=preset) == expected


def test_insufficient_quota_is_a_minute_at_dashscope_alone():
    said = {"code": "insufficient_quota", "message": "no"}
    assert kind(said, preset="openai") == QUOTA
    assert kind(said, preset="dashscope") == RATE


@pytest.mark.parametrize(
    ("preset", "text", "headers", "expected"),
    [
        ("gemini", "You exceeded your current quota", {}, RATE),
        ("vertex", "Quota exceeded for tokens per minute", {}, RATE),
        ("vertex", "Quota exceeded, reserve provisioned throughput", {}, RATE),
        ("vertex", "Quota exceeded", {}, QUOTA),
        ("umans", "no", {"server": "uvicorn"}, CONCURRENCY),
        ("umans", "no", {"server": "cloudflare"}, RATE),
        ("umans", "Quota exceeded", {"server": "uvicorn", "retry-after": "11"}, RATE),
        ("deepseek", "Quota exceeded", {}, CONCURRENCY),
    ],
)
def test_a_preset_decides_what_vague_words_mean(preset, text, headers, expected):
    assert kind({"message": text}, preset=preset, **headers) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [(402, QUOTA), (429, RATE), (498, OVERLOAD), (503, OVERLOAD), (524, OVERLOAD), (529, OVERLOAD)]
    + [(status, NONE) for status in (200, 204, 301, 400, 401, 403, 404, 408, 412, 413, 422, 500, 502, 504, 522)],
)
def test_a_status_alone_means_what_it_means(status, expected):
    assert classify(status, [("retry-after", "5")], b"", now=1.0).kind == expected


@pytest.mark.parametrize("status", [404, 408, 413, 422, 501, 504])
def test_no_word_makes_a_limit_of_an_unrelated_status(status):
    assert kind({"code": "insufficient_quota", "message": "too many concurrent requests"}, status=status) == NONE
