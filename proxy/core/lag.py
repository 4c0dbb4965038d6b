# How long a provider goes on counting a request that has ended, learned from its usage count (cooldown: auto).
#
# Rule 1: what a poll counts beyond what is held and what others use are requests that have ended, the latest first.
# Rule 2: an ended request teaches once, when it is first seen forgotten: it was counted until some time between the
#         last poll that counted it and this one. What is counted for longer than LAG_MAX_S is somebody else's.
# Rule 3: the estimate steps up far and down a little, so that it settles where few requests are counted for longer.

from collections import deque
from dataclasses import dataclass

LAG_MIN_S, LAG_MAX_S = 0.05, 5.0
# In balance where 1 in 15 is counted for longer: the 93rd percentile of what the provider needs.
_UP, _DOWN = 1.15, 0.99
# Polls are never exactly on time: what was seen this near to the estimate was seen at it.
_STILL, _ALREADY = 0.98, 1.1
_ENDED_KEPT = 256


@dataclass(slots=True)
class _Ended:
    at: float
    counted_s: float = 0.0  # for at least so long


class Lag:
    """What one provider's accounting needs. `estimate_s` begins as `start_s`; `learned` is whether a poll has moved it
    up, so that it says more than that."""

    __slots__ = ("_ended", "estimate_s", "learned")

    def __init__(self, start_s: float) -> None:
        self.estimate_s = _bounded(start_s)
        self.learned = False
        self._ended: deque[_Ended] = deque(maxlen=_ENDED_KEPT)

    def ended(self, now: float) -> None:
        """A request that the provider had taken has ended."""
        self._ended.append(_Ended(now))

    def polled(self, beyond: int, at: float) -> None:
        """A poll that began at `at` counted `beyond` more than what was held then and what others use."""
        before = [one for one in self._ended if one.at <= at]
        forgotten = len(before) - beyond
        for position, one in enumerate(before):
            age_s = at - one.at
            if position >= forgotten and age_s <= LAG_MAX_S:
                one.counted_s = age_s
                continue
            self._ended.popleft()
            if position < forgotten:
                self._learn(one.counted_s, age_s)

    def raise_(self) -> bool:
        """A refusal shows that it is longer than thought; False if it cannot be thought to be longer."""
        before_s, self.estimate_s = self.estimate_s, _bounded(self.estimate_s * 2)
        self.learned = True
        return self.estimate_s > before_s

    def still_counted(self, now: float) -> int:
        """How many ended requests the provider still counts, as far as is known."""
        count = 0
        if self.learned:
            for one in reversed(self._ended):
                if one.at + self.estimate_s <= now:
                    break
                count += 1
        return count

    def next_forgotten_at(self, now: float) -> float | None:
        """When it will have forgotten the next of them."""
        if not self.learned:
            return None
        return next((at for one in self._ended if (at := one.at + self.estimate_s) > now), None)

    def _learn(self, counted_s: float, forgotten_s: float) -> None:
        if counted_s >= self.estimate_s * _STILL:
            self.estimate_s = _bounded(min(self.estimate_s * _UP, forgotten_s))
            self.learned = True
        elif forgotten_s <= self.estimate_s * _ALREADY:
            self.estimate_s = _bounded(self.estimate_s * _DOWN)

    def __repr__(self) -> str:
        return f"<Lag {self.estimate_s:.3f} s{'' if self.learned else ' (not learned)'}>"


def _bounded(seconds: float) -> float:
    return min(max(seconds, LAG_MIN_S), LAG_MAX_S)
