# `slotgate status`: every provider at a glance, and what is wrong with the proxy if anything is.

import time
from datetime import datetime
from typing import Any

import click

from proxy.cli.admin import Admin
from proxy.cli.options import of_running_proxy
from proxy.cli.output import Output
from proxy.cli.states import roughly, states
from proxy.config import show_duration

_EVIDENCE_SHOWN = 3  # the latest; --json has them all
_COLUMNS = ("provider", " limit", " held", " cooling", " queued", " oldest wait", " cooldown", "state")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also the providers without a limit on which nothing happens.")
@of_running_proxy
def status(admin: Admin, output: Output, everything: bool) -> None:
    """Show what is in flight and what waits at each provider."""
    proxy = admin.get("status")
    entries = admin.get("concurrency", "status", query="?all=1")["providers"]
    output.answer({**proxy, "providers": entries})
    shown = entries if everything else [entry for entry in entries if _worth_a_row(entry)]
    now_ms = time.time_ns() // 1_000_000
    if shown:
        output.table(_COLUMNS, [_row(entry, now_ms) for entry in shown])
    if idle := len(entries) - len(shown):
        output.say(f"{idle} without a limit and idle (--all shows them)")
    if not any(_limited(entry) for entry in entries):
        output.say("no provider has a limit, so nothing waits; set one: slotgate limit PROVIDER N")
    for entry in shown:
        _notice(output, entry)
    if error := proxy["config"].get("error"):
        output.remark("slotgate: the configuration has errors, an older one stays in force:")
        for line in error.splitlines():
            output.remark(f"  {line}")
    if not proxy["state"]["ok"]:
        output.remark("slotgate: the state cannot be stored: changes hold only until the proxy stops")


def _notice(output: Output, entry: dict[str, Any]) -> None:
    """That the limit was reduced, by what, and how to get it back."""
    if not entry.get("notice"):
        return
    output.say(f"{entry['providerId']}: {entry['notice']}")
    for seen in entry["evidence"][-_EVIDENCE_SHOWN:]:
        at = datetime.fromtimestamp(seen["at"] / 1000).astimezone()
        output.say(f"  {at:%d %b %H:%M:%S}  {_seen(seen)}")
    output.say(f"  slotgate restore {entry['providerId']}")


def _seen(seen: dict[str, Any]) -> str:
    """One piece of evidence."""
    if seen["status"] == 0:
        return "one step up"
    answer = f"inside a {seen['status']}:" if seen["status"] < 400 else str(seen["status"])
    wait_ms = seen["retryAfterMs"]
    wait = "" if wait_ms is None else f", retry after {roughly(wait_ms)}"
    return f"{answer} {seen['kind']}{wait}, {seen['inFlight']} in flight"


def _limited(entry: dict[str, Any]) -> bool:
    """Whether it has a limit, or is about to learn one."""
    return entry["limit"] is not None or "limitAuto" in entry


def _worth_a_row(entry: dict[str, Any]) -> bool:
    return _limited(entry) or entry["inFlight"] > 0 or entry["queued"] > 0 or entry["paused"]


def _row(entry: dict[str, Any], now_ms: int) -> list[str]:
    wait_ms = entry.get("oldestWaitMs")
    return [
        entry["providerId"],
        _limit(entry),
        str(entry["held"]),
        str(entry["cooling"]),
        str(entry["queued"]),
        "" if wait_ms is None else roughly(wait_ms),
        _auto(show_duration(entry["cooldownMs"] / 1000), entry.get("cooldownAuto")),
        ", ".join(states(entry, now_ms)),
    ]


def _limit(entry: dict[str, Any]) -> str:
    if entry["limit"] is None:
        return "auto" if "limitAuto" in entry else "none"
    return _auto(str(entry["limit"]), entry.get("limitAuto"))


def _auto(value: str, learned: bool | None) -> str:
    return f"{value} (auto)" if learned else value
