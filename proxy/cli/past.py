# `slotgate history` and `slotgate audit`: what was, from the proxy's store.

import json
from typing import Any
from urllib.parse import quote

import click

from proxy.cli.admin import Admin
from proxy.cli.completing import complete_provider
from proxy.cli.control import provider_argument
from proxy.cli.lengths import moment
from proxy.cli.lengths import span as length
from proxy.cli.naming import named
from proxy.cli.options import name, of_running_proxy
from proxy.cli.output import Output
from proxy.cli.text import printable
from proxy.config import show_duration
from proxy.service.clock import wall_ms

Point = dict[str, Any]

_RANGES = {"hour": (60, 1), "day": (24 * 60, 10), "week": (7 * 24 * 60, 60)}  # minutes back, and for one row
_COLUMNS = (
    "time",
    " limit",
    " in flight",
    " queued",
    " oldest wait",
    " granted",
    " wait p50",
    " p95",
    " first byte p50",
    " p95",
    " refused",
    " reduced",
    " paused",
)
_BY = {"page": "the page", "cli": "command line", "api": "API", "file": "the file"}  # as the page has it
_AUDIT_COLUMNS = ("when", "by", "what", "of", "change")


@click.command()
@provider_argument
@click.option("--range", "span", type=click.Choice(list(_RANGES)), default="hour", show_default=True, help="How far.")
@click.option("--csv", "as_csv", is_flag=True, help="As comma-separated values.")
@of_running_proxy
def history(admin: Admin, output: Output, provider: str, span: str, as_csv: bool) -> None:
    """Show what a PROVIDER's slots and queue were like.

    A row is a minute of the last hour, ten minutes of the last day, an hour of the last week. Where two numbers stand,
    the first one is the mean and the other the most.
    """
    if as_csv and output.as_json:
        raise click.UsageError("--csv and --json exclude each other")
    which = named(admin, provider)
    back, step = _RANGES[span]
    query = f"?since={wall_ms() - back * 60_000}&step={step}"
    path = ("concurrency", "history", which.provider_id)
    with which.known():
        if as_csv:
            for line in admin.text(*path, query=f"{query}&format=csv").splitlines():
                click.echo(printable(line))
            return
        answer = admin.get(*path, query=query)
    output.answer(answer)
    if answer["points"]:
        output.table(_COLUMNS, [_row(point, span) for point in answer["points"]])
    else:
        output.say(f"nothing is known about the last {span} of {which.provider_id}")


@click.command()
@click.option("--provider", type=name, metavar="NAME", shell_complete=complete_provider, help="Only this provider's.")
@click.option("--last", type=click.IntRange(1, 1000), default=100, show_default=True, metavar="N", help="How many.")
@of_running_proxy
def audit(admin: Admin, output: Output, provider: str | None, last: int) -> None:
    """Show what was changed by hand, the newest first."""
    query = f"?limit={last}"
    if provider is not None:
        query += f"&provider={quote(named(admin, provider).provider_id, safe='')}"
    answer = admin.get("concurrency", "audit", query=query)
    output.answer(answer)
    if answer["changes"]:
        output.table(_AUDIT_COLUMNS, [_change(change) for change in answer["changes"]])
    else:
        output.say("nothing was changed by hand")


def _row(point: Point, span: str) -> list[str]:
    at = moment(point["at"])
    return [
        f"{at:%H:%M}" if span == "hour" else f"{at:%d %b %H:%M}",
        "" if point["limit"] is None else str(point["limit"]),
        f"{point['inFlightMean']:g} / {point['inFlightMax']}",
        f"{point['queuedMean']:g} / {point['queuedMax']}",
        _time(point["oldestWaitMsMax"]),
        str(point["granted"]),
        _time(point["waitMsP50"]),
        _time(point["waitMsP95"]),
        _time(point["firstByteMsP50"]),
        _time(point["firstByteMsP95"]),
        str(point["rateLimited"] or ""),
        str(point["reduced"] or ""),
        _time(point["pausedMs"] or None),
    ]


def _time(ms: int | None) -> str:
    if ms is None:
        return ""
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s" if ms < 10_000 else length(ms)


def _change(change: Point) -> list[str]:
    at = moment(change["at"])
    of = [str(change[key]) for key in ("providerId", "workspaceId") if change.get(key)]
    return [
        f"{at:%d %b %H:%M:%S}",
        _BY.get(change["by"], str(change["by"])),
        str(change["what"]),
        ": ".join(of),
        _from_to(str(change["what"]), change["from"], change["to"]),
    ]


def _from_to(what: str, before: Any, after: Any) -> str:
    """What it was a change of; of what a newer proxy does, its JSON."""
    match what, before, after:
        case "reclaim", {"id": str(entry_id), "heldMs": int(held_ms)}, _:
            return f"slot {entry_id} taken back after {length(held_ms)}"
        case "drop", {"id": str(entry_id), "waitedMs": int(waited_ms)}, _:
            return f"waiter {entry_id} sent away after {length(waited_ms)}"
        case "reload", _, {"changed": list(keys), **more}:
            return ", ".join(map(str, keys)) + (f" and {more['more']} more" if more.get("more") else "")
        case "pause" | "resume", None, _:
            return _value(what, after)
    return f"{_value(what, before)} → {_value(what, after)}"


def _value(what: str, value: Any) -> str:
    match what, value:
        case "limit" | "restore", None:
            return "unlimited"
        case "cooldown", int() | float():
            return show_duration(value / 1000)
        case "star", bool():
            return "star" if value else "no star"
        case "learn", {"limit": int() | None as limit, "cooldownMs": int(cooldown_ms)}:
            return f"{'no limit' if limit is None else f'limit {limit}'}, cooldown {show_duration(cooldown_ms / 1000)}"
        case "pause" | "resume", {"until": int(until)}:
            return f"paused until {moment(until):%H:%M:%S}"
        case "pause" | "resume", None:
            return "not paused"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
