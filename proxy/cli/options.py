# The options that several commands share, and the values that they take.

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from proxy.cli.admin import Admin
from proxy.cli.failure import Failure
from proxy.cli.finding import find_admin
from proxy.cli.output import Output
from proxy.config import parse_duration

Command = Callable[..., None]

config_option = click.option(
    "--config", metavar="PATH", help="The configuration file; else $SLOTGATE_CONFIG, else the usual places."
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
_admin_option = click.option(
    "--admin",
    envvar="SLOTGATE_ADMIN",
    metavar="URL",
    help="The admin API, http://host:port or unix:/path; else $SLOTGATE_ADMIN, else what the configuration says.",
)
_token_option = click.option(
    "--token-file",
    envvar="SLOTGATE_TOKEN_FILE",
    metavar="PATH",
    help="The file with the admin API's token; else $SLOTGATE_TOKEN_FILE, else what the configuration says.",
)


_NAME_CHARACTERS = 128  # as the admin API
_HEADER = re.compile(r"([!#$%&'*+.^`|~\w-]{1,128}): *([!-~](?:[ -~]{0,4094}[!-~])?)", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def admin_options(command: Command) -> Command:
    """Adds the options that say which proxy: `admin`, `token_file` and `config`."""
    return config_option(_token_option(_admin_option(command)))


def with_output(command: Command) -> Command:
    """Adds --json and passes an Output first. What the command fails with is JSON too, when its answer would be."""

    @_json_option
    @functools.wraps(command)
    def run(*, as_json: bool, **given: Any) -> None:
        try:
            command(Output(as_json=as_json), **given)
        except Failure as failure:
            failure.as_json = as_json
            raise

    return run


def of_running_proxy(command: Command) -> Command:
    """For a command that talks to a running proxy: adds the options that say which one, and passes its admin API and
    an Output first."""

    @admin_options
    @with_output
    @functools.wraps(command)
    def run(output: Output, *, admin: str | None, token_file: str | None, config: str | None, **given: Any) -> None:
        asked = find_admin(admin, token_file, config)
        with understood(asked):
            command(asked, output, **given)

    return run


@contextmanager
def understood(admin: Admin) -> Iterator[None]:
    """Within it an answer that is JSON, but not what this command reads in it, is a Failure."""
    try:
        yield
    except UnicodeError:  # of what is printed, not of what was read
        raise
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        what = f"{type(error).__name__}: {error}"
        words = f"what answers at {admin} is not slotgate's admin API, or of another version than this one ({what})"
        raise Failure("not_slotgate", words) from error


def name(text: str) -> str:
    """A provider or workspace, as the admin API takes it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("a name is UTF-8") from None
    if not 1 <= len(text) <= _NAME_CHARACTERS or _CONTROL.search(text):
        raise click.BadParameter(f"a name has 1 to {_NAME_CHARACTERS} characters, and no control characters")
    return text


def header(text: str) -> tuple[str, str]:
    """A header of `Name: value`."""
    found = _HEADER.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no header; one is like 'X-Slotgate-Workspace: name', in printable ASCII")
    return found[1], found[2]


def duration(least: str, most: str) -> Callable[[str], float]:
    """Reads a value like `350ms`, `30s` or `10m` within these bounds: seconds."""
    least_s, most_s = parse_duration(least), parse_duration(most)

    def read(text: str) -> float:
        try:
            seconds = parse_duration(text)
        except ValueError as error:
            words = f"{text!r} ({error}); durations are like 350ms, 30s or 10m"
            raise click.BadParameter(words, param_hint="DURATION") from None
        if not least_s <= seconds <= most_s:
            raise click.BadParameter(f"{text!r} is not from {least} to {most}", param_hint="DURATION")
        return seconds

    return read
