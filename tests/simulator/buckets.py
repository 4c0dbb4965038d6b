# Allowances of requests or tokens a minute, and the headers in which a provider tells what is left of them.

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Protocol

MINUTE_S = 60.0
Headers = list[tuple[str, str]]


class Bucket(Protocol):
    """`limit` in a minute."""

    limit: int

    def remaining(self, now: float) -> int:
        """How much could be taken now."""

    def take(self, amount: int) -> None:
        """Take what `remaining` said is there."""

    def wait_s(self, amount: int, now: float) -> float:
        """Until `amount` can be taken; 0: it can."""

    def reset_s(self, now: float) -> float:
        """Until it is full again."""


class Window:
    """Full again a minute after the first that was taken."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._taken = 0
        self._ends_at = 0.0

    def remaining(self, now: float) -> int:
        if now >= self._ends_at:
            self._taken, self._ends_at = 0, now + MINUTE_S
        return self.limit - self._taken

    def take(self, amount: int) -> None:
        self._taken += amount

    def wait_s(self, amount: int, now: float) -> float:
        return 0.0 if amount <= self.remaining(now) else self._ends_at - now

    def reset_s(self, now: float) -> float:
        return max(0.0, self._ends_at - now) if self._taken else 0.0


class Steady:
    """Fills at an even pace, so that it has something again soon."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._level = float(limit)
        self._at = 0.0

    def remaining(self, now: float) -> int:
        self._level = min(self.limit, self._level + (now - self._at) * self.limit / MINUTE_S)
        self._at = now
        return int(self._level + 1e-6)  # a wait that was obeyed to the microsecond was long enough

    def take(self, amount: int) -> None:
        self._level -= amount

    def wait_s(self, amount: int, now: float) -> float:
        if amount <= self.remaining(now):
            return 0.0
        return (amount - self._level) * MINUTE_S / self.limit

    def reset_s(self, now: float) -> float:
        self.remaining(now)
        return (self.limit - self._level) * MINUTE_S / self.limit


def _openai(name: str, bucket: Bucket, now: float) -> Headers:
    return [
        (f"x-ratelimit-limit-{name}", str(bucket.limit)),
        (f"x-ratelimit-remaining-{name}", str(bucket.remaining(now))),
        (f"x-ratelimit-reset-{name}", _go_duration(bucket.reset_s(now))),
    ]


def _anthropic(name: str, bucket: Bucket, now: float) -> Headers:
    full_at = datetime.fromtimestamp(math.ceil(now + bucket.reset_s(now)), UTC)
    return [
        (f"anthropic-ratelimit-{name}-limit", str(bucket.limit)),
        (f"anthropic-ratelimit-{name}-remaining", str(bucket.remaining(now))),
        (f"anthropic-ratelimit-{name}-reset", full_at.strftime("%Y-%m-%dT%H:%M:%SZ")),
    ]


def _silent(name: str, bucket: Bucket, now: float) -> Headers:
    return []


STYLES: Mapping[str, Callable[[str, Bucket, float], Headers]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "none": _silent,
}
KINDS: Mapping[str, Callable[[int], Bucket]] = {"window": Window, "steady": Steady}


def _go_duration(seconds: float) -> str:
    """As Go writes it and OpenAI with it: 20ms, 7.66s, 6m0s."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(math.ceil(seconds * 100) / 100, 60)
    return f"{minutes:.0f}m{rest:g}s" if minutes else f"{rest:g}s"
