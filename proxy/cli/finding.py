# Which proxy a command talks to, and with which token.
#
# Rule 1: what is named is used and nothing else; else what the configuration says that `serve` would read.
# Rule 2: the configuration's token goes only to the address that stands beside it.

import os
from pathlib import Path

import click
import yaml

from proxy.cli.admin import Admin
from proxy.cli.failure import BadConfig, Failure
from proxy.config import Address, BaseUrl, Settings, find_file, load, parse_address, parse_url
from proxy.config import Admin as AdminSettings
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
    path = find_file(config, os.environ)
    settings = _admin_settings(path)
    if settings.listen is None:
        raise Failure("admin_off", f"{path} turns the admin API off; --admin URL names another one")
    return Admin(at=_reached(settings.listen), token=token or settings.token)


def _admin_settings(path: Path | None) -> AdminSettings:
    try:
        return load(path, env=os.environ).admin
    except ConfigErrors as errors:
        # The rest of the file may be broken just now, or need what only the service's environment has.
        try:
            return load(path, env=os.environ, text=_admin_part(path)).admin
        except (OSError, ValueError, yaml.YAMLError, ConfigErrors):
            wrong = BadConfig(errors.problems)
            wrong.lines.append("slotgate: a proxy that runs is reached all the same with --admin URL")
            raise wrong from None


def _admin_part(path: Path | None) -> str:
    content = yaml.safe_load(path.read_text("utf-8")) if path else None
    if not isinstance(content, dict):
        raise ValueError  # noqa: TRY004 - the file's fault, like every other one of its values
    return yaml.safe_dump({"admin": content.get("admin"), "state": "memory"})


def _place(named: str) -> BaseUrl | Path:
    try:
        return parse_url(named) if "://" in named else _reached(parse_address(named))
    except ValueError as error:
        words = f"{named!r} is no address like http://host:port, host:port or unix:/path: {error}"
        raise click.BadParameter(words, param_hint="--admin") from None


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
