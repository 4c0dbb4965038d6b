# One slot or one place in the queue, in words.
#
# Rule 1: what an older proxy does not say is left out.
# Rule 2: the page has the same words; a word that the admin API uses for programs is never shown alone.

from typing import Any

from proxy.cli.lengths import estimate, span

Entry = dict[str, Any]

PHASES = {"connecting": "connecting", "waiting": "sent", "streaming": "streaming", "cooling": "rests"}
_UNITS = (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024))


def who(entry: Entry) -> str:
    conversation = entry.get("conversationId")
    return f"{entry['workspaceId']} ({conversation})" if conversation else str(entry["workspaceId"])


def queue(entry: Entry) -> str:
    """How many wait at a provider."""
    count = entry["queued"]
    return "nobody waits" if not count else "1 waits" if count == 1 else f"{count} wait"


def why(waiter: Entry) -> str:
    """What its place comes from."""
    return str(waiter.get("why") or ("starred" if waiter["starred"] else ""))


def expected(waiter: Entry) -> str:
    """How long it will wait from now on; "" where nobody knows."""
    wait_ms = waiter.get("expectedWaitMs")
    return "" if wait_ms is None else estimate(wait_ms)


def phase(slot: Entry) -> str:
    return PHASES.get(slot["phase"], str(slot["phase"]))


def held_for(slot: Entry, now_ms: int) -> str:
    return span(now_ms - slot["grantedAt"])


def silent_for(slot: Entry, now_ms: int) -> str:
    return span(now_ms - slot["lastByteAt"])


def size(count: int) -> str:
    for unit, least in _UNITS:
        if count >= least:
            return f"{count / least:.1f} {unit}"
    return f"{count} B"
