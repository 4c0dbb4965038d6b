# How long a provider goes on counting a request that has ended, learned from its usage count (cooldown: auto).
#
# Rule 1: what a poll counts beyond what is held and what others use are requests that have ended, the latest first.
# Rule 2: an ended request teaches once, when it is first seen forgotten: it was counted until some time between the
#         last poll that counted it and this one.
# Rule 3: the estimate steps up far and down a little, so that it settles where few requests are counted for longer.
# Rule 4: somebody else's request that begins as ours ends looks like ours that is still counted, at any age. So an end
#         that is forgotten at half the estimate says that it is far too long.

from collections import deque

LAG_MIN_S, LAG_MAX_S = 0.05, 5.0
# In balance where 1 in 35 is counted for longer: about the 97th percentile of what the provider needs. Up to the first
# one that is not, it goes faster.
_UP, _DOWN = 1.07, 0.998
_FIRST_UP = 1.15
# Polls are never exactly on time: what was seen this near to the estimate was seen at it.
_STILL, _ALREADY = 0.98, 1.1
_HALF, _FAR_DOWN = 0.5, 0.8
_LATER = 1.15  # times as old: when to look again
_ENDED_KEPT = 256


class _Ended:
    __slots__ = ("at", "counted_s")

    def __init__(self, at: float) -> None:
        self.at = at
        self.counted_s = 0.0  # for at least so long


class Lag:
    """What one provider's accounting needs. `estimate_s` begins as `start_s`; `learned` is whether a poll has moved it
    up, so that it says more than that."""

    __slots__ = ("_ended", "_up", "estimate_s", "learned")

    def __init__(self, start_s: float) -> None:
        self.estimate_s = _bounded(start_s)
        self.learned = False
        self._up = _FIRST_UP
        self._ended: deque[_Ended] = deque(maxlen=_ENDED_KEPT)

    def ended(self, now: float) -> None:
        """A request that the provider had taken has ended."""
        self._ended.append(_Ended(now))

    def polled(self, at_least: int, at_most: int, at: float) -> None:
        """A poll that began at `at` counted so many more than what was held then and what others use. The two differ by
        what it may not have counted yet of what was held."""
        before = [one for one in self._ended if one.at <= at]
        counted, forgotten = len(before) - at_least, len(before) - at_most
        for position, one in enumerate(before):
            age_s = at - one.at
            if position < forgotten or age_s > LAG_MAX_S:
                self._ended.popleft()
            if position < forgotten:
                self._learn(one.counted_s, age_s)
            elif position >= counted:
                one.counted_s = age_s

    def raise_(self) -> None:
        """A refusal shows that it is longer than thought."""
        self._move(2.0)
        self.learned = True

    def may_be_counted(self, now: float) -> int:
        """How many ended requests the provider may still count: twice as long as the estimate says, since being wrong
        costs a refusal, and asking costs a poll. 0 where nothing has been learned."""
        count = 0
        if self.learned:
            for one in reversed(self._ended):
                if one.at + 2 * self.estimate_s <= now:
                    break
                count += 1
        return count

    def next_look_at(self, now: float) -> float | None:
        """When it may have forgotten the next of them, so that a poll is worth its while: as old as the estimate, or if
        it is counted beyond that, at ever longer ages."""
        if not self.learned:
            return None
        return min((self._look_at(one, now) for one in self._ended), default=None)

    def _look_at(self, one: _Ended, now: float) -> float:
        age_s = self.estimate_s
        while one.at + age_s <= now:
            age_s *= _LATER
        return one.at + age_s

    def _learn(self, counted_s: float, forgotten_s: float) -> None:
        if counted_s >= self.estimate_s * _STILL:
            self._move(min(self._up, forgotten_s / self.estimate_s))
            self.learned = True
        elif forgotten_s <= self.estimate_s * _ALREADY:
            self._up = _UP
            self._move(_DOWN if forgotten_s > self.estimate_s * _HALF else _FAR_DOWN)

    def _move(self, factor: float) -> None:
        self.estimate_s = _bounded(self.estimate_s * factor)

    def __repr__(self) -> str:
        return f"<Lag {self.estimate_s:.3f} s{'' if self.learned else ' (not learned)'}>"


def _bounded(seconds: float) -> float:
    return min(max(seconds, LAG_MIN_S), LAG_MAX_S)
