# What a provider does just now and why, in words: the state column of `slotgate status`. Why one waits, the API says.
#
# Rule 1: only what the other columns do not show; a word that the admin API uses for programs is never shown alone.
# Rule 2: a number says of how many, a time says since when or for how long.

from collections.abc import Iterator
from typing import Any

from proxy.cli.lengths import ago, estimate, span
from proxy.service.words import CAUSES

Entry = dict[str, Any]

KINDS = {**CAUSES, "quota": "quota used up", "none": "no limit named"}
REFUSAL_SHOWN_MS = 3_600_000  # what a refusal leads to may be over sooner, its reason is not


def states(entry: Entry, now_ms: int) -> list[str]:
    """Phrases about one entry of the status."""
    return list(_states(entry, now_ms))


def refusal(seen: Entry) -> str:
    """What a provider answered: `429 too fast, retry after 8 s`."""
    answer = f"inside a {seen['status']}:" if seen["status"] < 400 else str(seen["status"])
    wait_ms = seen["retryAfterMs"]
    wait = "" if wait_ms is None else f", retry after {span(wait_ms)}"
    return f"{answer} {KINDS.get(seen['kind'], seen['kind'])}{wait}"


def lately_refused(entry: Entry, now_ms: int) -> bool:
    """Whether the last refusal is still news."""
    seen = entry.get("lastRateLimit")
    return seen is not None and now_ms - seen["at"] < REFUSAL_SHOWN_MS


def _states(entry: Entry, now_ms: int) -> Iterator[str]:
    if entry["paused"]:
        cause = entry.get("pauseCause")
        why = "" if cause is None else f" ({CAUSES.get(cause, cause)})"
        yield f"paused for {span(entry.get('pausedUntil', now_ms) - now_ms)}{why}"
    if entry["autoReduced"]:
        yield f"reduced from {entry['autoReducedFrom']}"
    if "restoreAt" in entry:
        yield f"goes up by one by itself in {span(entry['restoreAt'] - now_ms)}"
    quota = entry.get("quota")
    if quota:
        wait_ms = quota["retryAfterMs"]
        wait = "" if wait_ms is None else f" (retry after {span(wait_ms)})"
        yield f"quota used up {ago(now_ms - quota['at'])}{wait}"
    yield from _waiting(entry)
    yield from _counted(entry, now_ms)
    yield from _strikes(entry)
    if lately_refused(entry, now_ms) and not (quota and quota["at"] == entry["lastRateLimit"]["at"]):
        seen = entry["lastRateLimit"]
        yield f"refused {ago(now_ms - seen['at'])}: {refusal(seen)}"


def _waiting(entry: Entry) -> Iterator[str]:
    """Why the first one waits, where nothing else here says it, and how long a newcomer would."""
    reason = entry.get("waitsFor")
    if reason and not (reason["code"] == "pause" and entry["paused"]) and reason["code"] != "gate_unknown":
        yield str(reason["words"])
    if (expected_ms := entry.get("expectedWaitMs")) and entry["queued"]:
        yield f"a newcomer would wait about {estimate(expected_ms)}"


def _counted(entry: Entry, now_ms: int) -> Iterator[str]:
    """What the provider itself counts."""
    if gate := entry.get("gate"):
        counted, at = gate["observed"], ago(now_ms - gate["at"])
        if gate["error"] is not None:
            last = "" if counted is None else f" (it was {counted}, {at})"
            yield f"the provider does not tell its count: {gate['error']}{last}"
        elif entry["queued"] and (entry.get("waitsFor") or {}).get("code") != "gate":
            yield f"the provider counted {counted}, {at}"
    if entry.get("externalUse"):
        yield f"others use {entry['externalUse']}"


def _strikes(entry: Entry) -> Iterator[str]:
    seen = entry.get("strikes")
    if seen and seen["today"]:
        of = "" if seen["allowed"] is None else f" of {seen['allowed']}"
        one = seen["today"] == 1 and not of
        yield f"{seen['today']}{of} {'strike' if one else 'strikes'} today"
