# One provider's limit, cooldown and pause, on a running proxy.

import math
import re
from collections.abc import Callable
from typing import Any

import click

from proxy.cli.admin import Admin
from proxy.cli.completing import complete_provider
from proxy.cli.failure import Failure
from proxy.cli.lengths import moment
from proxy.cli.naming import Named, named
from proxy.cli.options import duration, name, of_running_proxy
from proxy.cli.output import Output
from proxy.config import show_duration

_LIMITS = ("concurrency", "limits")
_COOLDOWN = ("concurrency", "cooldown")
_PAUSE = ("concurrency", "pause")
_RESTORE = ("concurrency", "restore")
_LEARN = ("concurrency", "learn")

# What the admin API takes, in the units that people type; it has the last word.
LIMIT_MOST = 100_000
COOLDOWN_BOUNDS = ("0", "10m")
PAUSE_BOUNDS = ("1ms", "1d")

provider_argument = click.argument("provider", type=name, shell_complete=complete_provider)


def _limit(text: str) -> int:
    """A number from 1, or `none`, which is 0 here."""
    if text == "none":
        return 0
    if not re.fullmatch("[1-9][0-9]{0,8}", text) or int(text) > LIMIT_MOST:
        raise click.BadParameter(f"{text!r} is neither a number from 1 to {LIMIT_MOST} nor none", param_hint="N")
    return int(text)


@click.command()
@provider_argument
@click.argument("number", metavar="[N|none]", required=False, type=_limit)
@of_running_proxy
def limit(admin: Admin, output: Output, provider: str, number: int | None) -> None:
    """Show or set how many requests a PROVIDER gets at once."""
    which = named(admin, provider)
    if number:
        which.refuse_slip()
    if which.doubt:
        output.remark(f"slotgate: {which.doubt}")
    if number:
        answer = admin.put(*_LIMITS, which.provider_id, body={"limit": number})
    else:
        answer = _without_limit(admin.get if number is None else admin.delete, which.provider_id)
    output.answer(answer)
    output.say(f"{which.provider_id}: " + ("unlimited" if answer["limit"] is None else f"limit {answer['limit']}"))
    remark_unless_persisted(output, answer)


@click.command()
@provider_argument
@click.argument("lasting", metavar="[DURATION]", required=False, type=duration(*COOLDOWN_BOUNDS))
@of_running_proxy
def cooldown(admin: Admin, output: Output, provider: str, lasting: float | None) -> None:
    """Show or set how long a released slot of a PROVIDER rests.

    DURATION is like 350ms or 2s, up to 10m.
    """
    which = named(admin, provider)
    if lasting is None:
        with which.known():
            answer = admin.get(*_COOLDOWN, which.provider_id)
    else:
        which.refuse_slip()
        answer = admin.put(*_COOLDOWN, which.provider_id, body={"cooldownMs": round(lasting * 1000)})
    if which.doubt:
        output.remark(f"slotgate: {which.doubt}")
    output.answer(answer)
    output.say(f"{which.provider_id}: cooldown {show_duration(answer['cooldownMs'] / 1000)}")
    remark_unless_persisted(output, answer)


@click.command()
@provider_argument
@click.argument("lasting", metavar="DURATION", type=duration(*PAUSE_BOUNDS))
@of_running_proxy
def pause(admin: Admin, output: Output, provider: str, lasting: float) -> None:
    """Hold back everything that waits for a PROVIDER.

    DURATION is like 30s, 10m or 2h, up to 1d. `slotgate resume PROVIDER` ends it sooner.
    """
    which = named(admin, provider)
    with which.known():
        _entry(output, which, admin.put(*_PAUSE, which.provider_id, body={"durationMs": math.ceil(lasting * 1000)}))


@click.command()
@provider_argument
@of_running_proxy
def resume(admin: Admin, output: Output, provider: str) -> None:
    """End a PROVIDER's pause now."""
    which = named(admin, provider)
    with which.known():
        _entry(output, which, admin.delete(*_PAUSE, which.provider_id))


@click.command()
@provider_argument
@of_running_proxy
def restore(admin: Admin, output: Output, provider: str) -> None:
    """Undo what rate limits took from a PROVIDER."""
    which = named(admin, provider)
    with which.known():
        _entry(output, which, admin.post(*_RESTORE, which.provider_id))


@click.command()
@provider_argument
@of_running_proxy
def learn(admin: Admin, output: Output, provider: str) -> None:
    """Learn anew what is auto for a PROVIDER.

    Where its limit or cooldown is `auto` in the configuration, what was learned, or set by hand, is forgotten, and the
    proxy finds it out again from the provider's answers.
    """
    which = named(admin, provider)
    with which.known():
        _entry(output, which, admin.post(*_LEARN, which.provider_id))


def remark_unless_persisted(output: Output, answer: dict[str, Any]) -> None:
    """Says so when a change holds in memory only."""
    if answer.get("persisted") is False:
        output.remark("slotgate: this could not be stored and holds only until the proxy stops")


def _without_limit(call: Callable[..., Any], provider_id: str) -> Any:
    """The answer to a call that the proxy refuses where there is no limit, which is an answer too."""
    unlimited = {"providerId": provider_id, "limit": None}
    try:
        return call(*_LIMITS, provider_id) or unlimited
    except Failure as failure:
        if failure.code != "no_limit":
            raise
        return unlimited


def _entry(output: Output, which: Named, entry: dict[str, Any]) -> None:
    if which.doubt:
        output.remark(f"slotgate: {which.doubt}")
    output.answer(entry)
    limited = "unlimited" if entry["limit"] is None else f"limit {entry['limit']}"
    paused = "not paused"
    if "pausedUntil" in entry:
        until = moment(entry["pausedUntil"])
        paused = f"paused until {until:%H:%M:%S}"
    output.say(f"{entry['providerId']}: {limited}, {paused}")
    remark_unless_persisted(output, entry)
