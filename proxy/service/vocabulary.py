# What everything that happens is called: in the events of spec §14, in the log, and with which fields.
#
# Rule 1: one row for each effect; one without a row is a bug and raises.
# Rule 2: a field has one name in the log (snake_case) and one in JSON; `until` is epoch milliseconds here.
# Rule 3: fields are made late, so a row reads only what no longer changes: never a slot's phase or bytes.

from collections.abc import Callable
from logging import DEBUG, ERROR, INFO, WARNING
from typing import Any, NamedTuple

from proxy.core.model import (
    CooldownSet,
    Granted,
    Left,
    LimitSet,
    Paused,
    Queued,
    RateLimited,
    Reclaimed,
    Reduced,
    Refused,
    Released,
    Resumed,
    Ticket,
)
from proxy.service.clock import Clock, whole_ms

Fields = dict[str, object]


class Words(NamedTuple):
    """One thing that can happen. `event` is its name in the stream (None: it is not told there), `line` its name in
    the log."""

    event: str | None
    line: str
    level: int

    @property
    def of_a_request(self) -> bool:
        """Whether it is a step of one request. Everything else changes a state that outlasts requests: it is always
        logged, and its event is kept in the history."""
        return self.level <= DEBUG


STARRED = Words("starred", "workspace.starred", INFO)
RELOADED = Words("reloaded", "config.reloaded", INFO)
NOT_RELOADED = Words("reloaded", "config.rejected", ERROR)

EFFECTS: dict[type, tuple[Words, Callable[[Any, Clock], Fields]]] = {
    Queued: (
        Words("queued", "queue.joined", DEBUG),
        lambda e, _: {**_who(e.ticket), "prompt_started_at": e.ticket.prompt_started_at},
    ),
    Granted: (
        Words("granted", "slot.granted", DEBUG),
        lambda e, _: {**_who(e.ticket), "waited_ms": whole_ms(e.waited_s)},
    ),
    Released: (
        Words("released", "slot.released", DEBUG),
        lambda e, _: {**_who(e.slot.ticket), "held_ms": whole_ms(e.held_s)},
    ),
    Left: (
        Words("left", "queue.left", DEBUG),
        lambda e, _: {**_who(e.ticket), "waited_ms": whole_ms(e.waited_s)},
    ),
    Refused: (
        Words("refused", "queue.refused", DEBUG),
        lambda e, _: {**_who(e.ticket), "code": e.code},
    ),
    Reclaimed: (
        Words("reclaimed", "slot.reclaimed", WARNING),
        lambda e, _: {**_who(e.slot.ticket), "why": e.why, "after_ms": whole_ms(e.after_s)},
    ),
    RateLimited: (
        Words("rate_limited", "provider.rate_limited", WARNING),
        lambda e, _: {
            **_who(e.ticket),
            "status": e.limit.status,
            "kind": str(e.limit.kind),
            "retry_after_ms": e.limit.retry_after_ms,
            "in_flight": e.limit.in_flight,
        },
    ),
    Paused: (
        Words("paused", "provider.paused", WARNING),
        lambda e, clock: {"cause": str(e.cause), "until": clock.to_wall_ms(e.until_at)},
    ),
    Resumed: (
        Words("resumed", "provider.resumed", INFO),
        lambda e, _: {"cause": e.cause},
    ),
    Reduced: (
        Words("reduced", "provider.reduced", WARNING),
        lambda e, _: {"limit": e.limit, "original_limit": e.original, "notice": e.notice},
    ),
    LimitSet: (
        Words("limit_set", "provider.limit_set", INFO),
        lambda e, _: {"limit": e.limit, "by": e.by},
    ),
    CooldownSet: (
        Words(None, "provider.cooldown_set", INFO),
        lambda e, _: {"cooldown_ms": whole_ms(e.cooldown_s), "by": e.by},
    ),
}

_IN_JSON = {
    "workspace": "workspaceId",
    "conversation": "conversationId",
    "prompt_started_at": "promptStartedAt",
    "waited_ms": "waitedMs",
    "held_ms": "heldMs",
    "after_ms": "afterMs",
    "retry_after_ms": "retryAfterMs",
    "in_flight": "inFlight",
    "original_limit": "originalLimit",
    "needs_restart": "needsRestart",
}


def in_json(fields: Fields) -> Fields:
    """The same fields by their names in JSON."""
    return {_IN_JSON.get(name, name): value for name, value in fields.items()}


def _who(ticket: Ticket) -> Fields:
    # An id is a string in JSON, as in /concurrency/slots: nobody shall calculate with it.
    return {"id": str(ticket.id), "workspace": ticket.workspace, "conversation": ticket.conversation}
