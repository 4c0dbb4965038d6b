# What the providers' documentation and bug reports say beyond vectors.json, one line each: status, what is said, kind
# and wait. "What is said" is a body, or headers and a body.

import json
from datetime import UTC, datetime

import pytest

from proxy.ratelimits import classify

NOW = datetime(2026, 10, 8, 12, tzinfo=UTC).timestamp()
HOUR = 3_600_000


def error(message="", **fields):
    return {"error": {"message": message, **fields}}


def anthropic(kind, message, **fields):
    return {"type": "error", "error": {"type": kind, "message": message, **fields}}


def limit_source(name):
    return error("no", metadata={"limit_source": name})


def google(message, *details, status="RESOURCE_EXHAUSTED", code=429):
    return error(message, code=code, status=status, details=list(details))


def sse(*data):
    return "".join(f"data: {json.dumps(each)}\n\n" for each in data)


def bedrock_frame(exception):
    name = exception.encode()
    return b"\0\0\0\x7f\0\0\0\x50crc.\x0f:exception-type\x07" + len(name).to_bytes(2) + name + b'{"message":"x"}crc.'


REGAIN = "You have reached your specified API usage limits. You will regain access on 2026-11-01 at 00:00 UTC."
V1 = "Max parallel request limit reached. Crossed TPM / RPM limit. current rpm: 3, max_parallel_requests: 9"
PER_DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
POLICY = '"min";q=9;w=60, "open";q=4;qu="concurrent-requests"'
CODEX_HEADERS = {"x-codex-primary-used-percent": "100", "x-codex-primary-reset-after-seconds": 7200}
BY_DAY_HEADERS = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1791504000000"}

ANSWERS = [
    # OpenAI, Azure
    ("openai", 429, error("Slow", code="organization_spend_limit_exceeded"), "quota", None),
    ("openai", 429, error("Request too large for m on tokens per min (TPM): Limit 3, Requested 5"), "none", None),
    ("openai", 500, error("Too many concurrent requests"), "none", None),
    ("openai", 404, error("usage limit"), "none", None),
    ("azure-openai", 429, error("The system is experiencing high demand."), "overload", None),
    ("azure-openai", 429, ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "0"}, ""), "rate", None),
    ("azure-openai", 429, ({"x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "9"}, ""), "rate", None),
    ("azure-openai", 429, ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9"}, ""), "rate", 9000),
    ("azure-openai", 429, ({"x-ms-retry-after-ms": "1500", "retry-after": "9"}, ""), "rate", 1500),
    # Anthropic
    ("anthropic", 400, anthropic("invalid_request_error", REGAIN), "quota", 23.5 * 24 * HOUR),
    ("anthropic", 400, anthropic("invalid_request_error", "Your credit balance is too low"), "quota", None),
    ("anthropic", 500, anthropic("api_error", "Overloaded"), "overload", None),
    ("anthropic", 500, anthropic("api_error", "Internal server error"), "none", None),
    (
        "anthropic",
        429,
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-10-08T12:00:30Z",
                "anthropic-ratelimit-tokens-remaining": "17",
                "anthropic-ratelimit-tokens-reset": "2026-10-08T12:10:00Z",
            },
            anthropic("rate_limit_error", "This request would exceed your rate limit of 50 requests per minute"),
        ),
        "rate",
        30_000,
    ),
    # Google
    ("gemini", 429, google("You exceeded your current quota", PER_DAY, {"retryDelay": "42s"}), "quota", 42_000),
    (None, 429, google("You exceeded your current quota, check your plan and billing details"), "rate", None),
    ("gemini", 429, google("No capacity", {"reason": "MODEL_CAPACITY_EXHAUSTED"}), "overload", None),
    ("gemini", 429, google("Your project has exceeded its monthly spending cap."), "quota", None),
    ("gemini", 429, [google("Quota exceeded. Please retry in 3s.")], "rate", 3000),
    ("gemini", 200, sse(google("Overloaded", status="UNAVAILABLE", code=503)), "overload", None),
    ("gemini", 200, sse({"event_type": "error", "error": {"code": "429", "message": "no"}}), "rate", None),
    ("vertex", 429, google("Quota exceeded for aiplatform.googleapis.com/tokens"), "quota", None),
    # Bedrock
    (None, 503, ({"x-amzn-errortype": "ServiceUnavailableException"}, "Too many connections"), "overload", None),
    (None, 200, bedrock_frame("throttlingException"), "rate", None),
    (None, 200, bedrock_frame("modelStreamErrorException"), "none", None),
    # Z.ai
    ("zai", 429, error("x", code=1303), "rate", None),
    ("zai", 429, error("x", code=1321), "quota", None),
    ("zai", 429, anthropic("rate_limit_error", "[1302][High concurrency usage][2026]"), "concurrency", None),
    ("zai", 429, error("您的限额将在 2026-10-08 21:30:00 重置。", code="1308"), "quota", 1.5 * HOUR),
    # Moonshot, Kimi
    ("kimi", 429, error("We're receiving too many requests", type="rate_limit_reached_error"), "overload", None),
    ("kimi", 403, error("You do not have access to model k", type="permission_error"), "none", None),
    ("kimi", 403, error("You've reached your usage limit", type="permission_error"), "quota", None),
    # DeepSeek
    ("deepseek", 402, error("Insufficient Balance"), "quota", None),
    ("deepseek", 429, error("Rate limit reached for TPM"), "concurrency", None),
    # Groq: the header speaks of the healthy minute, the text of the day
    ("groq", 429, ({"retry-after": "2"}, error("tokens per day (TPD). Try again in 10m5s.")), "quota", 605_000),
    ("groq", 429, ({"retry-after": "900"}, error("tokens per day (TPD). Try again in 10m5s.")), "quota", 900_000),
    ("groq", 429, ({"retry-after": "2"}, error("tokens per min (TPM). Try again in 10m5s.")), "rate", 2000),
    # Cerebras, Together, Fireworks
    ("cerebras", 429, {"message": "We're experiencing high traffic", "code": "queue_exceeded"}, "overload", None),
    ("together", 503, error("Model is at capacity"), "overload", None),
    ("fireworks", 200, ({"x-ratelimit-over-limit": "yes"}, {"choices": []}), "none", None),
    # OpenRouter
    ("openrouter", 402, limit_source("openrouter_in_flight_budget"), "concurrency", None),
    ("openrouter", 429, limit_source("openrouter_shared_capacity"), "rate", None),
    ("openrouter", 429, error("no", metadata={"raw": "m is rate-limited upstream"}), "overload", None),
    (
        "openrouter",
        429,
        error("Rate limit exceeded: free-models-per-day", code=429, metadata={"headers": BY_DAY_HEADERS}),
        "quota",
        12 * HOUR,
    ),
    # xAI, Cohere, Umans
    ("xai", 403, {"code": "permission-denied", "error": "Your team has used all available credits"}, "quota", None),
    ("xai", 403, {"code": "permission-denied", "error": "Model not found"}, "none", None),
    ("cohere", 498, {"message": "no"}, "none", None),
    (None, 498, {"message": "no"}, "overload", None),
    ("umans", 429, ({"server": "uvicorn"}, ""), "concurrency", None),
    ("umans", 429, ({"server": "uvicorn", "retry-after": "60"}, ""), "rate", 60_000),
    ("umans", 429, ({"cf-ray": "x", "retry-after": "1"}, ""), "rate", 1000),
    ("umans", 403, error("no", type="account_suspended"), "quota", None),
    ("umans", 429, error("later", boxed_until="2026-10-08T17:00:00Z"), "quota", 5 * HOUR),
    ("umans", 502, anthropic("overloaded_error", "x"), "overload", None),
    # GitHub Copilot
    (None, 429, error("x", code="user_weekly_rate_limited"), "quota", None),
    (None, 429, ({"x-ratelimit-exceeded": "global-7day"}, error(code="user_global_rate_limited:pro")), "quota", None),
    (None, 429, error("x", code="model_overloaded"), "overload", None),
    (None, 429, error("Rate limit of 15 per 60s exceeded for UserByMinute. Please wait 9 seconds."), "rate", 9000),
    # Local servers and gateways
    (None, 503, {"error": "server busy, please try again. maximum pending requests exceeded"}, "overload", None),
    (None, 400, {"error": "Engine protocol startup was aborted"}, "concurrency", None),
    (None, 429, {"error": "x", "error_type": "Overloaded"}, "concurrency", None),
    (None, 429, ({"retry-after": "41.7"}, {"detail": V1}), "rate", 41_700),
    (None, 400, error("Budget has been exceeded! Current cost: 2", type="budget_exceeded"), "quota", None),
    (None, 429, error("Limit type: requests. Limit resets at: 2026-10-08 12:01:00 UTC"), "rate", 60_000),
    (None, 429, ({"x-envoy-ratelimited": "true"}, "local_rate_limited"), "rate", None),
    (None, 429, "Too many concurrent requests", "concurrency", None),
    (None, 429, "<html>too many concurrent users love our quota exceeded page</html>", "rate", None),
    # The rest of the table
    ("dashscope", 429, {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded"}, "rate", None),
    ("dashscope", 400, {"code": "Arrearage", "message": "Access denied"}, "quota", None),
    ("minimax", 200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "quota", None),
    (None, 401, error("Free usage exceeded", type="FreeUsageLimitError"), "quota", None),
    (None, 401, error("Your usage limit", type="authentication_error"), "none", None),
    (None, 429, {"detail": {"status": "too_many_concurrent_requests", "message": "x"}}, "concurrency", None),
    (None, 429, {"detail": {"status": "system_busy", "message": "x"}}, "overload", None),
    (None, 429, {"error": "you (me) have reached your session usage limit"}, "quota", None),
    (None, 429, {"status": 429, "title": "Too Many Requests"}, "rate", None),
    # IETF
    (None, 429, ({"RateLimit": '"api";r=0;t=55'}, ""), "rate", 55_000),
    (None, 429, ({"RateLimit": '"api";r=3;t=55'}, ""), "rate", None),
    (None, 429, ({"RateLimit": '"min";r=9;t=5, "open";r=0', "RateLimit-Policy": POLICY}, ""), "concurrency", None),
    (None, 429, ({"X-RateLimit": '"concurrent-requests";r=0'}, ""), "concurrency", None),
    (None, 429, ({"RateLimit-Remaining": "0", "RateLimit-Reset": "12"}, ""), "rate", 12_000),
    # Inside a 200
    (None, 200, sse({"error": {"message": "busy", "code": "429"}}), "overload", None),
    (None, 200, sse({"error": {"message": "x", "code": 429}}), "rate", None),
    (None, 200, sse({"error": {"message": "too many requests", "code": 404}}), "none", None),
    (None, 200, 'event: error\r\ndata: {"message": "",\r\ndata: "code": "usage_not_included"}\r\n\r\n', "quota", None),
    (None, 200, '{"message":{"content":"a"}}\n{"error":"too many concurrent requests"}\n', "concurrency", None),
    (None, 200, {"choices": [{"message": {"content": "error 429: too many concurrent requests"}}]}, "none", None),
    (
        None,
        200,
        {"type": "error", "status_code": 429, "error": {"type": "usage_limit_reached"}, "headers": CODEX_HEADERS},
        "quota",
        2 * HOUR,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("preset", "status", "said", "kind", "wait_ms"), ANSWERS)
def test_the_answer_means_what_its_provider_means(preset, status, said, kind, wait_ms):
    headers, body = said if isinstance(said, tuple) else ({}, said)
    if not isinstance(body, bytes):
        body = (body if isinstance(body, str) else json.dumps(body)).encode()
    verdict = classify(status, list(headers.items()), body, preset=preset, now=NOW)
    assert (verdict.kind, verdict.retry_after_ms) == (kind, wait_ms)
