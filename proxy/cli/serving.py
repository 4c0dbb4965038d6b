# `slotgate serve` runs the proxy; `slotgate check` reads the same configuration in the same way and shows it.

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

from proxy.cli.failure import BadConfig
from proxy.cli.options import Command, config_option, with_output
from proxy.cli.output import Output
from proxy.cli.remarks import refused_state, remarks
from proxy.config import Settings, effective, find_file, load
from proxy.errors import ConfigErrors


def _url_of(text: str) -> tuple[str, str]:
    name, _, url = text.partition("=")
    if not (name and url):
        raise click.BadParameter(f"{text!r} is not NAME=URL")
    return name, url


def _limit_of(text: str) -> tuple[str, int | None]:
    name, _, limit = text.partition("=")
    if not name or not re.fullmatch("none|[0-9]{1,9}", limit):
        raise click.BadParameter(f"{text!r} is not NAME=N, N a number or none")
    return name, None if limit == "none" else int(limit)


def _reads_configuration(command: Command) -> Command:
    """Adds the options that say which configuration, and passes what finds and loads it, now and at each reload."""

    @config_option
    @click.option(
        "--upstream", "upstreams", multiple=True, type=_url_of, metavar="NAME=URL", help="Adds or moves an upstream."
    )
    @click.option("--limit", "limits", multiple=True, type=_limit_of, metavar="NAME=N", help="Limits an upstream.")
    @functools.wraps(command)
    def run(
        *given: Any, config: str | None, upstreams: list[tuple[str, str]], limits: list[tuple[str, int | None]]
    ) -> None:
        command(*given, _Configuration(named=config, upstreams=dict(upstreams), limits=dict(limits)))

    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class _Configuration:
    """What the command line says of it. The file is looked for each time: one that appears later counts, too."""

    named: str | None
    upstreams: Mapping[str, str]
    limits: Mapping[str, int | None]

    def find(self) -> Path | None:
        return find_file(self.named, os.environ)

    def read(self) -> Settings:
        return load(self.find(), env=os.environ, upstreams=self.upstreams, limits=self.limits)


def _first(configuration: _Configuration) -> Settings:
    try:
        return configuration.read()
    except ConfigErrors as errors:
        raise BadConfig(errors.problems) from None


@click.command()
@_reads_configuration
def serve(configuration: _Configuration) -> None:
    """Run the proxy.

    Without a configuration file it knows the built-in upstreams, listens on 127.0.0.1:8787 for clients and on
    127.0.0.1:8788 for the admin API, and limits nothing.
    """
    settings = _first(configuration)
    if refused := refused_state(settings):
        raise BadConfig([f"slotgate: {refused}"])
    for line in remarks(settings):
        click.echo(f"slotgate: {line}", err=True)
    # Here, because no other command needs the server, which takes long to import.
    from proxy.web.server import serve as run

    raise SystemExit(run(configuration.read, settings, configuration.find))


@click.command()
@with_output
@_reads_configuration
def check(output: Output, configuration: _Configuration) -> None:
    """Check the configuration and show it.

    It is shown as it takes effect, every default included, without secrets. Every error is on a line of its own; the
    exit status is 78 then.
    """
    settings = _first(configuration)
    shown = effective(settings)
    output.answer(shown)
    output.document(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True))
    for line in filter(None, [*remarks(settings), refused_state(settings)]):
        output.remark(f"slotgate: {line}")
