# How providers say no: status, headers and body for each reason, as rows.
#
# Rule: real words where the public has seen them. Where a provider has no words of its own for a reason, the row is
#       missing and the answer is the dialect "generic"'s.
#
# In texts, $seconds is the wait in whole seconds, $exact with milliseconds, $date when it ends in UTC, $epoch the same
# in seconds, $local in China's time. A header that says one of them is left out where no wait is known.

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from string import Template
from typing import NamedTuple

from .provider import Reason, Refusal

Headers = list[tuple[str, str]]


class Answer(NamedTuple):
    """A refusal as it stands on the wire, with the bytes that say the same inside a successful answer."""

    status: int
    headers: Headers
    body: bytes

    @property
    def frame(self) -> bytes:
        """The error as an event of a stream."""
        data = self.body if self.body.startswith(b"{") else json.dumps({"error": self.body.decode()}).encode()
        name = b"event: error\n" if data.startswith(b'{"type":"error"') else b""
        return name + b"data: " + data + b"\n\n"


class Row(NamedTuple):
    status: int
    body: str
    read_as: str  # the kind that a proxy should read, given this wait: 20 s, or none where the reason has none
    headers: tuple[tuple[str, str], ...] = ()


def _anthropic(kind: str, message: str) -> str:
    error = {"type": "error", "error": {"type": kind, "message": message}}
    return json.dumps(error, separators=(",", ":"), ensure_ascii=False)


def _openai(message: str, kind: str | None, code: str | int | None) -> str:
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}, ensure_ascii=False)


def _google(code: int, status: str, message: str, *details: Mapping[str, object]) -> str:
    return json.dumps({"error": {"code": code, "message": message, "status": status, "details": list(details)}})


def _violation(quota_id: str) -> Mapping[str, object]:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota_id}]}


_RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "${exact}s"}
_WAIT = ("Retry-After", "$seconds")
_GOOGLE_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_UVICORN = ("server", "uvicorn")  # Umans' own answers; they carry no header of a CDN

ROWS: Mapping[str, Mapping[Reason, Row]] = {
    "generic": {
        Reason.CONCURRENCY: Row(429, '{"error":"too many concurrent requests"}', "concurrency"),
        Reason.REQUESTS: Row(429, '{"error":"too many requests"}', "rate", (_WAIT,)),
        Reason.TOKENS: Row(429, '{"error":"too many tokens per minute"}', "rate", (_WAIT,)),
        Reason.QUOTA: Row(402, '{"error":"quota exceeded"}', "quota"),
        Reason.OVERLOAD: Row(503, '{"error":"overloaded"}', "overload", (_WAIT,)),
        Reason.LOCKED: Row(403, '{"error":"account_suspended"}', "quota"),
    },
    "anthropic": {
        Reason.CONCURRENCY: Row(
            429,
            _anthropic(
                "rate_limit_error",
                "Number of concurrent connections has exceeded your rate limit. Please try again later.",
            ),
            "concurrency",
            (("x-should-retry", "true"),),
        ),
        Reason.REQUESTS: Row(
            429,
            _anthropic("rate_limit_error", "Number of requests has exceeded your per-minute rate limit."),
            "rate",
            (_WAIT, ("x-should-retry", "true")),
        ),
        Reason.TOKENS: Row(
            429,
            _anthropic(
                "rate_limit_error",
                "This request would exceed your organization's rate limit of input tokens per minute.",
            ),
            "rate",
            (_WAIT, ("x-should-retry", "true")),
        ),
        Reason.QUOTA: Row(
            429,
            _anthropic("rate_limit_error", "This request would exceed your account's rate limit."),
            "quota",
            (
                _WAIT,
                ("anthropic-ratelimit-unified-status", "rejected"),
                ("anthropic-ratelimit-unified-reset", "$epoch"),
                ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
                ("x-should-retry", "true"),
            ),
        ),
        Reason.OVERLOAD: Row(529, _anthropic("overloaded_error", "Overloaded"), "overload", (_WAIT,)),
        Reason.LOCKED: Row(403, _anthropic("permission_error", "This account has been suspended."), "quota"),
    },
    "openai": {
        Reason.REQUESTS: Row(
            429,
            _openai(
                "Rate limit reached for gpt-5 in organization org-1 on requests per min (RPM): Limit 60, Used 60, "
                "Requested 1. Please try again in ${exact}s.",
                "requests",
                "rate_limit_exceeded",
            ),
            "rate",
        ),
        Reason.TOKENS: Row(
            429,
            _openai(
                "Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used 29900, "
                "Requested 900. Please try again in ${exact}s.",
                "tokens",
                "rate_limit_exceeded",
            ),
            "rate",
        ),
        Reason.CONCURRENCY: Row(
            429,
            _openai("Too many concurrent requests for this account.", "requests", "rate_limit_exceeded"),
            "concurrency",
        ),
        Reason.QUOTA: Row(
            429,
            _openai(
                "You exceeded your current quota, please check your plan and billing details.",
                "insufficient_quota",
                "insufficient_quota",
            ),
            "quota",
        ),
        Reason.OVERLOAD: Row(
            503,
            _openai("The engine is currently overloaded, please try again later", "server_error", None),
            "overload",
            (_WAIT,),
        ),
        Reason.LOCKED: Row(
            401, _openai("Your account has been deactivated.", "invalid_request_error", "account_deactivated"), "none"
        ),
    },
    "umans": {
        Reason.CONCURRENCY: Row(429, "", "concurrency", (("Retry-After", "1"), _UVICORN)),
        Reason.REQUESTS: Row(429, _anthropic("rate_limit_error", "Request window used up"), "rate", (_WAIT, _UVICORN)),
        Reason.QUOTA: Row(403, _anthropic("cap_abuse", "Usage cap exceeded"), "quota", (_UVICORN,)),
        Reason.OVERLOAD: Row(529, _anthropic("overloaded_error", "Overloaded"), "overload", (_WAIT, _UVICORN)),
        Reason.LOCKED: Row(403, _anthropic("account_suspended", "Paused for a while"), "quota", (_UVICORN,)),
    },
    "zai": {
        Reason.CONCURRENCY: Row(429, _openai("Rate limit reached for requests", None, "1302"), "concurrency"),
        Reason.REQUESTS: Row(429, _openai("Your API request frequency is too high", None, "1303"), "rate"),
        Reason.QUOTA: Row(
            429,
            _openai("Usage limit reached for 5 hour. Your limit will reset at $local", None, "1308"),
            "quota",
        ),
        Reason.OVERLOAD: Row(
            429, _openai("The service may be temporarily overloaded, please try again later", None, "1305"), "overload"
        ),
    },
    "gemini": {
        Reason.REQUESTS: Row(
            429,
            _google(
                429,
                "RESOURCE_EXHAUSTED",
                _GOOGLE_QUOTA + " Please retry in ${exact}s.",
                _violation("GenerateRequestsPerMinutePerProjectPerModel"),
                _RETRY_INFO,
            ),
            "rate",
        ),
        Reason.TOKENS: Row(
            429,
            _google(
                429,
                "RESOURCE_EXHAUSTED",
                _GOOGLE_QUOTA + " Please retry in ${exact}s.",
                _violation("GenerateContentInputTokensPerModelPerMinute"),
                _RETRY_INFO,
            ),
            "rate",
        ),
        Reason.QUOTA: Row(
            429,
            _google(
                429,
                "RESOURCE_EXHAUSTED",
                _GOOGLE_QUOTA,
                _violation("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "42s"},
            ),
            "quota",
        ),
        Reason.OVERLOAD: Row(
            503, _google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), "overload"
        ),
    },
    "deepseek": {
        Reason.CONCURRENCY: Row(
            429, _openai("Rate limit reached. Please slow down.", "rate_limit_error", "rate_limit_error"), "concurrency"
        ),
        Reason.QUOTA: Row(402, _openai("Insufficient Balance", "unknown_error", "invalid_request_error"), "quota"),
        Reason.OVERLOAD: Row(
            503, _openai("Service is too busy. Please try again later.", "service_unavailable_error", None), "overload"
        ),
    },
}


def row(dialect: str, reason: Reason) -> Row:
    """How `dialect` says `reason`."""
    return ROWS[dialect].get(reason) or ROWS["generic"][reason]


def refusal(dialect: str, said: Refusal, now: float) -> Answer:
    """The answer to a refused request at `now`, epoch seconds."""
    found = row(dialect, said.reason)
    words = {} if said.wait_s is None else _words(said.wait_s, now)
    headers = [(name, Template(value).substitute(words)) for name, value in found.headers if words or "$" not in value]
    if found.body.startswith("{"):
        headers.append(("Content-Type", "application/json"))
    return Answer(found.status, headers, Template(found.body).safe_substitute(words).encode())


def _words(wait_s: float, now: float) -> dict[str, str]:
    ends_at = datetime.fromtimestamp(math.ceil(now + wait_s), UTC)
    return {
        "seconds": str(math.ceil(wait_s)),
        "exact": f"{math.ceil(wait_s * 1000) / 1000:.3f}",
        "epoch": str(math.ceil(now + wait_s)),
        "date": ends_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "local": ends_at.astimezone(timezone(timedelta(hours=8))).strftime("%Y-%m-%d %H:%M:%S"),
    }
