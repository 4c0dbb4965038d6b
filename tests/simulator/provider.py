# One account at a provider: what it is allowed, what is counted against it, and when it is refused.
#
# Rule 1: no clock and no I/O: every call takes `now` (epoch seconds, never less than before).
# Rule 2: the limit is enforced upon the provider's own count. It forgets a finished request late (lag), so who comes
#         back at once is refused although nothing of his is running. The usage count shows that count, later still.
# Rule 3: others of the same account are counted like everybody, and are refused like everybody.

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from .buckets import KINDS, STYLES, Headers
from .habits import Other, Overloads, Strikes
from .ranges import NOTHING, Range

USAGE_LATENCY_S = Range(0.05, 0.15)
HOLD_S = Range(2.0, 20.0)


class Reason(StrEnum):
    """Why a request is refused: the truth, which the words of the answer may or may not tell."""

    CONCURRENCY = "concurrency"
    REQUESTS = "requests"  # too many a minute
    TOKENS = "tokens"
    QUOTA = "quota"
    OVERLOAD = "overload"
    LOCKED = "locked"  # for too many strikes


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an account is allowed and how its provider behaves; `None` is never, or any number."""

    dialect: str = "generic"
    limit: int | None = None  # answers at once
    lag_s: Range = NOTHING  # how long a finished answer is still counted
    usage_lag_s: Range = NOTHING  # how old what the usage endpoint says is
    usage_latency_s: Range = USAGE_LATENCY_S
    usage_failures: float = 0.0  # share of its answers that are errors
    strikes: int | None = None  # refusals for concurrency in 24 hours; one more locks the account
    slowness: float = 0.25  # what each of them adds to the time of an answer, up to three times that time
    slow_s: float = 1800.0  # for so long: "each 429 lowers priority for 30 min" (Umans)
    lockout_s: float = 5 * 3600.0
    rpm: int | None = None
    tpm: int | None = None
    bucket: str = "window"  # or "steady"
    bucket_headers: str = "none"  # or "openai", "anthropic"
    overload: float = 0.0  # share of the time
    overload_waits: float = 0.5  # share of the bursts that state a wait
    quota: dict[str, int] = field(default_factory=dict)  # answers that a model gives before it is used up
    quota_s: float = 5 * 3600.0  # when it gives some again
    external: Range = NOTHING  # others: those who are always there, and those who come and go beside them
    hold_s: Range = HOLD_S  # how long an answer takes
    in_stream: float = 0.0  # share of the refusals that come inside a successful answer


class Refusal(NamedTuple):
    reason: Reason
    wait_s: float | None  # what it states, where the dialect has a place for it


@dataclass(slots=True, eq=False)
class Taken:
    """An answer that is given. `slowness`: how many times longer than usual it takes."""

    begun_at: float
    slowness: float
    counted_until: float = math.inf


@dataclass(slots=True)
class Seen:
    """What an account saw."""

    taken: int = 0
    peak: int = 0  # most of our requests open at once, with the one that was refused
    refused: Counter[Reason] = field(default_factory=Counter)
    polls: int = 0
    others_refused: int = 0


class Account:
    """Ask with `begin`, say when it is over with `end`."""

    def __init__(self, terms: Terms, chance: random.Random, now: float) -> None:
        self.terms = terms
        self.seen = Seen()
        self.strikes = Strikes(terms.strikes, slowness=terms.slowness, slow_s=terms.slow_s, lockout_s=terms.lockout_s)
        self._chance = chance
        self._overloads = Overloads(terms.overload, terms.overload_waits, chance)
        self._requests = None if terms.rpm is None else KINDS[terms.bucket](terms.rpm)
        self._tokens = None if terms.tpm is None else KINDS[terms.bucket](terms.tpm)
        self._given: Counter[str] = Counter()
        self._quota_until: dict[str, float] = {}
        self._taken: list[Taken] = []  # open, or still counted, or so lately forgotten that a usage count may show it
        self._others = [
            Other(always=number < terms.external.low, hold_s=terms.hold_s, now=now, chance=chance)
            for number in range(int(terms.external.high))
        ]
        self.open = 0

    def begin(self, now: float, *, tokens: int = 0, model: str = "") -> Taken | Refusal:
        """A request has arrived."""
        self.advance(now)
        self.seen.peak = max(self.seen.peak, self.open + 1)
        refusal = self._refusal(now, tokens, model)
        if refusal is not None:
            self.seen.refused[refusal.reason] += 1
            return refusal
        for bucket, amount in ((self._requests, 1), (self._tokens, tokens)):
            if bucket is not None:
                bucket.take(amount)
        self._given[model] += 1
        self.seen.taken += 1
        self.open += 1
        taken = Taken(now, self.strikes.slowness(now))
        self._taken.append(taken)
        return taken

    def end(self, taken: Taken, now: float) -> None:
        """Its answer is complete, or its connection is closed; once more does no harm."""
        self.advance(now)
        if taken.counted_until == math.inf:
            taken.counted_until = now + self.terms.lag_s.draw(self._chance)
            self.open -= 1

    def usage(self, now: float) -> int | None:
        """What the usage endpoint says; None: an error."""
        self.advance(now)
        self.seen.polls += 1
        if self._chance.random() < self.terms.usage_failures:
            return None
        return self.counted(now - self.terms.usage_lag_s.draw(self._chance))

    def counted(self, at: float) -> int:
        """How many it counts at `at`, which is now or not long ago."""
        return sum(taken.begun_at <= at < taken.counted_until for taken in self._taken)

    def headers(self, now: float) -> Headers:
        """What every answer says about the buckets."""
        style = STYLES[self.terms.bucket_headers]
        buckets = (("requests", self._requests), ("tokens", self._tokens))
        return [line for name, bucket in buckets if bucket is not None for line in style(name, bucket, now)]

    def advance(self, now: float) -> None:
        """Let others do what they did until now, and forget what nobody can see any more."""
        while self._others and (other := min(self._others, key=lambda one: one.next_at)).next_at <= now:
            self._other_acts(other)
        if len(self._taken) > 64:
            oldest = now - self.terms.usage_lag_s.high
            self._taken = [taken for taken in self._taken if taken.counted_until > oldest]

    @property
    def others(self) -> int:
        """How many answers others are being given, as of the last call."""
        return sum(other.busy for other in self._others)

    # --- inside ---

    def _refusal(self, now: float, tokens: int, model: str) -> Refusal | None:
        if locked_s := self.strikes.locked_s(now):
            return Refusal(Reason.LOCKED, locked_s)
        overloaded, wait_s = self._overloads.wait_s(now)
        if overloaded:
            return Refusal(Reason.OVERLOAD, wait_s)
        if (wait_s := self._used_up_s(model, now)) > 0:
            return Refusal(Reason.QUOTA, wait_s)
        if self._requests is not None and (wait_s := self._requests.wait_s(1, now)) > 0:
            return Refusal(Reason.REQUESTS, wait_s)
        if self._tokens is not None and (wait_s := self._tokens.wait_s(tokens, now)) > 0:
            return Refusal(Reason.TOKENS, wait_s)
        if self._full(now):
            self.strikes.add(now)
            return Refusal(Reason.CONCURRENCY, None)
        return None

    def _full(self, now: float) -> bool:
        return self.terms.limit is not None and self.counted(now) >= self.terms.limit

    def _used_up_s(self, model: str, now: float) -> float:
        """Until the quota of `model` gives something again."""
        allowed = self.terms.quota.get(model)
        if allowed is None or self._given[model] < allowed:
            return 0.0
        until = self._quota_until.setdefault(model, now + self.terms.quota_s)
        if until <= now:
            del self._quota_until[model]
            self._given[model] = 0
        return max(0.0, until - now)

    def _other_acts(self, other: Other) -> None:
        at = other.next_at
        if other.busy:
            other.end()
        elif self._full(at):
            self.seen.others_refused += 1
            other.refused()
        else:
            ends_at = other.begin()
            self._taken.append(Taken(at, 1.0, ends_at + self.terms.lag_s.draw(self._chance)))
