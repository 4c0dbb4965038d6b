# The poll of the provider's own usage count: whether one runs, what it was for, and what it last said (spec §8).
#
# Rule 1: polls of one provider never overlap; what asks for one during a poll causes one more afterwards.
# Rule 2: the slot whose becoming free started the poll counts as in flight until the poll ends.

from proxy.core.model import GateReading, Slot


class Gate:
    """The part of a scheduler's state that is about polling."""

    __slots__ = ("_again", "next_poll_at", "polling", "reading", "slot")

    def __init__(self) -> None:
        self.polling = False
        self.slot: Slot | None = None
        self.next_poll_at = 0.0
        self.reading: GateReading | None = None
        self._again = False

    def start(self, next_poll_at: float, slot: Slot | None) -> None:
        """A poll begins, because `slot` became free if one is given; without a reason the next is at `next_poll_at`."""
        self.polling = True
        self.slot = slot
        self.next_poll_at = next_poll_at
        self._again = False

    def ask_again(self) -> None:
        """Something happened during the poll that is a reason for another."""
        self._again = True

    def finish(self, reading: GateReading) -> bool:
        """The poll ended; True if something asked for another meanwhile."""
        if not self.polling:
            raise ValueError("no poll of the usage count is running")
        self.polling = False
        self.slot = None
        if reading.observed is None and self.reading is not None and self.reading.observed is not None:
            # No information: the last good number stays, with the time it was seen and why it is stale.
            self.reading = self.reading._replace(error=reading.error)
        else:
            self.reading = reading
        # A poll may take longer than the interval: the next deadline is never in the past.
        self.next_poll_at = max(self.next_poll_at, reading.at)
        return self._again

    def __repr__(self) -> str:
        if self.reading is None:
            last = "nothing seen"
        elif self.reading.error is None:
            last = f"saw {self.reading.observed}"
        else:
            last = f"saw {self.reading.observed}, then {self.reading.error}"
        return f"<Gate {'polling' if self.polling else 'idle'} {last}>"
