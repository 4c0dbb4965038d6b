# What a person may choose about the demo, and how long things take in it.
#
# Rule 1: times are those of people and models; `speed` divides them all. What a provider and the proxy do among
#         themselves (how late the count falls, the cooldown) keeps its time.

import random
from dataclasses import dataclass
from typing import NamedTuple


class Range(NamedTuple):
    """Seconds, from the one to the other."""

    low: float
    high: float

    def draw(self, chance: random.Random) -> float:
        return chance.uniform(self.low, self.high)


LAG_S = Range(0.08, 0.25)  # how long the provider counts an answer that has ended; the proxy's cooldown is 350 ms
FIRST_BYTE_S = Range(0.6, 2.0)
ANSWER_S = Range(5.0, 40.0)
ARRIVAL_S = Range(0.0, 4.0)  # when an agent begins its first prompt
TOOL_S = Range(1.0, 6.0)  # it runs tests, reads files
READING_S = Range(5.0, 25.0)  # a person reads the outcome and types the next prompt
REFUSED_S = 8.0  # the wait that a refusal states


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """`refusals` is the share of requests that the provider refuses though it has room; `seconds` None: until somebody
    ends it."""

    agents: int = 8
    limit: int = 2
    refusals: float = 0.03
    speed: float = 1.0
    seconds: float | None = None
    seed: int = 0
    open_page: bool = False

    def chance(self, *who: object) -> random.Random:
        """The dice of one who acts: they fall the same way in each run with this seed."""
        return random.Random(f"{self.seed} {who}")  # noqa: S311 - no secret
