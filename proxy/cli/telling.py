# An event in words, for `slotgate events`.
#
# Rule 1: an event of a newer proxy is shown all the same, as its JSON.

import json
from collections.abc import Callable, Mapping
from typing import Any

from proxy.cli.lengths import moment, span
from proxy.cli.sse import Event
from proxy.cli.states import refusal
from proxy.service.words import CAUSES

Data = Mapping[str, Any]


def told(event: Event) -> str:
    """One line."""
    data = event.data
    at = moment(data["at"])
    words = _WORDS.get(event.name)
    try:
        said = _rest(data) if words is None else words(data)
    except (KeyError, TypeError, ValueError):
        said = _rest(data)
    return f"{at:%H:%M:%S}  {event.name:<12}  {data.get('providerId') or '-'}  {said}".rstrip()


def _who(data: Data) -> str:
    conversation = data.get("conversationId")
    return f"{data['workspaceId']}" + (f" ({conversation})" if conversation else "")


def _rate_limited(data: Data) -> str:
    return f"{refusal(dict(data))}, {data['inFlight']} in flight: {_who(data)}"


def _paused(data: Data) -> str:
    until = moment(data["until"])
    return f"until {until:%H:%M:%S}: {CAUSES.get(data['cause'], data['cause'])}"


def _reloaded(data: Data) -> str:
    if data.get("error"):
        return "refused: " + "; ".join(str(data["error"]).splitlines())
    later = f"; only a restart changes {', '.join(data['needsRestart'])}" if data.get("needsRestart") else ""
    return (f"changed: {', '.join(data['changed'])}" if data["changed"] else "nothing changed") + later


def _rest(data: Data) -> str:
    return json.dumps({key: value for key, value in data.items() if key not in ("at", "providerId")})


_WORDS: Mapping[str, Callable[[Data], str]] = {
    "queued": lambda data: f"{_who(data)} waits",
    "granted": lambda data: f"{_who(data)} goes, after {span(data['waitedMs'])} in the queue",
    "released": lambda data: f"{_who(data)} has ended, after {span(data['heldMs'])} in the slot",
    "left": lambda data: f"{_who(data)} has left the queue after {span(data['waitedMs'])}",
    "refused": lambda data: f"{_who(data)}: {data['code']}",
    "reclaimed": lambda data: f"{_who(data)}: {data['why']}, after {span(data['afterMs'])}",
    "rate_limited": _rate_limited,
    "paused": _paused,
    "resumed": lambda data: f"goes on: the pause is over ({CAUSES.get(data['cause'], data['cause'])})",
    "reduced": lambda data: str(data["notice"] or f"limit {data['limit']}, was {data['originalLimit']}"),
    "limit_set": lambda data: f"{'unlimited' if data['limit'] is None else data['limit']}, by {data['by']}",
    "starred": lambda data: f"{data['workspaceId']} {'goes first' if data['starred'] else 'waits like others'}",
    "reloaded": _reloaded,
}
