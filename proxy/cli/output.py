# What a command answers: one JSON document for programs, sentences and tables for people.
#
# Rule 1: the answer goes to stdout, remarks on it to stderr.
# Rule 2: names come from clients: what would steer a terminal never reaches it.
# Rule 3: colours and widths are for terminals: a pipe gets neither, and nothing is cut off there.

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from proxy.cli.failure import Failure
from proxy.cli.table import Table
from proxy.cli.text import folded, json_text, printable, steady

if TYPE_CHECKING:
    from rich.text import Text

PIPE_WIDTH = 100_000  # a pipe has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where an answer goes. `answer` is for programs, the rest for people; each is silent for the others."""

    as_json: bool

    def answer(self, value: object) -> None:
        if self.as_json:
            click.echo(json_text(value, 2))

    def answer_line(self, value: object) -> None:
        """One of several documents, each on a line of its own."""
        if self.as_json:
            click.echo(json_text(value))

    def say(self, line: str) -> None:
        if not self.as_json:
            click.echo(printable(line))

    def document(self, text: str) -> None:
        """Text of our own making, several lines that end in a newline."""
        if not self.as_json:
            click.echo(text, nl=False)

    def remark(self, line: str) -> None:
        if not self.as_json:
            click.echo(printable(line), err=True)

    def ask(self, said: str, question: str) -> None:
        """Ends the command unless the person at the terminal says yes. Nothing of it gets to stdout."""
        click.echo(printable(said), err=True)
        try:
            agreed = click.confirm(question, err=True)
        except click.Abort:  # Ctrl-C, or the end of the input
            agreed = False
        if not agreed:
            raise Failure("not_confirmed", "nothing was changed")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns whose names begin with a space are aligned to the right."""
        self.show([Table(columns=columns, rows=rows)])

    def show(self, parts: Sequence[str | Table]) -> None:
        """Sentences and tables, one after the other."""
        if self.as_json:
            return
        for part in parts:
            if isinstance(part, str):
                self.say(part)
            else:
                _print(part)


def as_lines(parts: Sequence[str | Table], width: int) -> Iterator[Text]:
    """The same as lines of a screen, none wider than that."""
    from rich.text import Text

    for part in parts:
        if isinstance(part, str):
            yield from (Text(line) for line in folded(steady(part), width))
        else:
            yield from part.lines(width)


def _print(table: Table) -> None:
    from rich.console import Console  # takes as long to import as everything else

    console = Console(highlight=False, soft_wrap=True)
    for line in table.lines(console.width if sys.stdout.isatty() else PIPE_WIDTH):
        console.print(line)
