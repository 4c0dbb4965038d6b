# What a provider does beside counting: it punishes, it is overloaded now and then, and others use the same account.
#
# Rule: nothing here reads a clock. What happens by itself is drawn when somebody asks, up to the `now` of the question.

import random
from collections import deque

from .ranges import Range

DAY_S = 86_400.0
SLOWEST = 3.0  # times longer, however many strikes
BURST_S = Range(5.0, 30.0)  # how long an overload lasts
OVERLOAD_WAIT_S = Range(2.0, 20.0)  # what one that states a wait states
SESSION_S, AWAY_S = Range(60.0, 600.0), Range(60.0, 900.0)  # others: how long they work, and how long they do not
PAUSE_S = Range(0.5, 10.0)  # between two calls of theirs
AGAIN_S = Range(1.0, 5.0)  # after a refusal of theirs


class Strikes:
    """Refusals for concurrency are held against the account: each makes its answers slower by `slowness` for
    `slow_s`, and the one that exceeds `allowed` in a day locks it for `lockout_s`."""

    def __init__(self, allowed: int | None, *, slowness: float, slow_s: float, lockout_s: float) -> None:
        self.count = self.lockouts = self.most_in_a_day = 0
        self._allowed, self._slowness, self._slow_s, self._lockout_s = allowed, slowness, slow_s, lockout_s
        self._recent: deque[float] = deque()
        self._locked_until = 0.0

    def add(self, now: float) -> None:
        """One more."""
        while self._recent and self._recent[0] <= now - DAY_S:
            self._recent.popleft()
        self._recent.append(now)
        self.count += 1
        self.most_in_a_day = max(self.most_in_a_day, len(self._recent))
        if self._allowed is not None and len(self._recent) > self._allowed:
            self._recent.clear()
            self._locked_until = now + self._lockout_s
            self.lockouts += 1

    def locked_s(self, now: float) -> float:
        """For how long the account is locked; 0: it is not."""
        return max(0.0, self._locked_until - now)

    def slowness(self, now: float) -> float:
        """How many times longer an answer takes that begins now."""
        active = sum(at > now - self._slow_s for at in self._recent)
        return min(1.0 + self._slowness * active, SLOWEST)


class Overloads:
    """Bursts that fill `share` of the time; in some of them the refusals state a wait."""

    def __init__(self, share: float, states_wait: float, chance: random.Random) -> None:
        self.bursts = 0
        self._share, self._states_wait, self._chance = share, states_wait, chance
        self._from = self._until = 0.0
        self._wait_s: float | None = None

    def wait_s(self, now: float) -> tuple[bool, float | None]:
        """Whether the provider is overloaded now, and the wait that it states."""
        if not self._share:
            return False, None
        while now >= self._until:
            self._draw(now)
        return now >= self._from, self._wait_s

    def _draw(self, now: float) -> None:
        mean_s = (BURST_S.low + BURST_S.high) / 2
        calm_s = self._chance.expovariate(self._share / (mean_s * (1 - self._share))) if self._share < 1 else 0.0
        self._from = (self._until or now) + calm_s
        self._until = self._from + BURST_S.draw(self._chance)
        states = self._chance.random() < self._states_wait
        self._wait_s = OVERLOAD_WAIT_S.draw(self._chance) if states else None
        self.bursts += 1


class Other:
    """One more user of the same account, who is there always or comes and goes. `next_at`: when it does something."""

    def __init__(self, *, always: bool, hold_s: Range, now: float, chance: random.Random) -> None:
        self.busy = False
        self._always, self._hold_s, self._chance = always, hold_s, chance
        self.next_at = now + (0.0 if always else AWAY_S.draw(chance))
        self._leaves_at = now

    def begin(self) -> float:
        """It asked and was taken: when its answer ends."""
        if self._leaves_at <= self.next_at:
            self._leaves_at = self.next_at + SESSION_S.draw(self._chance)
        self.busy = True
        self.next_at += self._hold_s.draw(self._chance)
        return self.next_at

    def refused(self) -> None:
        """It asked and was not taken."""
        self.next_at += AGAIN_S.draw(self._chance)

    def end(self) -> None:
        """Its answer has ended."""
        self.busy = False
        gone = not self._always and self._leaves_at <= self.next_at
        self.next_at += (AWAY_S if gone else PAUSE_S).draw(self._chance)
