# What a provider does just now and why, in words: the state column of `slotgate status`. The page has the same words.
#
# Rule 1: only what the other columns do not show; a word that the admin API uses for programs is never shown alone.
# Rule 2: a number says of how many, a time says since when or for how long.

from collections.abc import Iterator
from typing import Any

Entry = dict[str, Any]

CAUSES = {
    "operator": "by hand",
    "exhausted": "no requests left in this window",
    "concurrency": "too many at once",
    "rate": "too fast",
    "overload": "overloaded",
}
OVERLOAD_SHOWN_MS = 60_000  # nothing ends an overload, so it is news for as long as a pause for one may last
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000))


def states(entry: Entry, now_ms: int) -> list[str]:
    """Phrases about one entry of the status."""
    return list(_states(entry, now_ms))


def roughly(ms: int) -> str:
    """A length of time at a glance: `56s`, `29m`, `3h`, `2d`; two of a unit at least."""
    for unit, unit_ms in _UNITS:
        if ms >= 2 * unit_ms:
            return f"{ms / unit_ms:.0f}{unit}"
    return f"{max(ms, 0) / 1000:.0f}s"


def _states(entry: Entry, now_ms: int) -> Iterator[str]:
    if entry["paused"]:
        cause = entry.get("pauseCause")
        why = "" if cause is None else f" ({CAUSES.get(cause, cause)})"
        yield f"paused for {roughly(entry.get('pausedUntil', now_ms) - now_ms)}{why}"
    if entry["autoReduced"]:
        yield f"reduced from {entry['autoReducedFrom']}"
    if "restoreAt" in entry:
        yield f"one step up in {roughly(entry['restoreAt'] - now_ms)}"
    if quota := entry.get("quota"):
        wait_ms = quota["retryAfterMs"]
        wait = "" if wait_ms is None else f" (retry after {roughly(wait_ms)})"
        yield f"quota used up {roughly(now_ms - quota['at'])} ago{wait}"
    overloaded = _overloaded(entry, now_ms)
    if overloaded:
        yield overloaded
    if waits := _waits(entry, rests=bool(overloaded)):
        yield waits
    if (expected_ms := entry.get("expectedWaitMs")) and entry["queued"]:
        yield f"a newcomer would wait {roughly(expected_ms)}"
    if entry.get("externalUse"):
        yield f"others use {entry['externalUse']}"
    strikes = entry.get("strikes")
    if strikes and strikes["allowed"] is not None:
        yield f"{strikes['today']} of {strikes['allowed']} strikes today"


def _overloaded(entry: Entry, now_ms: int) -> str:
    seen = entry.get("lastRateLimit")
    if not seen or seen["kind"] != "overload" or entry.get("pauseCause") == "overload":
        return ""
    ago_ms = now_ms - seen["at"]
    return f"overloaded {roughly(ago_ms)} ago" if ago_ms < OVERLOAD_SHOWN_MS else ""


def _waits(entry: Entry, *, rests: bool) -> str:
    """Why the first one waits, where the rest does not say it yet; "" where nobody does. `rests`: somebody may, who was
    refused for an overload and is to be sent again."""
    if "waitsFor" in entry:
        reason = entry["waitsFor"]
        return "" if reason is None or entry["paused"] or reason["code"] == "slot" else str(reason["words"])
    limit, gate = entry["limit"], entry.get("gate")
    if not entry["queued"] or entry["paused"] or limit is None or entry["inFlight"] >= limit:
        return ""
    if "fewLeftUntil" in entry:
        return "few requests left in this window: an answer is awaited"
    if gate is not None and gate["error"] is not None:
        return f"the provider does not tell its count: {gate['error']}"
    if gate is not None and gate["observed"] >= limit:
        return f"the provider counts {gate['observed']} of {limit}"
    if rests:
        return ""
    if gate is not None:
        return "the provider is asked first"
    # The first poll of all has no result yet either, but a refusal is rarely before it.
    return "one goes ahead alone" if entry.get("lastRateLimit") else ""
