# What a row of the tables is: a kind of refusal, and where which words must stand for it.

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from proxy.core.model import Kind

# What a CDN puts on every answer that passes it (hraedon/sluice, wi-033).
CDN_HEADERS = ("cf-ray", "x-amz-cf-id", "x-served-by", "x-fastly-request-id", "x-vercel-id", "fly-request-id")

CONCURRENCY, RATE, QUOTA, OVERLOAD, NONE = Kind.CONCURRENCY, Kind.RATE, Kind.QUOTA, Kind.OVERLOAD, Kind.NONE

# status -> (what it means when nothing says more, what it may mean). Any other status has nothing to do with limits:
# Groq's 413 has the code and the Retry-After of a rate limit, and can never succeed.
STATUSES: Mapping[int, tuple[Kind, frozenset[Kind]]] = {
    200: (NONE, frozenset(Kind)),  # an error inside a 2xx that names no status of its own
    400: (NONE, frozenset({QUOTA})),
    401: (NONE, frozenset()),  # only for rows that name it
    402: (QUOTA, frozenset({QUOTA, CONCURRENCY})),
    403: (NONE, frozenset({QUOTA, CONCURRENCY, RATE})),
    412: (NONE, frozenset({QUOTA})),
    429: (RATE, frozenset(Kind)),
    498: (OVERLOAD, frozenset(Kind)),
    500: (NONE, frozenset({OVERLOAD})),
    502: (NONE, frozenset({OVERLOAD})),
    503: (OVERLOAD, frozenset(Kind)),
    524: (OVERLOAD, frozenset({OVERLOAD})),
    529: (OVERLOAD, frozenset(Kind)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`kind`, if `pattern` is found in one of the named fields (none named: always) of an answer with one of
    `statuses` that asks for no longer a wait than `longest_wait_ms`. Patterns meet lower-case text."""

    kind: Kind
    fields: tuple[str, ...] = ()
    pattern: re.Pattern[str] = re.compile("")
    statuses: frozenset[int] = frozenset()
    longest_wait_ms: float = inf

    def matches(self, status: int, said: Mapping[str, list[str]], wait_ms: int | None) -> bool:
        """`said`: lower-case values by field; headers are there as `header.name`, used-up buckets as `bucket`."""
        possible = status in self.statuses if self.statuses else self.kind in STATUSES[status][1]
        if not possible or (wait_ms or 0) > self.longest_wait_ms:
            return False
        values = (value for name in self.fields for value in said.get(name, ()))
        return not self.fields or any(map(self.pattern.search, values))


def codes(kind: Kind, names: str, *statuses: int) -> Rule:
    """A provider's own codes, whole, wherever it puts them (code, type, status, reason …)."""
    exact = "|".join(map(re.escape, names.lower().split()))
    return Rule(kind=kind, fields=("code",), pattern=re.compile(rf"^(?:{exact})$"), statuses=frozenset(statuses))


def words(kind: Kind, pattern: str, *statuses: int, fields: str = "text") -> Rule:
    """Words in the text for people, or in other fields: of the body, `header.name`, `bucket`, `code`."""
    return Rule(kind=kind, fields=tuple(fields.split()), pattern=re.compile(pattern), statuses=frozenset(statuses))


def always(kind: Kind, *statuses: int, longest_wait_ms: float = inf) -> Rule:
    """Whatever is said: a status by itself, where the wait is no longer than that."""
    return Rule(kind=kind, statuses=frozenset(statuses), longest_wait_ms=longest_wait_ms)
