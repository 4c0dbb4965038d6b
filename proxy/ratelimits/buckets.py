# The allowances that an answer reports in its headers, and how much is left of them.
#
# Rule 1: a bucket matters only when it says by itself how much is left; a reset without that says nothing.
# Rule 2: a family of headers is one row of FAMILIES; its name is what comes between prefix and suffix.

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

from proxy.ratelimits import grammar

Values = Mapping[str, Sequence[str]]  # lower-case name -> its values, one or more, in the order in which they came

# (prefix, bucket name, what is told about it); an empty name is a bucket that does not say what it counts.
_FAMILIES = tuple(
    re.compile(family)
    for family in (
        # Not unified-overage: "rejected" there says only that nothing may be bought on top of the plan.
        r"anthropic-(?:ratelimit|priority)-(?P<name>(?!unified-overage).+)-(?P<what>remaining|status|reset)",
        r"x-rate-?limit-(?P<what>remaining|reset)(?:-(?P<name>.+))?",  # OpenAI, Groq, Cerebras, Venice, Together
        r"x-rate-?limit-(?P<name>.+)-(?P<what>remaining|reset)",
        r"(?P<name>)ratelimit-(?P<what>remaining|reset)",  # IETF drafts up to 06
        r"x-(?P<name>codex-.+)-(?P<what>used-percent|reset-after-seconds|reset-at)",  # ChatGPT's backend
        r"x-(?P<name>concurren[a-z]*-(?!active)[a-z]+)(?:-(?P<what>active))?",  # what may run at once, and what does
    )
)
_NOTHING = re.compile(r"0+(?:\.0+)?")

# IETF drafts from 07 on: `"api";r=0;t=55` with its policy beside it, or `limit=100, remaining=0, reset=30`.
_LISTS = {"ratelimit": "ratelimit-policy", "x-ratelimit": "x-ratelimit-policy"}
_ITEM = re.compile(r'(?:[^,"]|"[^"]*")+')
_PARAMETER = re.compile(r';\s*([a-z]+)\s*=\s*"?([^";,]*)')
_PAIR = re.compile(r"\s*(limit|remaining|reset)\s*=\s*([0-9.]+)")
_LIST_LIMIT = 2048  # characters of such a list worth reading
_DAY_S = 86_400

_USAGE = "x-usage-ratelimit-"  # GitHub Copilot's windows, as a query: rem=35.3&rst=2026-10-08T15%3A00%3A00Z


class Bucket(NamedTuple):
    """One allowance: `name` as the server calls it with what it counts, e.g. `requests-day`; how much is `left` of it;
    `reset_ms` when it is full again, None where that is not said."""

    name: str
    left: int
    reset_ms: int | None

    @property
    def counts_requests(self) -> bool:
        return "req" in self.name and "concurren" not in self.name


def told(values: Values, at: grammar.Clock) -> list[Bucket]:
    """The buckets of these headers that say how much is left."""
    return [*_families(values, at), *_lists(values, at), *_queries(values, at)]


def exhausted(values: Values, at: grammar.Clock) -> list[Bucket]:
    """Those of which nothing is left."""
    return [bucket for bucket in told(values, at) if bucket.left == 0]


def longest_ms(buckets: Sequence[Bucket]) -> int | None:
    """When the last of them is full again."""
    return max((bucket.reset_ms for bucket in buckets if bucket.reset_ms is not None), default=None)


def _families(values: Values, at: grammar.Clock) -> Iterator[Bucket]:
    said: dict[str, dict[str, str]] = {}
    for header, (value, *_) in values.items():
        if found := next((hit for family in _FAMILIES if (hit := family.fullmatch(header))), None):
            name = "requests" if header.startswith("ratelimit-") else found["name"] or ""
            said.setdefault(name, {})[found["what"] or "most"] = value.strip()
    # One window of a subscription may be used up while the plan as a whole still serves: from what is paid on top.
    serving = said.get("unified", {}).get("status", "").lower().startswith("allowed")
    for name, facts in said.items():
        left = 0 if _used_up(facts) else _left(facts.get("remaining", ""))
        if left is not None and not (serving and name.startswith("unified")):
            reset = facts.get("reset") or facts.get("reset-after-seconds") or facts.get("reset-at") or ""
            yield Bucket(name, left, _reset_ms(reset, at))


def _used_up(facts: Mapping[str, str]) -> bool:
    percent, active, most = (grammar.number(facts.get(what, "")) for what in ("used-percent", "active", "most"))
    return (
        facts.get("status", "").lower() == "rejected"  # Anthropic's subscriptions
        or (percent is not None and percent >= 100)
        or (active is not None and most is not None and active >= most)
    )


def _left(text: str) -> int | None:
    count = grammar.number(text)
    return None if count is None else int(count)


def _lists(values: Values, at: grammar.Clock) -> Iterator[Bucket]:
    for header, policy_header in _LISTS.items():
        policies = dict(_items(values.get(policy_header, ())))
        for name, facts in _items(values.get(header, ())):
            if (left := _left(facts.get("r", ""))) is not None:
                facts = policies.get(name, {}) | facts
                unit = facts.get("qu") or "requests"  # the drafts' default
                window_s = grammar.number(facts.get("w", "")) or 0
                yield Bucket(f"{name} {unit}{' day' * (window_s >= _DAY_S)}", left, _reset_ms(facts.get("t", ""), at))
        pairs = dict(_PAIR.findall(",".join(values.get(header, ()))[:_LIST_LIMIT]))
        if (left := _left(pairs.get("remaining", ""))) is not None:
            yield Bucket("requests", left, _reset_ms(pairs.get("reset", ""), at))


def _queries(values: Values, at: grammar.Clock) -> Iterator[Bucket]:
    for header, (value, *_) in values.items():
        facts = dict(parse_qsl(value)) if header.startswith(_USAGE) else {}
        if (left := _left(facts.get("rem", ""))) is not None:
            yield Bucket(header.removeprefix("x-"), left, _reset_ms(facts.get("rst", ""), at))


def _items(lines: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    listed = ",".join(lines)[:_LIST_LIMIT].lower()
    if listed.count('"') % 2:  # RFC 9651 4.2: a field that does not parse is ignored
        return
    for item in _ITEM.findall(listed):
        yield item.partition(";")[0].strip(' "'), dict(_PARAMETER.findall(item))


def _reset_ms(text: str, at: grammar.Clock) -> int | None:
    # Azure fills the header with a bare 0 when it does not know; an allowance used up and full at once is nonsense.
    return None if _NOTHING.fullmatch(text) else grammar.wait(text, at)
