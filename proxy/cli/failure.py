# How a command ends when it could not do what it was asked.
#
# Rule 1: a person reads one sentence a line on stderr; a program reads one JSON document on stdout.
# Rule 2: the exit status tells a wrong configuration (78) from everything else (1); wrong usage (2) is click's.
# Rule 3: what the other side says in it is shown like its names: nothing of it steers a terminal.

from collections.abc import Iterable
from typing import IO, Any

import click

from proxy.cli.text import json_text, printable


class Failure(click.ClickException):
    """Ends the command. `code` is the admin API's word for it, with the answer's `status`, or one of ours."""

    exit_code = 1

    def __init__(self, code: str, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.as_json = False
        self.lines = [f"slotgate: {message}"]  # for people

    def document(self) -> dict[str, object]:
        """What a program reads."""
        return {"error": {"code": self.code, "message": self.message}}

    def show(self, file: IO[Any] | None = None) -> None:
        """Click calls this at the end."""
        if self.as_json:
            click.echo(json_text(self.document()))
            return
        for line in self.lines:
            click.echo(printable(line), file=file, err=file is None)


class BadConfig(Failure):
    """The configuration is wrong, here or at the running proxy: one line for each error."""

    exit_code = 78  # EX_CONFIG of sysexits.h

    def __init__(self, errors: Iterable[object]) -> None:
        self.errors = [str(error) for error in errors]
        super().__init__("bad_configuration", f"errors in the configuration: {len(self.errors)}")
        self.lines = list(self.errors)

    def document(self) -> dict[str, object]:
        return {**super().document(), "errors": self.errors}
