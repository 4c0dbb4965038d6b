# The account at the simulated provider: how many answers it may be given at once, and who is refused.
#
# Rule 1: no clock and no I/O: every call takes `now` (seconds, never less than before).
# Rule 2: the limit is enforced upon the provider's own count, which forgets an answer late: who comes back at once is
#         refused.
# Rule 3: who is refused by chance is told apart from who is too many: only the latter speaks against the proxy.

import math
import random
from collections import Counter
from enum import StrEnum

from proxy.demo.terms import LAG_S, Terms


class Refusal(StrEnum):
    """Why a request is refused. The answer's words are the same."""

    CHANCE = "chance"
    OVER = "over"  # one more than the limit


class Taken:
    """A request that is answered."""

    __slots__ = ("counted_until",)

    def __init__(self) -> None:
        self.counted_until = math.inf


class Account:
    """Ask with `begin`, say with `end` that the answer is over. `most` is the highest count that there was."""

    def __init__(self, terms: Terms, chance: random.Random) -> None:
        self._terms, self._chance = terms, chance
        self._taken: list[Taken] = []
        self.refused: Counter[Refusal] = Counter()
        self.most = 0

    def begin(self, now: float) -> Taken | Refusal:
        """A request has arrived."""
        by_chance = self._chance.random() < self._terms.refusals
        if self.counted(now) >= self._terms.limit:
            return self._refuse(Refusal.OVER)
        if by_chance:
            return self._refuse(Refusal.CHANCE)
        taken = Taken()
        self._taken.append(taken)
        self.most = max(self.most, len(self._taken))
        return taken

    def end(self, taken: Taken, now: float) -> None:
        """Its answer has ended; once more does no harm."""
        if taken.counted_until == math.inf:
            taken.counted_until = now + LAG_S.draw(self._chance)

    def counted(self, now: float) -> int:
        """How many the provider counts."""
        self._taken = [taken for taken in self._taken if taken.counted_until > now]
        return len(self._taken)

    def _refuse(self, why: Refusal) -> Refusal:
        self.refused[why] += 1
        return why
