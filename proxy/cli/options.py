# The options that several commands share, and the values that they take.

import functools
from collections.abc import Callable
from typing import Any

import click

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

    @config_option
    @_token_option
    @_admin_option
    @with_output
    @functools.wraps(command)
    def run(output: Output, *, admin: str | None, token_file: str | None, config: str | None, **given: Any) -> None:
        command(find_admin(admin, token_file, config), output, **given)

    return run


def duration(text: str) -> float:
    """A value like `350ms`, `30s` or `10m`: seconds."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} ({error}); durations are like 350ms, 30s or 10m") from None
