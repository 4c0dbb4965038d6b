# One provider's limit, cooldown and pause, on a running proxy.

import math
import re
from datetime import datetime
from typing import Any

import click

from proxy.cli.admin import Admin
from proxy.cli.failure import Failure
from proxy.cli.options import duration, of_running_proxy
from proxy.cli.output import Output
from proxy.config import show_duration

_LIMITS = ("concurrency", "limits")
_COOLDOWN = ("concurrency", "cooldown")
_PAUSE = ("concurrency", "pause")
_RESTORE = ("concurrency", "restore")

provider_argument = click.argument("provider")


def _limit(text: str) -> int:
    """A number from 1, or `none`, which is 0 here."""
    if text != "none" and not re.fullmatch("[1-9][0-9]{0,8}", text):
        raise click.BadParameter(f"{text!r} is neither a number from 1 nor none")
    return 0 if text == "none" else int(text)


@click.command()
@provider_argument
@click.argument("number", metavar="[N|none]", required=False, type=_limit)
@of_running_proxy
def limit(admin: Admin, output: Output, provider: str, number: int | None) -> None:
    """Show or set how many requests a PROVIDER gets at once."""
    provider_id = _provider_id(admin, output, provider)
    if number is None:
        answer = _limit_of(admin, provider_id)
    elif number:
        answer = admin.put(*_LIMITS, provider_id, body={"limit": number})
    else:
        answer = admin.delete(*_LIMITS, provider_id) or {"providerId": provider_id, "limit": None}
    output.answer(answer)
    output.say(f"{provider_id}: " + ("unlimited" if answer["limit"] is None else f"limit {answer['limit']}"))
    remark_unless_persisted(output, answer)


@click.command()
@provider_argument
@click.argument("lasting", metavar="[DURATION]", required=False, type=duration)
@of_running_proxy
def cooldown(admin: Admin, output: Output, provider: str, lasting: float | None) -> None:
    """Show or set how long a released slot of a PROVIDER rests."""
    provider_id = _provider_id(admin, output, provider)
    if lasting is None:
        answer = admin.get(*_COOLDOWN, provider_id)
    else:
        answer = admin.put(*_COOLDOWN, provider_id, body={"cooldownMs": round(lasting * 1000)})
    output.answer(answer)
    output.say(f"{provider_id}: cooldown {show_duration(answer['cooldownMs'] / 1000)}")
    remark_unless_persisted(output, answer)


@click.command()
@provider_argument
@click.argument("lasting", metavar="DURATION", type=duration)
@of_running_proxy
def pause(admin: Admin, output: Output, provider: str, lasting: float) -> None:
    """Hold back everything that waits for a PROVIDER."""
    provider_id = _provider_id(admin, output, provider)
    _entry(output, admin.put(*_PAUSE, provider_id, body={"durationMs": math.ceil(lasting * 1000)}))


@click.command()
@provider_argument
@of_running_proxy
def resume(admin: Admin, output: Output, provider: str) -> None:
    """End a PROVIDER's pause now."""
    _entry(output, admin.delete(*_PAUSE, _provider_id(admin, output, provider)))


@click.command()
@provider_argument
@of_running_proxy
def restore(admin: Admin, output: Output, provider: str) -> None:
    """Take a PROVIDER's limit back to what it was before rate limits reduced it."""
    _entry(output, admin.post(*_RESTORE, _provider_id(admin, output, provider)))


def remark_unless_persisted(output: Output, answer: dict[str, Any]) -> None:
    """Says so when a change holds in memory only."""
    if answer.get("persisted") is False:
        output.remark("slotgate: this could not be stored and holds only until the proxy stops")


def _limit_of(admin: Admin, provider_id: str) -> Any:
    try:
        return admin.get(*_LIMITS, provider_id)
    except Failure as failure:
        if failure.status != 404:
            raise
        return {"providerId": provider_id, "limit": None}


def _entry(output: Output, entry: dict[str, Any]) -> None:
    output.answer(entry)
    limited = "unlimited" if entry["limit"] is None else f"limit {entry['limit']}"
    paused = "not paused"
    if "pausedUntil" in entry:
        until = datetime.fromtimestamp(entry["pausedUntil"] / 1000).astimezone()
        paused = f"paused until {until:%H:%M:%S}"
    output.say(f"{entry['providerId']}: {limited}, {paused}")
    remark_unless_persisted(output, entry)


def _provider_id(admin: Admin, output: Output, name: str) -> str:
    """The provider of this id, or else that of the upstream of this name. Another id is taken as it is, since a limit
    may be set before its upstream exists, but not without a word: it may be a slip."""
    upstreams = admin.get("config")["upstreams"]
    providers = [upstream["provider"] for upstream in upstreams.values()]
    if name in providers:
        return name
    if name in upstreams:
        return str(upstreams[name]["provider"])
    output.remark(f"slotgate: no upstream uses a provider {name}; upstreams: {', '.join(upstreams)}")
    return name
