# What the proxy says at one moment: everything that the screen shows.

from dataclasses import dataclass
from typing import Any

from proxy.cli.admin import Admin
from proxy.cli.failure import Failure
from proxy.service.clock import wall_ms

Entry = dict[str, Any]

_NOT_FOUND = 404
_NOBODY: Entry = {"slots": [], "waiters": []}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The answers of /status, /concurrency/status?all=1, and /concurrency/slots of those where anybody is."""

    proxy: Entry
    entries: list[Entry]
    places: dict[str, Entry]
    at_ms: int

    def slots(self, provider_id: str) -> list[Entry]:
        found: list[Entry] = self.places.get(provider_id, _NOBODY)["slots"]
        return found

    def waiters(self, provider_id: str) -> list[Entry]:
        found: list[Entry] = self.places.get(provider_id, _NOBODY)["waiters"]
        return found


def look(admin: Admin) -> Facts:
    """Asks; Failure where the proxy does not answer."""
    proxy = admin.get("status")
    entries = admin.get("concurrency", "status", query="?all=1")["providers"]
    places: dict[str, Entry] = {}
    for entry in entries:
        if entry["inFlight"] or entry["queued"]:
            try:
                places[entry["providerId"]] = admin.get("concurrency", "slots", entry["providerId"])
            except Failure as failure:
                if failure.status != _NOT_FOUND:  # it went meanwhile
                    raise
    clocks = [place["now"] for place in places.values() if "now" in place]
    return Facts(proxy=proxy, entries=entries, places=places, at_ms=max(clocks, default=wall_ms()))
