# What the last requests of one provider say about the next: who comes back with the same prompt, and when.
#
# Rule 1: most calls of an agent are followed by another of the same prompt, as soon as its tools have worked; and that
#         one goes before everybody whose prompt is younger. Who leaves that out tells people a fraction of their wait.
# Rule 2: the first call of a prompt is one that nothing of the same turn comes before, as far back as is known. So far
#         back turns that had begun before look new, too: there only who came as its prompt began counts.
# Rule 3: who has a star now counts as starred then: the next prompts are what is asked about.

from collections.abc import Collection, Set
from math import inf
from typing import NamedTuple

from proxy.core.model import Slot, Ticket

_BEGAN_S = 1.0  # a prompt that began so shortly before its request came began with it
_AWAY = 3.0  # times as long as usual: who has not come back then will not

Turn = tuple[str | None, int]


class Past(NamedTuple):
    """`returns`: the share of calls that another of the same prompt follows, which comes `gap_s` after the end of it.
    `gone`: of those who may be back soon, the last call and its end. `starred_s`: how long after one another starred
    workspaces begin prompts; inf: they do not."""

    returns: float
    gap_s: float
    gone: list[tuple[Ticket, float]]
    starred_s: float


def past(ended: Collection[tuple[float, Slot]], stars: Set[str], here: set[Turn], now: float, now_ms: int) -> Past:
    """From slots that were given back and how long each was held, in that order. `here` are the turns of those who hold
    or wait; `now_ms` is `now` as epoch milliseconds."""
    last: dict[Turn, tuple[Ticket, float]] = {}
    gaps_s: list[float] = []
    began = starred = 0
    since = now
    for number, (held_s, slot) in enumerate(ended):
        ticket, turn = slot.ticket, turn_of(slot.ticket)
        came_at = ticket.queued_at or slot.granted_at
        since = min(since, came_at)
        with_its_prompt = came_at - now <= (ticket.prompt_started_at - now_ms) / 1000 + _BEGAN_S
        if ticket.conversation is None and with_its_prompt:
            began += 1
            starred += ticket.workspace in stars
            continue  # one by itself: others may have come in the same millisecond
        if turn in last:
            gaps_s.append(max(0.0, came_at - last[turn][1]))
        elif with_its_prompt or number >= len(ended) // 2:
            began += 1
            starred += ticket.workspace in stars
        last[turn] = (ticket, slot.granted_at + held_s)
    gap_s = sum(gaps_s) / len(gaps_s) if gaps_s else 0.0
    return Past(
        returns=1 - (began + 1) / (len(ended) + 1),  # never all: somebody is done some day
        gap_s=gap_s,
        gone=[one for turn, one in last.items() if turn not in here and now - one[1] < _AWAY * gap_s],
        starred_s=(now - since) / starred if starred else inf,
    )


def turn_of(ticket: Ticket) -> Turn:
    """What the calls of one prompt have in common."""
    return ticket.conversation, ticket.prompt_started_at
