# What a command answers: one JSON document for programs, sentences and a table for people.
#
# Rule 1: the answer goes to stdout, remarks on it to stderr.
# Rule 2: names come from clients: control characters in them never reach the terminal.

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where an answer goes. `answer` is for programs, the rest for people; each is silent for the others."""

    as_json: bool

    def answer(self, value: object) -> None:
        if self.as_json:
            click.echo(json.dumps(value, indent=2, ensure_ascii=False))

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

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns whose names begin with a space are aligned to the right."""
        if self.as_json:
            return
        # Only this needs rich, which takes as long to import as everything else.
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        shown = Table(box=None, pad_edge=False)
        for column in columns:
            shown.add_column(column.strip(), justify="right" if column.startswith(" ") else "left", no_wrap=True)
        for row in rows:
            shown.add_row(*(Text(printable(cell)) for cell in row))
        terminal = sys.stdout.isatty()
        # A pipe has no width: nothing is cut off there.
        Console(highlight=False, width=None if terminal else 1000).print(shown)


def printable(text: str) -> str:
    """The text with what would steer a terminal shown as it would be written in Python."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
