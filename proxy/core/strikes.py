# How often a provider has refused for concurrency today, and what that means for the pauses (the strike ledger).
#
# Rule: some providers lock the account after so many of these in a day. Each one makes the shortest pause twice as
#       long until the day ends, so that the last ones are never used up by trying.

from proxy.core.model import PausePolicy

DAY_MS = 86_400_000
_LEAST_S = 1.0  # the first pause where the policy has no floor: doubling nothing is nothing


class Strikes:
    """The count of one provider's day (UTC): `day` since the epoch, None before the first strike. `until_at` is when it
    ends, as far as is known: a machine that sleeps loses count of that, and not of the day."""

    __slots__ = ("_count", "_day", "until_at")

    def __init__(self, count: int = 0, until_at: float | None = None) -> None:
        self._count = count
        self._day: int | None = None
        self.until_at = until_at

    def add(self, now: float, now_ms: int) -> None:
        """One more."""
        day = now_ms // DAY_MS
        self._count = (self.today(now) if self._day in (day, None) else 0) + 1
        self._day = day
        self.until_at = now + (DAY_MS - now_ms % DAY_MS) / 1000

    def today(self, now: float) -> int:
        """How many there were on this day."""
        return self._count if self.until_at is not None and now < self.until_at else 0

    def floor_s(self, policy: PausePolicy, allowed: int | None, now: float) -> float:
        """The shortest pause after the latest strike, where `allowed` are borne in a day (None: nobody counts)."""
        count = self.today(now)
        if allowed is None or count == 0:
            return 0.0
        if count >= allowed:
            return policy.max_s
        return min(max(policy.min_s, _LEAST_S) * 2.0 ** (count - 1), policy.max_s)

    def __repr__(self) -> str:
        return f"<Strikes {self._count}>"
