# What a provider does just now and why, in words: the state column of `slotgate status`. Why one waits, the API says.
#
# Rule 1: only what the other columns do not show; a word that the admin API uses for programs is never shown alone.
# Rule 2: a number says of how many, a time says since when or for how long.

from collections.abc import Iterator
from typing import Any

from proxy.service.words import CAUSES

Entry = dict[str, Any]

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
    if overloaded := _overloaded(entry, now_ms):
        yield overloaded
    if waits := _waits(entry):
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


def _waits(entry: Entry) -> str:
    """Why the first one waits, where the other columns do not say it."""
    reason = entry.get("waitsFor")
    return "" if not reason or reason["code"] in ("pause", "slot") else str(reason["words"])
