# What the settings name on this machine: where the file and the state lie, and the files that are read with it.
#
# Rule 1: a relative path counts from the folder of the file that names it; ~/ is $HOME.
# Rule 2: what cannot be read now is an error now, not when the first request needs it.

import os
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from .report import Report
from .settings import Admin, Settings, Upstream
from .values import State

SYSTEM_FILE = Path("/etc/slotgate/slotgate.yaml")
_TOKEN = re.compile(r"[!-~]{1,4096}")  # what can follow "Bearer " in a header


def find_file(explicit: str | None, env: Mapping[str, str], *, system: Path = SYSTEM_FILE) -> Path | None:
    """The configuration file by the order of spec §3.1: the one that is named, whether it exists or not, else the
    first of the usual places that has one, else None."""
    named = explicit or env.get("SLOTGATE_CONFIG")
    if named:
        return Path(named)
    places = [system]
    if home := _home(env, "XDG_CONFIG_HOME", ".config"):
        places.append(home / "slotgate" / "slotgate.yaml")
    # Path.is_file would raise for a folder that we may not look into.
    return next((place for place in places if os.path.isfile(place)), None)


def state_file(env: Mapping[str, str]) -> str | None:
    """Where the state lies when the file does not say; None when there is no such place."""
    # systemd.exec(5): several directories are separated by colons.
    if given := env.get("STATE_DIRECTORY", "").split(":")[0]:
        return f"{given}/state.db"
    home = _home(env, "XDG_STATE_HOME", ".local/state")
    return f"{home}/slotgate/state.db" if home else None


def with_files(settings: Settings, folder: Path, env: Mapping[str, str], report: Report) -> Settings:
    """The settings with absolute paths and the token; `folder` is that of the file."""

    def absolute(path: Path) -> Path:
        first, *rest = path.parts
        return Path(env.get("HOME", "~"), *rest) if first == "~" else folder / path

    state, admin = settings.state, settings.admin
    if state.kind == "sqlite":
        state = State(kind="sqlite", target=str(absolute(Path(state.target))))
    if admin.token_file:
        admin = _with_token(replace(admin, token_file=absolute(admin.token_file)), report)
    upstreams = {name: _with_authorities(upstream, absolute, report) for name, upstream in settings.upstreams.items()}
    return replace(settings, state=state, admin=admin, upstreams=upstreams)


def _home(env: Mapping[str, str], variable: str, below: str) -> Path | None:
    """A base directory of the XDG specification, which has a relative one ignored."""
    given = env.get(variable, "")
    if given.startswith("/"):
        return Path(given)
    return Path(env["HOME"], below) if env.get("HOME") else None


def _with_token(admin: Admin, report: Report) -> Admin:
    at = ("admin", "token_file")
    try:
        token = admin.token_file.read_text("utf-8").strip() if admin.token_file else ""
    except (OSError, UnicodeDecodeError) as error:
        report.add(at, f"found {admin.token_file}, which cannot be read: {_why(error)}", "allowed: a readable file")
        return admin
    if not _TOKEN.fullmatch(token):
        found = f"found {admin.token_file}, which holds " + ("something else than a token" if token else "nothing")
        report.add(at, found, "allowed: a file with one token of printable ASCII without spaces")
        return admin
    return replace(admin, token=token)


def _with_authorities(upstream: Upstream, absolute: Callable[[Path], Path], report: Report) -> Upstream:
    if upstream.tls.ca_file is None:
        return upstream
    ca_file = absolute(upstream.tls.ca_file)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(ca_file)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        found = f"found {ca_file}, which cannot be used: {_why(error)}"
        report.add(("upstreams", upstream.name, "tls", "ca_file"), found, "allowed: a file of PEM certificates")
    return replace(upstream, tls=replace(upstream.tls, ca_file=ca_file))


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
