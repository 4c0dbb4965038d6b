# Which proxy a command talks to, and with which token.
#
# Rule 1: what is named is used and nothing else; else what the configuration says that `serve` would read.
# Rule 2: the configuration's token goes only to the address that stands beside it.

import os
from pathlib import Path

import click

from proxy.cli.admin import Admin
from proxy.cli.failure import BadConfig, Failure
from proxy.config import Address, BaseUrl, Settings, find_file, load, parse_address, parse_url
from proxy.errors import ConfigErrors
from proxy.web.tools import base_url


def settings_of(config: str | None) -> Settings:
    """What `serve` would run with; Failure with every problem, one a line."""
    try:
        return load(find_file(config, os.environ), env=os.environ)
    except ConfigErrors as errors:
        raise BadConfig(errors.problems) from None


def find_admin(named: str | None, token_file: str | None, config: str | None) -> Admin:
    """The admin API at `named`, or at the place in the configuration."""
    token = _token(token_file) if token_file else None
    if named:
        return Admin(at=_place(named), token=token)
    try:
        settings = settings_of(config)
    except BadConfig as failure:
        failure.lines.append("slotgate: until that is right, --admin URL names the running proxy")
        raise
    if settings.admin.listen is None:
        raise Failure("admin_off", f"{settings.source} turns the admin API off; --admin URL names another one")
    return Admin(at=_reached(settings.admin.listen), token=token or settings.admin.token)


def _place(named: str) -> BaseUrl | Path:
    try:
        return parse_url(named) if "://" in named else _reached(parse_address(named))
    except ValueError as error:
        raise click.BadParameter(f"{named!r} is no address of an admin API: {error}", param_hint="--admin") from None


def _reached(address: Address) -> BaseUrl | Path:
    url = base_url(address)
    return Path(address.path) if url is None else parse_url(url)


def _token(path: str) -> str:
    try:
        token = Path(path).read_text("ascii").strip()
    except OSError as error:
        raise Failure("bad_token_file", f"the token file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        token = ""
    if not token.isprintable() or len(token.split()) != 1:
        raise Failure("bad_token_file", f"the token file {path} does not hold one token of printable ASCII")
    return token
