# `slotgate status`: every provider at a glance, once or again and again.
#
# Rule 1: a terminal is drawn in place, and gets the last view to keep at the end; a pipe gets one view after the other.
# Rule 2: once it has seen the proxy, it outlives its absence: that is told, and asked again.

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

import click

from proxy.cli.admin import Admin
from proxy.cli.ending import ends_in_order
from proxy.cli.failure import Failure
from proxy.cli.keys import hidden_keys
from proxy.cli.lengths import moment
from proxy.cli.options import of_running_proxy
from proxy.cli.output import Output, as_lines
from proxy.cli.overview import Overview
from proxy.cli.terminal import whole_terminal
from proxy.cli.text import printable
from proxy.service.clock import wall_ms

_EVERY = "2"


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise click.BadParameter(f"{text!r} is not a number of seconds from 0.1 to 3600")
    return seconds


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also the providers without a limit on which nothing happens.")
@click.option(
    "--watch",
    "every_s",
    type=_seconds,
    metavar="[SECONDS]",
    is_flag=False,
    flag_value=_EVERY,
    help=f"Again and again, each {_EVERY} seconds; until Ctrl-C.",
)
@of_running_proxy
def status(admin: Admin, output: Output, everything: bool, every_s: float | None) -> None:
    """Show what is in flight and what waits at each provider."""
    view = _view(admin, everything)
    if every_s is not None:
        _watch(admin, output, view, every_s)
        return
    output.answer(view.document)
    _show(output, view)


def _watch(admin: Admin, output: Output, view: Overview, every_s: float) -> None:
    views = _views(admin, view)
    with ends_in_order():
        if output.as_json:
            for view, trouble in views:
                output.answer_line(view.document if trouble is None else trouble.document())
                time.sleep(every_s)
        elif whole_terminal():
            _draw(output, views, every_s)
        else:
            for view, trouble in views:
                if trouble is None:
                    output.say(f"{_at(view):%d %b %H:%M:%S}")
                    _show(output, view)
                    output.say("")
                else:
                    output.remark(f"slotgate: {trouble.message}")
                time.sleep(every_s)


def _draw(output: Output, views: Iterator[tuple[Overview, Failure | None]], every_s: float) -> None:
    from rich.text import Text

    from proxy.cli.screen import Screen

    view, trouble = next(views)
    try:
        with _no_echo(), Screen() as screen:
            due_at = time.monotonic()
            while True:
                top = f"slotgate  {_at(view):%d %b %H:%M:%S}" + (f"  {trouble.message}" if trouble else "")
                lines = as_lines([*view.parts(), *view.remarks()], screen.size[0])
                screen.draw([Text(printable(top), "red" if trouble else "dim"), *lines])
                screen.wait(due_at + every_s - time.monotonic())
                if time.monotonic() >= due_at + every_s:
                    due_at = time.monotonic()
                    view, trouble = next(views)
    finally:
        _show(output, view)


def _no_echo() -> AbstractContextManager[None]:
    return hidden_keys(sys.stdin.fileno()) if sys.stdin.isatty() else nullcontext()


def _views(admin: Admin, view: Overview) -> Iterator[tuple[Overview, Failure | None]]:
    """`view`, and then the newest each time, or the last one and what kept it from being renewed."""
    yield view, None
    while True:
        try:
            view = _view(admin, view.everything)
        except Failure as failure:
            yield view, failure
        else:
            yield view, None


def _at(view: Overview) -> datetime:
    return moment(view.now_ms)


def _view(admin: Admin, everything: bool) -> Overview:
    return Overview(
        proxy=admin.get("status"),
        entries=admin.get("concurrency", "status", query="?all=1")["providers"],
        now_ms=wall_ms(),
        everything=everything,
    )


def _show(output: Output, view: Overview) -> None:
    output.show([*view.parts()])
    for line in view.remarks():
        output.remark(line)
