# The poll of the provider's own usage count: whether one runs, what it was for, and what the last ones said (spec §8).
#
# Rule 1: polls of one provider never overlap; what asks for one during a poll causes one more afterwards.
# Rule 2: the slot whose becoming free started the poll counts as in flight until the poll ends.
# Rule 3: what a poll counts beyond our own is what others use of the same account, as long as it is fresh. The least of
#         the last polls is believed: one that still counted a request of ours that had ended holds nobody back.
# Rule 4: what was granted just before a poll may not have arrived at the provider when it counted. So a poll counts at
#         least what the one before did, and what was granted since, as far as that may be missing.

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from proxy.core.model import GateReading, Slot

FRESH_S = 15.0  # how long a poll says something about others
_POLLS_BELIEVED = 3


class Ours(NamedTuple):
    """Our own requests when a poll began: held slots; those in flight; from when on those of the held ones are counted
    that it may not have seen; and how many were ever granted."""

    held: int = 0
    in_flight: int = 0
    unseen: Sequence[float] = ()
    grants: int = 0


class Gate:
    """The part of a scheduler's state that is about polling."""

    __slots__ = (
        "_again",
        "_beyond",
        "_grants",
        "began_at",
        "counted",
        "ended_at",
        "next_poll_at",
        "ours",
        "polling",
        "reading",
        "slot",
    )

    def __init__(self) -> None:
        self.polling = False
        self.slot: Slot | None = None
        self.next_poll_at = 0.0
        self.reading: GateReading | None = None
        self.began_at = 0.0  # of the latest poll
        self.ended_at = 0.0  # the latest that has
        self.ours = Ours()  # when the latest began
        self.counted: int | None = None  # what the latest poll that ended well counted, by Rule 4
        self._grants = 0  # then
        self._again = False
        self._beyond: deque[tuple[float, int]] = deque(maxlen=_POLLS_BELIEVED)

    def start(self, now: float, interval_s: float, slot: Slot | None) -> None:
        """A poll begins, because `slot` became free if one is given; without a reason the next is in `interval_s`. Say
        then what is `ours`."""
        self.polling = True
        self.slot = slot
        self.began_at, self.next_poll_at = now, now + interval_s
        self._again = False

    def restore(self, beyond: Iterable[tuple[float, int]]) -> None:
        """What the last polls counted beyond our own, and when, as another has seen them."""
        self._beyond.extend(beyond)

    def ask_again(self) -> None:
        """Something happened during the poll that is a reason for another."""
        self._again = True

    def finish(self, reading: GateReading) -> bool:
        """The poll ended; True if something asked for another meanwhile."""
        if not self.polling:
            raise ValueError("no poll of the usage count is running")
        self.polling = False
        self.slot = None
        self.ended_at = reading.at
        if reading.observed is not None:
            self._beyond.append((reading.at, max(0, self._count(reading.observed) - self.ours.in_flight)))
            self.reading = reading
        elif self.reading is None or self.reading.observed is None:
            self.reading = reading
        else:
            # No information: the last good number stays, with the time it was seen and why it is stale.
            self.reading = self.reading._replace(error=reading.error)
        # A poll may take longer than the interval: the next deadline is never in the past.
        self.next_poll_at = max(self.next_poll_at, reading.at)
        return self._again

    @property
    def in_doubt(self) -> bool:
        """Whether the latest poll may have counted more, had it seen everything."""
        return self.reading is not None and self.reading.observed != self.counted

    def external(self, now: float) -> int | None:
        """What others use of the same account; None if no fresh poll tells."""
        return min((beyond for at, beyond in self._beyond if now - at <= FRESH_S), default=None)

    def _count(self, observed: int) -> int:
        since = self.ours.grants - self._grants
        before = observed if self.counted is None else self.counted + since
        self.counted = max(observed, min(observed + len(self.ours.unseen), before))
        self._grants = self.ours.grants
        return self.counted

    def __repr__(self) -> str:
        if self.reading is None:
            last = "nothing seen"
        elif self.reading.error is None:
            last = f"saw {self.reading.observed}"
        else:
            last = f"saw {self.reading.observed}, then {self.reading.error}"
        return f"<Gate {'polling' if self.polling else 'idle'} {last}>"
