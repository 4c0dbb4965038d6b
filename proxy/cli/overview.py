# Every provider at a glance, and what is wrong with the proxy if anything is: what `slotgate status` shows.
#
# Rule 1: pure: from the admin API's answers and the time to sentences and a table.

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proxy.cli.lengths import moment, span
from proxy.cli.states import lately_refused, refusal, states
from proxy.cli.table import Table
from proxy.config import show_duration

Entry = dict[str, Any]

_EVIDENCE_SHOWN = 3  # the latest; --json has them all
_COLUMNS = ("provider", " limit", " held", " cooling", " queued", " oldest wait", " cooldown", "state")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """`proxy` is the answer of /status, `entries` those of /concurrency/status?all=1; `everything` shows also the
    providers without a limit on which nothing happens."""

    proxy: Entry
    entries: list[Entry]
    now_ms: int
    everything: bool = False

    @property
    def document(self) -> Entry:
        """For programs."""
        return {**self.proxy, "providers": self.entries}

    @property
    def shown(self) -> list[Entry]:
        return [entry for entry in self.entries if self.everything or worth_a_row(entry, self.now_ms)]

    def parts(self) -> Iterator[str | Table]:
        """For people."""
        shown = self.shown
        if shown:
            styles = {number: style(entry) for number, entry in enumerate(shown)}
            yield Table(columns=_COLUMNS, rows=[_row(entry, self.now_ms) for entry in shown], styles=styles)
        if idle := len(self.entries) - len(shown):
            yield f"{idle} without a limit and idle (--all shows them)"
        if not any(limited(entry) for entry in self.entries):
            yield "no provider has a limit, so nothing waits; set one: slotgate limit PROVIDER N"
        for entry in shown:
            yield from _notice(entry)
        if waiting := [entry for entry in shown if entry["queued"]]:
            longest = max(waiting, key=lambda entry: entry.get("oldestWaitMs") or 0)
            yield f"slotgate slots {shlex.quote(longest['providerId'])} shows who waits"

    def remarks(self) -> Iterator[str]:
        """What is wrong with the proxy as a whole."""
        if error := self.proxy["config"].get("error"):
            yield "slotgate: the configuration has errors, an older one stays in force:"
            for line in error.splitlines():
                yield f"  {line}"
        if not self.proxy["state"]["ok"]:
            yield "slotgate: the state cannot be stored: changes hold only until the proxy stops"


def worth_a_row(entry: Entry, now_ms: int) -> bool:
    """Whether anything is or can be going on there, or was refused of late."""
    busy = entry["inFlight"] > 0 or entry["queued"] > 0 or entry["paused"]
    return limited(entry) or busy or lately_refused(entry, now_ms)


def limited(entry: Entry) -> bool:
    """Whether it has a limit, or is about to learn one."""
    return entry["limit"] is not None or "limitAuto" in entry


def style(entry: Entry) -> str:
    """How it catches the eye: what waits for a person, then what waits for time."""
    if entry["autoReduced"] or entry.get("quota"):
        return "red"
    return "yellow" if entry["paused"] else ""


def _notice(entry: Entry) -> Iterator[str]:
    """That the limit was reduced, by what, and how to get it back."""
    if not entry.get("notice"):
        return
    yield f"{entry['providerId']}: {entry['notice']}"
    for seen in entry["evidence"][-_EVIDENCE_SHOWN:]:
        at = moment(seen["at"])
        yield f"  {at:%d %b %H:%M:%S}  {_seen(seen)}"
    yield f"  slotgate restore {shlex.quote(entry['providerId'])}"


def _seen(seen: Entry) -> str:
    """One piece of evidence."""
    if seen["status"] == 0:
        return "one step up by itself"
    return f"{refusal(seen)}, {seen['inFlight']} in flight"


def _row(entry: Entry, now_ms: int) -> list[str]:
    wait_ms = entry.get("oldestWaitMs")
    return [
        entry["providerId"],
        _limit(entry),
        str(entry["held"]),
        str(entry["cooling"]),
        str(entry["queued"]),
        "" if wait_ms is None else span(wait_ms),
        _auto(show_duration(entry["cooldownMs"] / 1000), entry.get("cooldownAuto")),
        ", ".join(states(entry, now_ms)),
    ]


def _limit(entry: Entry) -> str:
    if entry["limit"] is None:
        return "auto" if "limitAuto" in entry else "none"
    return _auto(str(entry["limit"]), entry.get("limitAuto"))


def _auto(value: str, learned: bool | None) -> str:
    return f"{value} (auto)" if learned else value
