# What providers say, and which kind of refusal it is: tables, read from top to bottom, the first match decides.
#
# Rule 1: a new provider is a row here or in dialects.py (and a vector in the tests), never a branch elsewhere.
# Rule 2: a row without statuses applies where rule.STATUSES lets its kind through; a row with statuses only there.
# Rule 3: exact codes stand before words, and words for concurrency before words for quota: "You exceeded your current
#         threshold of concurrent requests" is about concurrency, "exceeded your current quota" may be about a minute.

import re

from proxy.ratelimits.rule import CONCURRENCY, NONE, OVERLOAD, QUOTA, RATE, Rule, codes, words

# The statuses that are about limits by themselves, and an error inside a success: where a loose word is enough.
_LIMITING = (200, 402, 429, 498, 503, 529)

# What only one server writes, and where its meaning contradicts the words in it.
SIGNATURES = (
    # DashScope: the windows of its plans; and an allocation per minute, whatever that sounds like
    words(QUOTA, r"(?:free|hour|day|week|month) (?:allocated )?quota (?:has been )?(?:exceeded|exhausted)"),
    words(CONCURRENCY, r"concurrency allocated quota exceeded"),
    words(RATE, r"allocated quota exceeded|current quota\b.*\b(?:aliyun|alibabacloud)\.com"),
    words(CONCURRENCY, r"^overloaded$", 200, 429, fields="error_type"),  # TGI, TEI: max_concurrent_requests reached
    words(NONE, r"blocked input or output", 498),  # Cohere
    words(OVERLOAD, r"resource exhausted[,.] please try again later"),  # Vertex: the shared pool
    words(RATE, r"usage limits\b.{0,60}contact fireworks", 429),  # its quotas are 402 and 412
    words(CONCURRENCY, r"engine protocol startup was aborted", 400),  # LM Studio: two models contend
    words(NONE, r"\brequest too large", 200, 429),  # OpenAI, of one above the whole allowance: it can never succeed
    codes(QUOTA, "FreeUsageLimitError GoUsageLimitError", 200, 400, 401, 403, 429),  # OpenCode Zen
)

_EXACT = (
    # OpenAI and ChatGPT
    codes(QUOTA, "insufficient_quota credit_balance_exhausted organization_usage_limit_exceeded"),
    codes(QUOTA, "organization_spend_limit_exceeded project_spend_limit_exceeded billing_not_active"),
    codes(QUOTA, "usage_not_included usage_limit_reached usage_limit_exceeded billing_hard_limit_reached"),
    codes(RATE, "slow_down"),
    codes(OVERLOAD, "server_is_overloaded"),
    # Anthropic and its dialect
    codes(QUOTA, "billing_error enforced_spend_limit_reached"),
    codes(OVERLOAD, "overloaded_error"),
    # Umans
    words(QUOTA, r"account_suspended|cap_abuse|cap_suspended|billing_error", fields="text code"),
    # Z.ai
    codes(CONCURRENCY, "1302", *_LIMITING),
    codes(RATE, "1303", *_LIMITING),
    codes(OVERLOAD, "1305", *_LIMITING),
    codes(QUOTA, "1112 1113 1121 1304 1308 1309 1310 1313 1314 1316 1317 1318 1319 1320 1321", *_LIMITING),
    # Moonshot, Kimi
    codes(QUOTA, "exceeded_current_quota_error"),
    codes(OVERLOAD, "engine_overloaded_error"),
    # OpenRouter
    codes(CONCURRENCY, "openrouter_in_flight_budget"),
    codes(RATE, "openrouter_shared_capacity"),
    codes(OVERLOAD, "upstream_provider_shared_pool provider_overloaded"),
    codes(QUOTA, "openrouter_free_tier_daily openrouter_credits openrouter_key_limit key_limit"),
    # Google: Code Assist's reasons
    codes(QUOTA, "QUOTA_EXHAUSTED INSUFFICIENT_G1_CREDITS_BALANCE"),
    codes(OVERLOAD, "MODEL_CAPACITY_EXHAUSTED"),
    # Bedrock
    codes(QUOTA, "ServiceQuotaExceededException"),
    codes(OVERLOAD, "ModelNotReadyException ServiceUnavailableException"),
    # DashScope
    codes(CONCURRENCY, "Throttling.Concurrency"),
    codes(RATE, "Throttling.RateQuota Throttling.AllocationQuota Throttling.BurstRate limit_requests"),
    codes(QUOTA, "Arrearage PrepaidBillOverdue PostpaidBillOverdue AllocationQuota.FreeTierOnly"),
    # Groq, Cerebras, GitHub Copilot, ElevenLabs, LiteLLM
    codes(OVERLOAD, "capacity_exceeded queue_exceeded model_overloaded system_busy"),
    codes(CONCURRENCY, "max_parallel_requests too_many_concurrent_requests"),
    codes(QUOTA, "user_weekly_rate_limited budget_exceeded"),
    # Cloudflare Workers AI
    codes(QUOTA, "3036", *_LIMITING),
    codes(OVERLOAD, "3040", *_LIMITING),
    # MiniMax: base_resp inside a 200
    words(RATE, r"^(?:1002|1039|2045)$", fields="status_code"),
    words(QUOTA, r"^(?:1008|2056)$", fields="status_code"),
    words(CONCURRENCY, r"^1041$", fields="status_code"),
)

# What a part of an answer means that exists for machines.
_STRUCTURED = (
    words(QUOTA, r"perday", fields="quotaid quota_limit"),  # Google: also beside a retryDelay of seconds
    words(RATE, r"perminute", fields="quotaid quota_limit"),
    words(CONCURRENCY, r"^max_parallel_requests$", fields="header.rate_limit_type"),  # LiteLLM v3
    words(RATE, r"^(?:requests|tokens)$", fields="header.rate_limit_type"),
    words(RATE, r"[tr]p[sm]\b", fields="header.x-ratelimit-exceeded"),  # GitHub Copilot
    words(QUOTA, r"hour|day|week|month|\b[0-9]+[hdw]\b", fields="header.x-ratelimit-exceeded"),
    codes(QUOTA, "user_global_rate_limited"),
    words(CONCURRENCY, r"concurren", fields="bucket"),  # IETF: qu="concurrent-requests"
    words(QUOTA, r"^unified|^codex|^usage|\b(?:day|daily|week|weekly|month|monthly)\b", fields="bucket"),
)

_EDGE = (  # what a CDN or a proxy says for itself, whatever the host's own 429s mean
    words(RATE, "", 429, fields="page"),
    words(RATE, r"^error code: 1015", 429),  # Cloudflare
)

_WORDS = (
    # Not the bare word "parallel": LiteLLM v1 says it of every limit, and counts max_parallel_requests: 1 beside it.
    words(CONCURRENCY, r"concurren|simultaneous|并发|in[ _-]flight|max_parallel_requests(?!:)", fields="text code"),
    words(CONCURRENCY, r"too many (?:pending|parallel|open|active) (?:request|stream)", *_LIMITING),  # sub2api
    words(OVERLOAD, r"not your usage limit"),  # Anthropic
    # Allowances of a plan, a key, a window
    words(QUOTA, r"usage.(?:limit|cap\b)|session limit|key limit exceeded|out of extra usage|extra usage is"),
    words(QUOTA, r"(?:per|/)[ -]?(?:day|week|month)|by ?day|(?<![a-z])[tr]pd(?![a-z])|5[ -]hour", *_LIMITING),
    words(QUOTA, r"(?:daily|weekly|monthly)\b.{0,40}(?:limit|quota|allocation|allowance|cap\b)"),
    words(QUOTA, r"out of (?:\w+ ){0,4}quota|premium request allowance|free tier (?:\w+ ){0,4}exhausted"),
    words(QUOTA, r"使用上限|额度(?:已|不)"),
    # Money
    words(QUOTA, r"spend(?:ing)?[ -](?:limit|cap)|billing (?:hard )?limit|payment required|recharge|余额不足|欠费"),
    words(QUOTA, r"budget (?:has been )?exceeded|(?:over|crossed|exceeded) ?(?:token)?budget"),
    words(QUOTA, r"insufficient (?:\w+ )?(?:balance|credits?|funds|quota)"),
    words(
        QUOTA, r"(?:balance|credits?) (?:(?:is|are|has|have|been|too) ){0,3}(?:low|insufficient|exhausted|depleted)\b"
    ),
    words(QUOTA, r"(?:used|no|any|enough|out of|requires more|included|remaining) (?:\w+ ){0,4}credits"),
    words(QUOTA, r"account\b.{0,60}suspended|(?:subscription|trial) (?:\w+ )?expired", *_LIMITING, 403, 412),
    # The provider's load
    words(OVERLOAD, r"overload|过载|繁忙|饱和|负载过高|访问量过大", fields="text code"),
    words(OVERLOAD, r"\b(?:at|no|over|out of|insufficient) (?:\w+ ){0,4}capacity"),
    words(OVERLOAD, r"capacity (?:\w+ ){0,2}(?:exceeded|exhausted|reached|limits)"),
    words(OVERLOAD, r"(?:high|heavy) (?:demand|load|traffic)|\bbusy\b"),
    words(OVERLOAD, r"receiving too many requests|rate-limited upstream|shared pool|worker local", *_LIMITING),
    words(OVERLOAD, r"temporarily un(?:available|able)|temporar(?:y|ily) .{0,24}(?:reduc|adjust)", *_LIMITING),
    words(OVERLOAD, r"loading model|currently loading|model is (?:loading|not ready)|no (?:instances|deployments)"),
    words(OVERLOAD, r"no (?:available|healthy) (?:\w+ )?(?:worker|channel|account|upstream|server)", *_LIMITING),
    words(OVERLOAD, r"queue (?:is )?full|maximum pending requests"),
)

# Words that mean a quota at most providers, unless the same answer names a shorter window.
_SOFT_WORDS = (
    codes(RATE, "RESOURCE_EXHAUSTED"),  # Google calls every limit a quota; its daily ones were recognised above
    words(RATE, r"per[ _-]?(?:min|sec)|\b[tr]p[ms]\b"),
    words(QUOTA, r"exceeded your (?:\w+ ){0,4}quota|quota (?:has been |was )?(?:exceeded|exhausted)|plan and billing"),
)

# Codes that say only what a status says: they decide where it says less.
_RATE_LIMITED = (
    codes(RATE, "rate_limit_exceeded rate_limit_error rate_limit_reached rate_limit_reached_error rate_limited"),
    codes(RATE, "too_many_requests too_many_requests_error throttlingexception throttling throttling_error"),
)
_STATUS_CODES = (
    *_RATE_LIMITED,
    codes(QUOTA, "quota_exceeded payment_required insufficient_credits"),
    codes(OVERLOAD, "unavailable unavailable_error service_unavailable service_unavailable_error serviceunavailable"),
)


def _any_of(rows: tuple[Rule, ...]) -> str:
    """What matches the codes of these rows."""
    return "|".join(row.pattern.pattern for row in rows if row.fields == ("code",))


CLEAR = (*_EXACT, *_STRUCTURED, *_EDGE, *_WORDS)
VAGUE = (*_SOFT_WORDS, *_STATUS_CODES)

# What an error inside a 2xx is called, and the status with which it would have come by itself: the first row decides.
# A client's error may quote its request, and a server's what a tool said: their words count only as far as they would
# at that status.
INSIDE = tuple(
    (status, field, re.compile(pattern))
    for status, field, pattern in (
        (429, "code", _any_of(_RATE_LIMITED)),
        (200, "code", _any_of((*SIGNATURES, *CLEAR, *VAGUE))),  # whoever names a limit means that, and needs no status
        (400, "code", r"^(?:invalid_request_error|invalid_prompt|validationexception)$"),
        (400, "code", r"^(?:context_length_exceeded|content_filter)$"),
        (401, "code", r"^authentication_error$"),
        (403, "code", r"^permission_error$"),
        (404, "code", r"^not_found_error$"),
        (413, "code", r"^request_too_large$"),
        (429, "text", r"\bupstream\b.{0,40}\b429 too many requests"),  # a gateway, of what it was told
        (500, "code", r"^(?:server_error|api_error|internalserverexception)$"),
        (429, "text", r"rate.?limit(?:ed|s)? (?:reached|exceeded|hit)\b|rate.limited\b|too many requests"),
    )
)
