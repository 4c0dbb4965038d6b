# `slotgate demo`: the proxy at work without an account, for who has just installed it.
#
# Rule 1: commands only: what happens is in proxy/demo; here it is written down, as lines or as JSON.

import math
import random
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from proxy.cli import demo_words as words
from proxy.cli.ending import ends_in_order
from proxy.cli.failure import Failure
from proxy.cli.options import with_output
from proxy.cli.output import Output
from proxy.cli.text import printable

_SEEDS = 1_000_000
_STANDING_EVERY_MS = 10_000  # where there is no terminal on which one line can be kept up to date


class _Number(click.FloatRange):
    """A range that has no place for `nan` and `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number


@click.command()
@click.option("--agents", type=click.IntRange(1, 200), default=8, show_default=True, help="How many work.")
@click.option(
    "--limit", type=click.IntRange(1, 100), default=2, show_default=True, help="How many the provider answers at once."
)
@click.option(
    "--refusals",
    type=_Number(0, 0.5),
    default=0.03,
    show_default=True,
    help="Share of requests that the provider refuses though it has room.",
)
@click.option("--speed", type=_Number(0.1, 100), default=1, show_default=True, help="How many times faster than life.")
@click.option("--seconds", type=_Number(0, min_open=True), help="End after so long.")
@click.option("--seed", type=click.IntRange(0), help="The same seed lets the dice fall the same way.")
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@with_output
def demo(output: Output, seed: int | None, **given: Any) -> None:
    """Watch agents wait at a simulated provider.

    Simulated agents share a simulated provider through a real proxy on free ports. It needs no key, no configuration
    and no network, and leaves nothing behind. Ctrl-C ends it. The exit status is 1 where the provider ever was sent
    more requests at once than its limit, though nobody had raised the proxy's. With --json each thing that happens is
    one JSON document on a line of its own.
    """
    # Here, because no other command needs HTTP in both directions, which takes long to import.
    from proxy.demo.stage import run
    from proxy.demo.terms import Terms

    terms = Terms(seed=random.randrange(_SEEDS) if seed is None else seed, **given)  # noqa: S311 - no secret
    with ends_in_order():
        failure = run(terms, output.answer_line if output.as_json else Screen().show)
    if failure:
        raise Failure("demo_failed", failure)


def _command() -> str:
    """What a person types to run this command again: it need not be on the PATH."""
    path = Path(sys.argv[0])
    if path.name != "slotgate":
        return f"{shlex.quote(sys.executable)} -m proxy"
    found = shutil.which(path.name)
    return path.name if found and Path(found).samefile(path) else shlex.quote(str(path))


class Screen:
    """Lines for people. On a terminal the last one says how things stand, and is kept up to date."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._kept = False  # whether the last line is to be overwritten
        self._begun_at = self._stood_at = 0
        self._answers = 0

    def show(self, document: dict[str, Any]) -> None:
        """One document of the demo."""
        match document:
            case {"event": "ready", "at": at}:
                self._begun_at = self._stood_at = at
                for line in words.opening(document, _command()):
                    self._say(line)
            case {"event": "answered", "answers": answers}:
                self._answers = answers
            case {"event": "state"}:
                self._stand(document["at"], words.standing(document, self._answers))
            case {"event": "summary"}:
                for line in ("", *words.closing(document)):
                    self._say(line)
            case _ if line := words.news(document):
                self._say(f"{self._clock(document['at'])}  {line}")

    def _stand(self, at: int, line: str) -> None:
        line = f"{self._clock(at)}  {line}"
        if self._terminal:
            # One that is wrapped could not be overwritten.
            self._say(line[: shutil.get_terminal_size().columns - 1], keep=True)
        elif at - self._stood_at >= _STANDING_EVERY_MS:
            self._stood_at = at
            self._say(line)

    def _say(self, line: str, *, keep: bool = False) -> None:
        before = "\r\x1b[2K" if self._kept else ""
        click.echo(before + printable(line), nl=not keep)
        self._kept = keep

    def _clock(self, at: int) -> str:
        seconds = max(0, at - self._begun_at) // 1000
        return f"{seconds // 60:3}:{seconds % 60:02}"
