# `slotgate history` and `slotgate audit`: what was, from the proxy's store.

import json
import time
from datetime import datetime
from typing import Any
from urllib.parse import quote

import click

from proxy.cli.admin import Admin
from proxy.cli.completing import complete_provider
from proxy.cli.control import provider_argument
from proxy.cli.naming import named
from proxy.cli.options import name, of_running_proxy
from proxy.cli.output import Output
from proxy.cli.states import roughly
from proxy.cli.text import printable
from proxy.config import show_duration

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
    query = f"?since={time.time_ns() // 1_000_000 - back * 60_000}&step={step}"
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
    """Show what was changed by hand, when and by whom."""
    query = f"?limit={last}"
    if provider is not None:
        query += f"&provider={quote(named(admin, provider).provider_id, safe='')}"
    answer = admin.get("concurrency", "audit", query=query)
    output.answer(answer)
    if answer["changes"]:
        output.table(_AUDIT_COLUMNS, [_change(change) for change in reversed(answer["changes"])])
    else:
        output.say("nothing was changed by hand")


def _row(point: Point, span: str) -> list[str]:
    at = datetime.fromtimestamp(point["at"] / 1000).astimezone()
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
    return f"{ms:.0f}ms" if ms < 1000 else f"{ms / 1000:.1f}s" if ms < 10_000 else roughly(ms)


def _change(change: Point) -> list[str]:
    at = datetime.fromtimestamp(change["at"] / 1000).astimezone()
    before, after = _value(change["what"], change["from"]), _value(change["what"], change["to"])
    return [
        f"{at:%d %b %H:%M:%S}",
        str(change["by"]),
        str(change["what"]),
        change.get("providerId") or change.get("workspaceId") or "",
        f"{before} → {after}" if before else after,
    ]


def _value(what: str, value: object) -> str:
    if what == "limit" and value is None:
        return "unlimited"
    if what == "cooldown" and isinstance(value, int | float):
        return show_duration(value / 1000)
    if isinstance(value, dict) and isinstance(value.get("until"), int):
        return f"until {datetime.fromtimestamp(value['until'] / 1000).astimezone():%H:%M:%S}"
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
