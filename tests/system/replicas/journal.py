# What the clients and the upstream of a storm saw, and what of it must not have been: the judge of a storm.
#
# Rule 1: it knows who was asked, who came to the upstream and who left, with times; nothing from within the replicas.
# Rule 2: an inversion is an older prompt that waited while a younger one went. It is counted only in the calm: for
#         SETTLED_S nothing had happened to Redis or a replica, and for as long the older one had waited. So much is
#         allowed for a grant that was decided before an arrival, and for telling a new Redis who waits. Those who are
#         let go together come within TOGETHER_S of each other, in any order.
# Rule 3: a slot is lost when one is idle while somebody waits, later than a lease after the last death.

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from blackbox.call import now

from replicas.fleet import LEASE, NOTICED

SETTLED_S = 1.5
TOGETHER_S = 0.5
IDLE_S = 2.0  # for so long a slot may be idle in the calm: on a busy machine a hop takes its time


@dataclass(slots=True, eq=False)
class Ask:
    """One request of a client: `replica` is the number of the one that it asked."""

    name: str
    replica: int
    prompt: int
    sent_at: float
    went_at: float | None = None  # it came to the upstream
    over_at: float | None = None


@dataclass(slots=True)
class Journal:
    limit: int
    clock: Callable[[], float] = now
    asks: int = 0
    over: int = 0  # at the upstream, above the limit
    peak: int = 0
    lost: int = 0
    twice: int = 0  # sent to the upstream more than once
    strange: list[str] = field(default_factory=list)  # answers that nothing explains
    outcomes: Counter[str] = field(default_factory=Counter)
    troubles: Counter[str] = field(default_factory=Counter)
    story: list[str] = field(default_factory=list)  # of the troubles, with the time that the logs have
    _overtaken: list[tuple[Ask, Ask]] = field(default_factory=list)  # the older one, and who went while it waited
    _by_name: dict[str, Ask] = field(default_factory=dict)
    _waiting: set[Ask] = field(default_factory=set)
    _calm_at: float = 0.0  # when the last trouble had passed
    _mourning_until: float = 0.0
    _idle_since: float | None = None

    # --- what happened ---------------------------------------------------------------------------------------------

    def asked(self, ask: Ask) -> None:
        self.asks += 1
        self._by_name[ask.name] = ask
        self._waiting.add(ask)

    def went(self, name: str) -> None:
        """The request of that name came to the upstream."""
        ask = self._by_name[name]
        self.twice += ask.went_at is not None
        ask.went_at = self.clock()
        self._waiting.discard(ask)
        if ask.went_at - self._calm_at > SETTLED_S:
            self._overtaken += [(one, ask) for one in self._waiting if self._older(one, ask)]

    def _older(self, one: Ask, ask: Ask) -> bool:
        assert ask.went_at is not None
        return one.prompt < ask.prompt and ask.went_at - one.sent_at > SETTLED_S

    def over_with(self, ask: Ask, outcome: str) -> None:
        ask.over_at = self.clock()
        self.outcomes[outcome] += 1
        self._waiting.discard(ask)

    def open_now(self, count: int) -> None:
        """So many are open at the upstream, as one more came."""
        self.peak = max(self.peak, count)
        self.over += count > self.limit
        if count > self.limit and self.over < 3:
            self.story.append(f"{datetime.now(UTC):%H:%M:%S.%f} over the limit")

    # --- what was done to them -------------------------------------------------------------------------------------

    def trouble(self, kind: str) -> None:
        """It begins; nothing is calm until it has `passed`."""
        self.troubles[kind] += 1
        self.story.append(f"{datetime.now(UTC):%H:%M:%S.%f} {kind}")
        self._calm_at = float("inf")

    def passed(self, *, died: bool = False, forgot: bool = False) -> None:
        """The trouble is over. `died`: a replica did, and is mourned for a lease; `forgot`: a new Redis mourns anew
        those who were mourned."""
        self._calm_at = self.clock()
        if died or (forgot and self.clock() < self._mourning_until):
            self._mourning_until = self.clock() + LEASE + NOTICED

    # --- what must not be ------------------------------------------------------------------------------------------

    def look(self, open_now: int) -> None:
        """Called many times a second: is a slot idle while somebody waits?"""
        at = self.clock()
        waits = any(at - ask.sent_at > SETTLED_S for ask in self._waiting)
        excused = at < max(self._calm_at + NOTICED, self._mourning_until)
        if excused or not waits or open_now >= self.limit:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = at
        elif at - self._idle_since > IDLE_S:
            self.lost += 1
            self._idle_since = at

    @property
    def inversions(self) -> list[str]:
        """As far as they are known to be some: who was overtaken must not have gone at once, nor left."""
        return [f"{ask} went before {one}" for one, ask in self._overtaken if self._was_late(one, ask)]

    def _was_late(self, one: Ask, ask: Ask) -> bool:
        end = one.went_at or one.over_at or self.clock()
        assert ask.went_at is not None
        return end - ask.went_at > TOGETHER_S

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def faults(self) -> dict[str, object]:
        """Everything that must not have been; empty if all was well."""
        found = {
            "over the limit": self.over,
            "slots lost past a lease": self.lost,
            "order inversions": self.inversions,
            "sent twice": self.twice,
            "answers that nothing explains": self.strange,
        }
        return {what: seen for what, seen in found.items() if seen}

    def __str__(self) -> str:
        return "\n".join(
            [
                f"requests                 {self.asks}: {_counted(self.outcomes)}",
                f"troubles                 {_counted(self.troubles)}",
                f"most open at once        {self.peak} of {self.limit}",
                f"over the limit           {self.over}",
                f"slots lost past a lease  {self.lost}",
                f"order inversions         {len(self.inversions)}",
                f"sent twice               {self.twice}",
                f"unexplained answers      {len(self.strange)}",
                *(self.story if self.faults else []),
                *self.inversions[:5],
                *self.strange[:5],
            ]
        )


def _counted(what: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in what.most_common())
