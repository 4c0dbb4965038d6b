# Who is next: (workspace is not starred, prompt start, arrival sequence), read when a slot can be given.
#
# Rule 1: a workspace has one heap of its waiters, and one heap over the workspaces holds each one's first waiter. A
#         star moves a workspace, not its waiters, so it costs O(log n) however many of them there are.
# Rule 2: deletion is lazy. An entry is live only while its ticket waits, stands first in its workspace and carries the
#         workspace's present star. Dead ones go when they surface, or all at once when they outnumber the live.
# Rule 3: every workspace with a waiter has its first waiter's entry in `_heads`. Whoever changes a first, adds one.

from collections import OrderedDict
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush

from proxy.core.model import Ticket

_SLACK = 64  # dead entries allowed beyond the live ones before a heap is rebuilt: keeps rebuilding amortised O(1)


class Waitlist:
    """The waiters of one provider. `stars` is the live set of starred workspaces; its owner calls `star_changed`."""

    def __init__(self, stars: AbstractSet[str]) -> None:
        self._stars = stars
        self._live: OrderedDict[int, Ticket] = OrderedDict()  # by the time they queued
        self._rooms: dict[str, list[tuple[int, int]]] = {}  # workspace -> heap of (prompt start, id)
        self._counts: dict[str, int] = {}  # workspace -> live waiters
        self._heads: list[tuple[bool, int, int, str]] = []  # (not starred, prompt start, id, workspace)

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, ticket: Ticket) -> bool:
        return self._live.get(ticket.id) is ticket

    def __repr__(self) -> str:
        return f"<Waitlist {len(self._live)} waiting in {len(self._counts)} workspaces>"

    def add(self, ticket: Ticket) -> None:
        """Let `ticket` wait; it must not be waiting already."""
        workspace = ticket.workspace
        room = self._rooms.setdefault(workspace, [])
        entry = (ticket.prompt_started_at, ticket.id)
        self._live[ticket.id] = ticket
        self._counts[workspace] = self._counts.get(workspace, 0) + 1
        heappush(room, entry)
        if room[0] is entry:
            self._announce(workspace)

    def remove(self, ticket: Ticket) -> bool:
        """Take `ticket` out, wherever it stands; False if it was not waiting."""
        if ticket not in self:
            return False
        del self._live[ticket.id]
        workspace = ticket.workspace
        count = self._counts[workspace] - 1
        if not count:
            del self._counts[workspace], self._rooms[workspace]
            return True
        self._counts[workspace] = count
        room = self._rooms[workspace]
        if room[0][1] == ticket.id:
            while room[0][1] not in self._live:
                heappop(room)
            self._announce(workspace)
        elif len(room) > 2 * count + _SLACK:
            room[:] = [entry for entry in room if entry[1] in self._live]
            heapify(room)
        return True

    def first(self) -> Ticket | None:
        """Whose turn it is, or None."""
        heads = self._heads
        while heads:
            not_starred, _, ticket_id, workspace = heads[0]
            room = self._rooms.get(workspace)
            if room and room[0][1] == ticket_id and (workspace in self._stars) is not not_starred:
                return self._live[ticket_id]
            heappop(heads)
        return None

    def longest(self) -> Ticket | None:
        """The waiter that queued before all others, or None: the first to lose its patience."""
        return next(iter(self._live.values()), None)

    def star_changed(self, workspace: str) -> None:
        """The star of `workspace` was set or taken: its waiters move now."""
        if workspace in self._rooms:
            self._announce(workspace)

    def count(self, workspace: str) -> int:
        """How many of this workspace wait."""
        return self._counts.get(workspace, 0)

    def workspaces(self) -> AbstractSet[str]:
        """The workspaces that have a waiter."""
        return self._counts.keys()

    def get(self, ticket_id: int) -> Ticket | None:
        """The waiter of this id, or None."""
        return self._live.get(ticket_id)

    def ordered(self) -> list[Ticket]:
        """Every waiter in the order of service: O(n log n), for pages and for the end of a queue."""
        return sorted(self._live.values(), key=lambda ticket: (ticket.workspace not in self._stars, ticket.order))

    def _announce(self, workspace: str) -> None:
        prompt_started_at, ticket_id = self._rooms[workspace][0]
        heappush(self._heads, (workspace not in self._stars, prompt_started_at, ticket_id, workspace))
        if len(self._heads) > 2 * len(self._rooms) + _SLACK:
            self._heads = [(name not in self._stars, *room[0], name) for name, room in self._rooms.items()]
            heapify(self._heads)
