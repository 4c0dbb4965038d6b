# How many requests one provider may have in flight, and what its refusals have done to that number (spec §7.3).
#
# Rule 1: one burst is one reduction: who was let in before the last one says nothing about the limit after it.
# Rule 2: a person's word ends all that refusals did: the origin, the notice and the evidence go with `set`.
# Rule 3: what is learned (limit: auto) counts whom the provider took. In the burst that teaches, each further refusal
#         shows one more that it did not take; but what it was seen to serve at once, it takes.

from collections import deque

from proxy.core.model import RateLimit, Reduced

EVIDENCE_KEPT = 20  # spec §7.3


def notice(limit: int) -> str:
    return f"Concurrency limit auto-reduced to {limit} after a 429 — restore manually when ready."


class Limit:
    """The limit in force (None: unlimited), the one before the first reduction, and the refusals that led to it.
    `learns`: whether the first one is still to be found in refusals."""

    __slots__ = (
        "_evidence",
        "_learned_at_grant",
        "_reduced_at_grant",
        "learns",
        "original",
        "served_at_once",
        "value",
    )

    def __init__(
        self, value: int | None, original: int | None, evidence: tuple[RateLimit, ...], *, learns: bool
    ) -> None:
        self.value = value
        self.original = original
        self.learns = learns
        self.served_at_once = 0  # the most that were, while learning
        self._evidence = deque(evidence, maxlen=EVIDENCE_KEPT)
        self._reduced_at_grant = 0  # how many grants had been made when the limit was last reduced
        self._learned_at_grant = 0

    @property
    def evidence(self) -> tuple[RateLimit, ...]:
        """The last refusals for our own limit, oldest first."""
        return tuple(self._evidence)

    @property
    def notice(self) -> str | None:
        """What a person should know about the limit, or None."""
        return None if self.original is None or self.value is None else notice(self.value)

    def has_room(self, in_flight: int) -> bool:
        """Whether one more may go beside `in_flight` others."""
        return self.value is None or in_flight < self.value

    def set(self, value: int | None, *, learns: bool) -> None:
        """A person has decided."""
        self.value = value
        self.learns = learns
        self.served_at_once = 0
        self.original = None
        self._evidence.clear()
        self._learned_at_grant = 0

    def note(self, seen: RateLimit) -> None:
        """Keep `seen` as evidence."""
        self._evidence.append(seen)

    def reduce(self, grant: int, grants: int) -> Reduced | None:
        """One less after a refusal of the request that was let in by `grant`, of `grants` so far; None where nothing
        is to be reduced."""
        if self.value is None or self.value == 1 or grant <= self._reduced_at_grant:
            return None
        if self.original is None:
            self.original = self.value
        self.value -= 1
        self._reduced_at_grant = grants
        return Reduced(self.value, self.original, notice(self.value))

    def excuse(self, grants: int) -> None:
        """Refusals of all who were let in so far have another explanation than the limit."""
        self._reduced_at_grant = grants

    def step_up(self, at_ms: int, in_flight: int) -> int:
        """One step back towards the original, of its own accord; the last one ends the reduction."""
        assert self.value is not None
        assert self.original is not None
        self.value += 1
        self.note(RateLimit(at_ms, 0, "restored", None, in_flight))
        if self.value >= self.original:
            self.original = None
            self._evidence.clear()
        return self.value

    def learn(self, grant: int, grants: int, accepted: int) -> int | None:
        """The refusal for concurrency of the request that was let in by `grant`, of `grants` so far, while `accepted`
        others were in flight: the limit found by it, or None if it teaches nothing."""
        least = max(1, self.served_at_once)
        if self.value is None and self.learns:
            self.value = max(least, accepted)
            self._learned_at_grant = self._reduced_at_grant = grants
        elif self.value is not None and self.value > least and grant <= self._learned_at_grant:
            self.value -= 1
            if self.original is not None:  # reduced meanwhile, from a number that was too high
                self.original -= 1
        else:
            return None
        return self.value

    def __repr__(self) -> str:
        reduced = "" if self.original is None else f" reduced from {self.original}"
        return f"<Limit {'∞' if self.value is None else self.value}{reduced}>"
