# The turns of one provider's agents at all replicas, so that an agent keeps its prompt's place whichever of them its
# requests go through.
#
# Rule 1: each replica's tracker is told of every request of a conversation, as it begins and as it ends, here or
#         elsewhere; so all of them say the same, but for what is on its way.
# Rule 2: a turn that nobody ends would keep its agent in front for ever. So those of a replica that is gone end, and
#         all of them where word of an end may have been lost.

import json
from collections.abc import Callable, Iterable
from typing import Any

from proxy.core.model import Ticket
from proxy.core.turns import OpenRequest, TurnHints, Turns
from proxy.service.admission import TICKETS


class SharedTurns:
    """`turns` is the tracker of the process, `say` tells the other replicas."""

    def __init__(
        self, provider_id: str, turns: Turns, *, now: Callable[[], float], say: Callable[[str, str], None]
    ) -> None:
        self._provider_id = provider_id
        self._turns = turns
        self._now = now
        self._say = say
        self._elsewhere: dict[int, OpenRequest] = {}  # by the request's id, which says its replica

    def __repr__(self) -> str:
        return f"<SharedTurns {self._provider_id} {len(self._elsewhere)} open elsewhere>"

    def begun(self, ticket: Ticket, hints: TurnHints, stated_ms: int | None, now_ms: int) -> None:
        """A request was given to the tracker here."""
        if ticket.conversation is not None:
            self._say("turn", json.dumps([ticket.id, ticket.conversation, hints, stated_ms, now_ms]))

    def ended(self, ticket: Ticket, *, answered: bool) -> None:
        """It has ended there."""
        if ticket.conversation is not None:
            self._say("turn", json.dumps([ticket.id, answered]))

    def overheard(self, text: str) -> None:
        """What another replica has said."""
        ticket_id, said, *more = json.loads(text)
        if isinstance(said, bool):
            self._end(ticket_id, answered=said)
        elif ticket_id not in self._elsewhere:
            self._begin(ticket_id, said, *more)

    def forget(self) -> None:
        """Word of their ends may have been lost."""
        for ticket_id in list(self._elsewhere):
            self._end(ticket_id)

    def forget_dead(self, living: Iterable[str]) -> None:
        """End those of replicas that are not among the `living`."""
        numbers = {replica.rpartition("-")[2] for replica in living}
        for ticket_id in list(self._elsewhere):
            if str(ticket_id // TICKETS) not in numbers:
                self._end(ticket_id)

    def _begin(self, ticket_id: int, conversation: str, hints: list[Any], stated_ms: int | None, now_ms: int) -> None:
        self._elsewhere[ticket_id] = self._turns.begin(
            self._provider_id, conversation, TurnHints(*hints), stated_ms=stated_ms, now=self._now(), now_ms=now_ms
        )

    def _end(self, ticket_id: int, *, answered: bool = False) -> None:
        opened = self._elsewhere.pop(ticket_id, None)
        if opened is not None:
            self._turns.end(opened, self._now(), answered=answered)
