# Who holds a slot of one provider, and which slots rest after their release (spec §6.3).
#
# Rule 1: a slot is held, then cooling unless it skips its rest, then free: in at most one of the two at any time.
# Rule 2: a holder is known by its Slot, not by its id: an absorbed request has a new slot under its old id.

from heapq import heappop, heappush

from proxy.core.model import Phase, Slot, Ticket

ON_ITS_WAY_S = 0.15  # how long a request may take to where it is counted
_NEWEST_WEIGHT = 0.2  # of the newest answer in the running mean: some five answers back


class Slots:
    """The slots of one provider that are not free. `grants` counts all that were ever given."""

    __slots__ = ("_cooling", "_held", "grants", "in_flight", "mean_hold_s", "taken")

    def __init__(self) -> None:
        self._held: dict[int, Slot] = {}
        self._cooling: list[tuple[float, int, Slot]] = []  # heap of (end of the rest, grant, slot)
        self.grants = 0
        self.in_flight = 0  # held and cooling; a count of its own, since every grant asks for it
        self.taken = 0  # of the held ones: their answers have begun, and well
        self.mean_hold_s = 0.0

    @property
    def held(self) -> int:
        return len(self._held)

    @property
    def deadline(self) -> float | None:
        """When the next rest ends."""
        return self._cooling[0][0] if self._cooling else None

    def grant(self, ticket: Ticket, now: float) -> Slot:
        """A new slot, held by `ticket`."""
        self.grants += 1
        self.in_flight += 1
        slot = Slot(ticket=ticket, grant=self.grants, granted_at=now, last_byte_at=now, progress_at=now)
        self._held[ticket.id] = slot
        return slot

    def holds(self, slot: Slot) -> bool:
        """Whether `slot` is held, and so may be given back."""
        return self._held.get(slot.ticket.id) is slot

    def give_back(self, slot: Slot, now: float, rest_s: float) -> float:
        """End the hold of `slot`, which rests for `rest_s` (0: it is free at once). How long it was held."""
        self.mark_taken(slot, taken=False)
        del self._held[slot.ticket.id]
        held_s = now - slot.granted_at
        self.mean_hold_s += (_NEWEST_WEIGHT if self.mean_hold_s else 1.0) * (held_s - self.mean_hold_s)
        slot.phase = Phase.COOLING
        if rest_s > 0:
            slot.cooled_at = now + rest_s
            heappush(self._cooling, (slot.cooled_at, slot.grant, slot))
        else:
            self.in_flight -= 1
        return held_s

    def unseen(self, now: float, age_s: float) -> list[float]:
        """From when on a number that may be `age_s` old counts them: of the held slots, those that a poll at `now` may
        not have seen. A request whose answer has begun has been counted; a number of earlier may not say so."""
        wait_s = ON_ITS_WAY_S + age_s
        return [
            slot.granted_at + wait_s
            for slot in self._held.values()
            if now - slot.granted_at < wait_s and (age_s or not slot.taken)
        ]

    def mark_taken(self, slot: Slot, *, taken: bool) -> None:
        """The answer to `slot`'s request has begun, or has turned out to be a refusal."""
        if slot.taken is not taken and self.holds(slot):
            slot.taken = taken
            self.taken += 1 if taken else -1

    def cooled(self, now: float) -> Slot | None:
        """One slot whose rest is over at `now`; it is free from now on. None when there is none left."""
        if self._cooling and self._cooling[0][0] <= now:
            self.in_flight -= 1
            return heappop(self._cooling)[2]
        return None

    def by_id(self, slot_id: int) -> Slot | None:
        """The held slot of this id."""
        return self._held.get(slot_id)

    def holding(self) -> list[Slot]:
        """Held slots, first granted first."""
        return list(self._held.values())

    def resting(self) -> list[Slot]:
        """Cooling slots, first to be free first."""
        return [slot for _, _, slot in sorted(self._cooling)]
