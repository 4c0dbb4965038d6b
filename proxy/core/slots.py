# Who holds a slot of one provider, and which slots rest after their release (spec §6.3).
#
# Rule 1: a slot is held, then cooling unless it skips its rest, then free: in at most one of the two at any time.
# Rule 2: a holder is known by its Slot, not by its id: an absorbed request has a new slot under its old id.

from collections import deque
from heapq import heappop, heappush
from itertools import islice, takewhile
from math import inf

from proxy.core.model import Phase, Slot, Ticket

ON_ITS_WAY_S = 0.15  # how long a request may take to where it is counted
_PAST_KEPT = 128  # enough to see prompts of many calls begin and go on
_HOLDS = 32  # of them, the latest: enough for a mean, and few enough that it follows what agents do now
_COOLING = Phase.COOLING  # looking up a member of an enum is a call in Python 3.11


class Slots:
    """The slots of one provider that are not free. `grants` counts all that were ever given."""

    __slots__ = ("_cooling", "_held", "grants", "in_flight", "next_cooled_at", "past", "taken")

    def __init__(self) -> None:
        self._held: dict[int, Slot] = {}
        self._cooling: list[tuple[float, int, Slot]] = []  # heap of (end of the rest, grant, slot)
        self.next_cooled_at = inf  # when the next rest ends
        self.grants = 0
        self.in_flight = 0  # held and cooling, and the one that a poll keeps; every grant asks for it
        self.taken = 0  # of the held ones: their answers have begun, and well
        # Given back after being held for so long, by those whose answer had begun, and well: a refusal takes no time.
        self.past: deque[tuple[float, Slot]] = deque(maxlen=_PAST_KEPT)

    @property
    def held(self) -> int:
        return len(self._held)

    @property
    def mean_hold_s(self) -> float | None:
        """How long an answer holds a slot, by the last ones that ended; None: none ever has."""
        latest = [held_s for held_s, _ in islice(reversed(self.past), _HOLDS)]
        return sum(latest) / len(latest) if latest else None

    def restore(self, held: list[Slot], cooling: list[Slot], *, grants: int, in_flight: int, taken: int) -> None:
        """As another has counted: `held` first granted first, `cooling` with the end of each one's rest."""
        self._held = {slot.id: slot for slot in held}
        self._cooling = sorted((slot.cooled_at, slot.grant, slot) for slot in cooling)
        self.next_cooled_at = self._cooling[0][0] if self._cooling else inf
        self.grants, self.in_flight, self.taken = grants, in_flight, taken

    def grant(self, ticket: Ticket, now: float) -> Slot:
        """A new slot, held by `ticket`."""
        self.grants += 1
        self.in_flight += 1
        slot = self._held[ticket.id] = Slot(ticket, self.grants, now)
        slot.held = True
        return slot

    def give_back(self, slot: Slot, now: float, rest_s: float) -> float:
        """End the hold of `slot`, which rests for `rest_s` (0: it is free at once). How long it was held."""
        del self._held[slot.ticket.id]
        slot.held = False
        slot.phase = _COOLING
        held_s = now - slot.granted_at
        if slot.taken:
            self.taken -= 1
            self.past.append((held_s, slot))
        if rest_s > 0:
            cooled_at = slot.cooled_at = now + rest_s
            heappush(self._cooling, (cooled_at, slot.grant, slot))
            if cooled_at < self.next_cooled_at:
                self.next_cooled_at = cooled_at
        else:
            self.in_flight -= 1
        return held_s

    def unseen(self, now: float, age_s: float) -> list[float]:
        """From when on a number that may be `age_s` old counts them: of the held slots, those that a poll at `now` may
        not have seen. A request whose answer has begun has been counted; a number of earlier may not say so."""
        wait_s = ON_ITS_WAY_S + age_s
        newest = takewhile(lambda slot: now - slot.granted_at < wait_s, reversed(self._held.values()))
        return [slot.granted_at + wait_s for slot in newest if age_s or not slot.taken]

    def mark_taken(self, slot: Slot) -> None:
        """The answer to the request of `slot` has begun, and well."""
        if slot.held and not slot.taken:
            slot.taken = True
            self.taken += 1

    def mark_refused(self, slot: Slot) -> None:
        """The answer to the request of `slot` is a refusal, or has turned out to be one."""
        slot.refused = True
        if slot.held and slot.taken:
            slot.taken = False
            self.taken -= 1

    def cool(self) -> Slot:
        """The slot whose rest ends next is free from now on."""
        self.in_flight -= 1
        _, _, slot = heappop(self._cooling)
        self.next_cooled_at = self._cooling[0][0] if self._cooling else inf
        return slot

    def by_id(self, slot_id: int) -> Slot | None:
        """The held slot of this id."""
        return self._held.get(slot_id)

    def holding(self) -> list[Slot]:
        """Held slots, first granted first."""
        return list(self._held.values())

    def resting(self) -> list[Slot]:
        """Cooling slots, first to be free first."""
        return [slot for _, _, slot in sorted(self._cooling)]
