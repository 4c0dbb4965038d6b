# How long a released slot rests before it is free again: a number that a person set, or one that is learned.
#
# Rule: a learned one is the lag's estimate. It moves with nearly every poll; what is worth telling, and storing, is a
#       change by a tenth.

from proxy.core.lag import Lag
from proxy.core.model import CooldownSet

_WORTH_TELLING = 1.1


class Cooldown:
    """The cooldown in force. With `learns` (cooldown: auto) it begins as it is set. The lag is watched in any case: it
    also says when to ask the provider again."""

    __slots__ = ("_told_s", "lag", "learns", "seconds")

    def __init__(self, seconds: float, *, learns: bool) -> None:
        self.lag = Lag(seconds)
        self.set(seconds, learns=learns)

    def set(self, seconds: float, *, learns: bool) -> None:
        """A person has decided."""
        self.learns = learns
        if learns:
            self.lag = Lag(seconds)
            seconds = self.lag.estimate_s
        self.seconds = self._told_s = seconds

    def polled(self, at_least: int, at_most: int, at: float) -> CooldownSet | None:
        """A poll taught something, as in `Lag.polled`; what is to be told of it."""
        self.lag.polled(at_least, at_most, at)
        return self._follow()

    def raise_(self) -> CooldownSet | None:
        """A refusal came right after a slot's reuse: rest twice as long. None if it cannot be much longer."""
        self.lag.raise_()
        return self._follow()

    def _follow(self) -> CooldownSet | None:
        if not self.learns:
            return None
        self.seconds = self.lag.estimate_s
        if 1 / _WORTH_TELLING < self.seconds / self._told_s < _WORTH_TELLING:
            return None
        self._told_s = self.seconds
        return CooldownSet(self.seconds, "learned")

    def __repr__(self) -> str:
        return f"<Cooldown {self.seconds:.3f} s{', learned' if self.learns else ''}>"
