# Who is next: (workspace is not starred, prompt start, arrival sequence), read when a slot can be given.
#
# Rule 1: a workspace has one heap of its waiters, its room, and one heap over the rooms holds each one's first waiter.
#         A star moves a room, not its waiters, so it costs O(log n) however many of them there are.
# Rule 2: a room's first waiter is always live, and its head is among `_heads`. Whoever changes a first, announces it.
# Rule 3: other deletion is lazy. A head is live only while its ticket stands first in its room and carries the
#         workspace's present star. Dead entries go when they surface, or all at once when they outnumber the live.
# Rule 4: whoever rests waits like the others, in its place, but cannot be next before its time.
# Rule 5: prompt start and id are one integer in the heaps: half the memory, and half the time of a comparison of
#         tuples where 100,000 wait.

from collections import OrderedDict
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush, heapreplace
from math import inf

from proxy.core.model import Ticket

_SLACK = 64  # dead entries allowed beyond the live ones before a heap is rebuilt: keeps rebuilding amortised O(1)
_ID_BITS = 64
_ID = (1 << _ID_BITS) - 1


class _Room:
    """The waiters of one workspace: a heap of their keys, some of which may be dead, and how many are live."""

    __slots__ = ("keys", "live")

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.live = 0


class Waitlist:
    """The waiters of one provider, by id: those who are `ready` to be next, by the time they queued, and those who are
    `resting`. `stars` is the live set of starred workspaces; its owner calls `star_changed`."""

    __slots__ = ("_heads", "_rests", "_rooms", "ready", "resting", "stars")

    def __init__(self, stars: AbstractSet[str]) -> None:
        self.stars = stars
        self.ready: OrderedDict[int, Ticket] = OrderedDict()
        self._rooms: dict[str, _Room] = {}  # only those with a live waiter
        self._heads: list[tuple[bool, int]] = []  # heap of (not starred, key of a room's first)
        self.resting: dict[int, Ticket] = {}
        self._rests: list[tuple[float, int]] = []  # heap of (end of the rest, id), some of which have left

    def __len__(self) -> int:
        return len(self.ready) + len(self.resting)

    def __contains__(self, ticket: Ticket) -> bool:
        return self.get(ticket.id) is ticket

    def __repr__(self) -> str:
        resting = f", {len(self.resting)} of them resting" if self.resting else ""
        return f"<Waitlist {len(self)} waiting in {len(self.workspaces())} workspaces{resting}>"

    def add(self, ticket: Ticket) -> None:
        """Let `ticket` wait; it must not be waiting already."""
        room = self._rooms.get(ticket.workspace)
        if room is None:
            room = self._rooms[ticket.workspace] = _Room()
        key = ticket.prompt_started_at << _ID_BITS | ticket.id
        self.ready[ticket.id] = ticket
        heappush(room.keys, key)
        room.live += 1
        if room.keys[0] == key:
            self._announce(ticket.workspace, key)

    def rest(self, ticket: Ticket, until_at: float) -> None:
        """Let `ticket` wait, but not be next before `until_at`; then it is to be woken, and added."""
        self.resting[ticket.id] = ticket
        heappush(self._rests, (until_at, ticket.id))

    def woken(self, now: float) -> Ticket | None:
        """Take out one whose rest is over at `now`; None if there is none."""
        if self.next_wake_at > now:
            return None
        return self.resting.pop(heappop(self._rests)[1])

    def rests(self) -> dict[int, float]:
        """When the rest of each who rests ends, by id."""
        return {ticket_id: at for at, ticket_id in self._rests if ticket_id in self.resting}

    @property
    def next_wake_at(self) -> float:
        """When the next rest ends, or inf."""
        rests = self._rests
        while rests and rests[0][1] not in self.resting:
            heappop(rests)
        return rests[0][0] if rests else inf

    def first(self) -> Ticket | None:
        """Whose turn it is, or None."""
        heads = self._heads
        while heads:
            not_starred, key = heads[0]
            ticket = self.ready.get(key & _ID)
            if ticket is not None:
                workspace = ticket.workspace
                if self._rooms[workspace].keys[0] == key and (workspace in self.stars) is not not_starred:
                    return ticket
            heappop(heads)
        return None

    def take(self) -> Ticket | None:
        """Take out and return whose turn it is, or None."""
        ticket = self.first()
        if ticket is not None:
            del self.ready[ticket.id]
            room = self._rooms[ticket.workspace]
            room.live -= 1
            if room.live:
                # Its head is the least of all: the next one's takes that place, without a dead one in between.
                heapreplace(self._heads, (self._heads[0][0], self._advance(room)))
            else:
                del self._rooms[ticket.workspace]
                heappop(self._heads)
                self._sweep()
        return ticket

    def remove(self, ticket: Ticket) -> bool:
        """Take `ticket` out, wherever it stands; False if it was not waiting."""
        if self.resting and self.resting.get(ticket.id) is ticket:
            del self.resting[ticket.id]
            return True
        if self.ready.get(ticket.id) is not ticket:
            return False
        del self.ready[ticket.id]
        room = self._rooms[ticket.workspace]
        room.live -= 1
        if not room.live:
            del self._rooms[ticket.workspace]
            self._sweep()
        elif room.keys[0] & _ID == ticket.id:
            self._announce(ticket.workspace, self._advance(room))
        elif len(room.keys) > 2 * room.live + _SLACK:
            room.keys = [key for key in room.keys if key & _ID in self.ready]
            heapify(room.keys)
        return True

    def longest(self) -> Ticket | None:
        """The waiter that queued before all others, or None: the first to lose its patience. Who rests has it yet."""
        return next(iter(self.ready.values()), None)

    def star_changed(self, workspace: str) -> None:
        """The star of `workspace` was set or taken: its waiters move now."""
        room = self._rooms.get(workspace)
        if room is not None:
            self._announce(workspace, room.keys[0])

    def count(self, workspace: str) -> int:
        """How many of this workspace wait."""
        room = self._rooms.get(workspace)
        resting = sum(ticket.workspace == workspace for ticket in self.resting.values())
        return resting + (0 if room is None else room.live)

    def workspaces(self) -> AbstractSet[str]:
        """The workspaces that have a waiter."""
        return self._rooms.keys() | {ticket.workspace for ticket in self.resting.values()}

    def get(self, ticket_id: int) -> Ticket | None:
        """The waiter of this id, or None."""
        return self.ready.get(ticket_id) or self.resting.get(ticket_id)

    def ordered(self) -> list[Ticket]:
        """Every waiter in the order of service: O(n log n), for pages and for the end of a queue."""
        everybody = [*self.ready.values(), *self.resting.values()]
        return sorted(everybody, key=self.key)

    def key(self, ticket: Ticket) -> tuple[bool, int, int]:
        """What the order of service goes by, whether `ticket` waits or not."""
        return (ticket.workspace not in self.stars, ticket.prompt_started_at, ticket.id)

    def _advance(self, room: _Room) -> int:
        """The key of the first live waiter of `room`, after its former first has left."""
        keys = room.keys
        while keys[0] & _ID not in self.ready:
            heappop(keys)
        return keys[0]

    def _announce(self, workspace: str, key: int) -> None:
        heappush(self._heads, (workspace not in self.stars, key))
        self._sweep()

    def _sweep(self) -> None:
        if len(self._heads) > 2 * len(self._rooms) + _SLACK:
            self._heads = [(name not in self.stars, room.keys[0]) for name, room in self._rooms.items()]
            heapify(self._heads)
