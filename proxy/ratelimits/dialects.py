# What some providers mean by words that mean something else elsewhere, by the name of their preset.

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.ratelimits.rule import CDN_HEADERS, CONCURRENCY, NONE, QUOTA, RATE, Rule, always, codes, words
from proxy.ratelimits.rules import CLEAR, SIGNATURES, VAGUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """`overrides` stand before every row but the signatures; `defaults` after the clear ones, before the vague ones."""

    overrides: tuple[Rule, ...] = ()
    defaults: tuple[Rule, ...] = ()


_DIALECTS: Mapping[str, Dialect] = {
    "cohere": Dialect(overrides=(always(NONE, 498),)),  # a deny-listed token; at Groq it is capacity
    "dashscope": Dialect(overrides=(codes(RATE, "insufficient_quota"),)),  # an allocation per minute
    "deepseek": Dialect(defaults=(always(CONCURRENCY, 429),)),  # the only limit that its accounts have
    "featherless": Dialect(defaults=(always(CONCURRENCY, 429),)),  # its plans count units of concurrency only
    "gemini": Dialect(defaults=(always(RATE, 429),)),  # "exceeded your current quota" is what it says of a minute
    "llama-swap": Dialect(defaults=(always(CONCURRENCY, 429),)),  # a bare text; a semaphore for each model
    # max_concurrent_requests is its only limit, "overloaded" its word for it
    "tgi": Dialect(overrides=(codes(CONCURRENCY, "overloaded"),), defaults=(always(CONCURRENCY, 429),)),
    "umans": Dialect(
        # Umans' own answers pass no CDN: what has a CDN's headers is an edge rule, not our concurrency.
        overrides=(
            words(RATE, "", 429, fields=" ".join(f"header.{name}" for name in CDN_HEADERS)),
            words(RATE, "cloudflare|fastly", 429, fields="header.server"),
        ),
        defaults=(always(CONCURRENCY, 429, longest_wait_ms=10_000), always(RATE, 429)),  # longer: its 5-hour window
    ),
    "vertex": Dialect(
        defaults=(words(RATE, r"per[ _]minute|provisioned throughput"), words(QUOTA, r"quota exceeded")),
    ),
}

_GENERAL = (*SIGNATURES, *CLEAR, *VAGUE)
_TABLES = {name: (*SIGNATURES, *each.overrides, *CLEAR, *each.defaults, *VAGUE) for name, each in _DIALECTS.items()}


def rules_for(preset: str | None) -> tuple[Rule, ...]:
    """The rows for a provider with this preset, in the order in which they are tried."""
    return _TABLES.get(preset or "", _GENERAL)
