# The poll of the provider's own usage count: whether one runs, what it was for, and what it last said (spec §8).
#
# Rule 1: polls of one provider never overlap; what asks for one during a poll causes one more afterwards.
# Rule 2: the slot whose end of rest started the poll counts as in flight until the poll ends.

from proxy.core.model import GateReading, Slot


class Gate:
    """The part of a scheduler's state that is about polling."""

    __slots__ = ("again", "next_poll_at", "polling", "reading", "slot")

    def __init__(self) -> None:
        self.polling = False
        self.again = False
        self.slot: Slot | None = None
        self.next_poll_at = 0.0
        self.reading: GateReading | None = None

    def start(self, next_poll_at: float, slot: Slot | None) -> None:
        """A poll begins, because of the end of `slot`'s rest if one is given; the next waits until `next_poll_at`."""
        self.polling = True
        self.again = False
        self.slot = slot
        self.next_poll_at = next_poll_at

    def finish(self, reading: GateReading) -> bool:
        """The poll ended; True if something asked for another meanwhile."""
        self.polling = False
        self.slot = None
        if reading.observed is None and self.reading is not None:
            # No information: the last good number stays, with the time it was seen and why it is stale.
            self.reading = self.reading._replace(error=reading.error)
        else:
            self.reading = reading
        # A poll may take longer than the interval: the next deadline is never in the past.
        self.next_poll_at = max(self.next_poll_at, reading.at)
        return self.again

    def __repr__(self) -> str:
        return f"<Gate {'polling' if self.polling else 'idle'} last {self.reading}>"
