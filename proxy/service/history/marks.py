# What happened at a provider, as marks on its plots: the events of its history in words. Pure.
#
# Rule: only numbers and our own words: nothing that a client chose is among them.

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from proxy.core.pause import OPERATOR
from proxy.service.words import CAUSES, lasting
from proxy.store import SavedEvent

Data = Mapping[str, Any]

EVENTS = ("rate_limited", "reduced", "paused", "resumed", "limit_set", "reclaimed")  # of which there are marks
KINDS = (*EVENTS, "restored")

_CAUSES = {**CAUSES, "quota": "the quota is used up", "none": "for no stated reason"}
_RESTORED = {"restore": "by hand", "auto_restore": "by itself"}
_SET_BY = {"file": "by the file", "learned": "as learned from refusals"}


class Mark(NamedTuple):
    """Something that happened at `at` (epoch milliseconds): its kind, one of KINDS, and a sentence for people."""

    at: int
    kind: str
    text: str


def mark(event: SavedEvent) -> Mark:
    """The mark of one of EVENTS."""
    restored = event.name == "limit_set" and event.data.get("by") in _RESTORED
    return Mark(event.at, "restored" if restored else event.name, _TEXTS[event.name](event.at, event.data))


def _rate_limited(_: int, data: Data) -> str:
    wait_ms = data.get("retryAfterMs")
    stated = "" if wait_ms is None else f", retry after {_span(wait_ms)}"
    status = data.get("status")
    where = "refused inside a 200" if status == 200 else f"refused with {status}"
    return f"{where}: {_cause(data.get('kind'))}{stated}; {data.get('inFlight')} in flight"


def _reduced(_: int, data: Data) -> str:
    return f"limit reduced to {data.get('limit')}; before the first refusal it was {data.get('originalLimit')}"


def _paused(at: int, data: Data) -> str:
    until = data.get("until")
    length = "" if until is None else f" for {_span(until - at)}"
    return f"paused{length}: {_cause(data.get('cause'))}"


def _resumed(_: int, data: Data) -> str:
    texts = {OPERATOR: "resumed by hand", "unlimited": "resumed: there is no limit any more"}
    return texts.get(str(data.get("cause")), "the pause is over")


def _limit_set(_: int, data: Data) -> str:
    limit, by = data.get("limit"), str(data.get("by"))
    if by in _RESTORED:
        return f"limit back up to {limit}, {_RESTORED[by]}"
    hand = _SET_BY.get(by, "by hand")
    return f"limit removed {hand}" if limit is None else f"limit set to {limit} {hand}"


def _reclaimed(_: int, data: Data) -> str:
    span = _span(data.get("afterMs") or 0)
    whys = {"silent": f"silent for {span}", "max_hold": f"held for {span}", OPERATOR: f"by hand after {span}"}
    whys["lease"] = f"its replica was not heard of, after {span}"
    return f"slot reclaimed: {whys.get(str(data.get('why')), 'it was stuck')}"


_TEXTS: Mapping[str, Callable[[int, Data], str]] = {
    "rate_limited": _rate_limited,
    "reduced": _reduced,
    "paused": _paused,
    "resumed": _resumed,
    "limit_set": _limit_set,
    "reclaimed": _reclaimed,
}


def _cause(kind: object) -> str:
    return _CAUSES.get(str(kind), "for another reason")


def _span(ms: float) -> str:
    return lasting(ms / 1000)
