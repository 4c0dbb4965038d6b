# What the first in the queue waits for: why it is not let in at this moment.
#
# Rule 1: it is told from the state alone, and nothing is decided by it: what lets a waiter go is in queue.py. Who
#         changes the one looks at the other.
# Rule 2: of several obstacles it is the one without which the others would not help: a pause before the slots, the
#         slots before what the provider says.
# Rule 3: all that a person is told is here as facts; the words are elsewhere.

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxy.core.queue import Queue  # the words about obstacles are also the command line's, which has no queue

# A number that a poll gave is the reason for as long as it takes to ask again. A timer may be late, and an answer too.
_INTERVALS_TRUE = 2


class Code(StrEnum):
    """Each is a name in the admin API."""

    PAUSE = "pause"
    REST = "rest"  # all who wait were refused, and are to be sent again later
    SLOT = "slot"
    COOLDOWN = "cooldown"
    PROBE = "probe"  # somebody has gone alone after a pause
    ALLOWANCE = "allowance"  # the provider said how few it takes, and they have gone
    GATE = "gate"  # the provider counts as many as it takes
    GATE_UNKNOWN = "gate_unknown"
    GATE_ASKED = "gate_asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """`until_at` is when time alone ends it, None where time does not; of GATE_ASKED when the provider will be asked,
    None: it is being asked. `count` is of the slots that are held, or of what the provider counts, beside `limit`.
    `cause` is of a pause, or why a poll told nothing."""

    code: Code
    until_at: float | None = None
    count: int = 0
    limit: int = 0
    cause: str = ""


def obstacle(queue: "Queue", now: float) -> Obstacle | None:
    """None: nobody waits."""
    waiting, pause = queue.waiting, queue.pause
    if not waiting:
        return None
    if pause.until_at is not None:
        return Obstacle(code=Code.PAUSE, until_at=pause.until_at, cause=pause.cause or "")
    if not waiting.ready:
        return Obstacle(code=Code.REST, until_at=waiting.next_wake_at)
    return _slots_in_use(queue) or _provider_first(queue, now)


def _slots_in_use(queue: "Queue") -> Obstacle | None:
    slots, limit = queue.slots, queue.limit.value
    if limit is None:
        return None
    if slots.held >= limit:
        return Obstacle(code=Code.SLOT, count=slots.held, limit=limit)
    resting = slots.resting()
    too_many = slots.held + len(resting) - limit
    if too_many >= 0:
        return Obstacle(code=Code.COOLDOWN, until_at=resting[too_many].cooled_at)
    return None


def _provider_first(queue: "Queue", now: float) -> Obstacle | None:
    """There is a free slot, but the provider has to say something before it is given."""
    if queue.pause.blocks:
        return Obstacle(code=Code.PROBE, until_at=queue.pause.probe_until_at)
    if queue.slots.grants >= queue.allowance.last_grant:
        return Obstacle(code=Code.ALLOWANCE, until_at=queue.allowance.until_at)
    # A poll that runs keeps its slot, also where the gate was taken away meanwhile.
    return _gate(queue, now) if queue.gated or queue.gate.polling else None


def _gate(queue: "Queue", now: float) -> Obstacle:
    gate, limit = queue.gate, queue.limit.value or 0
    reading, asked_at = gate.reading, gate.began_at if gate.polling else now
    if reading is not None and asked_at - gate.ended_at <= _INTERVALS_TRUE * (queue.policy.gate_interval_s or 0.0):
        if reading.error is not None:
            return Obstacle(code=Code.GATE_UNKNOWN, cause=reading.error)
        # Where a slot became free since, that is the news that the provider is asked about.
        if gate.slot is None and reading.observed is not None and not queue.limit.has_room(gate.counted or 0):
            return Obstacle(code=Code.GATE, count=reading.observed, limit=limit)
    return Obstacle(code=Code.GATE_ASKED, until_at=None if gate.polling else gate.next_poll_at)
