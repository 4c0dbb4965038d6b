# From a file, the environment and the command line to settings, or to everything that is wrong.
#
# Rule 1: all or nothing: settings are returned only when no problem was found anywhere.
# Rule 2: what needs several keys to be judged is judged only when each of them is right by itself.

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from proxy.errors import ConfigErrors

from .block import Block
from .disk import state_file, with_files
from .entries import read_entries
from .forms import BAD
from .providers import read_providers
from .report import Report, nearest
from .settings import Settings
from .yaml_lines import read_yaml

NOTHING: Mapping[str, str] = MappingProxyType({})
NO_LIMITS: Mapping[str, int | None] = MappingProxyType({})

FORM = Block(Settings, others=("upstreams",))


def load(
    path: Path | None,
    *,
    env: Mapping[str, str],
    upstreams: Mapping[str, str] = NOTHING,
    limits: Mapping[str, int | None] = NO_LIMITS,
    text: str | None = None,
) -> Settings:
    """The settings of the file at `path` over the presets; the presets alone when it is None. `upstreams` (URLs) and
    `limits` are the command line's and beat the file; `text` stands for the file's content. ConfigErrors has every
    problem at once."""
    report = Report("configuration" if path is None else str(path))
    if text is None:
        text = "" if path is None else _content(path, report)
    raw = _top_level(read_yaml(text, env, report), env, report)
    settings: Settings = FORM.read(raw, (), report)  # each key has a default, so there always are some
    entries = read_entries(raw.get("upstreams"), presets=settings.presets, urls=upstreams, report=report)
    by_name, providers = read_providers(entries, limits, report)
    settings = replace(settings, upstreams=by_name, providers=providers, source=path)
    settings = with_files(settings, (path or Path()).absolute().parent, env, report)
    _check_listeners(settings, report)
    _check_workers(settings, report)
    _check_default(settings, [entry.name for entry in entries], report)
    report.raise_if_any()
    return settings


def _content(path: Path, report: Report) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        report.add(
            (), f"cannot be read: {error.strerror}", "allowed: a readable file; --config or $SLOTGATE_CONFIG names it"
        )
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        report.add((), f"found the byte 0x{error.object[error.start]:02x}", "allowed: UTF-8", line=line)
    raise ConfigErrors(report.problems)


def _top_level(raw: object, env: Mapping[str, str], report: Report) -> dict[str, object]:
    if raw is None:
        raw = {}
    elif raw is not BAD and not isinstance(raw, dict):
        report.wrong((), raw, FORM.allowed)
    if not isinstance(raw, dict):
        raise ConfigErrors(report.problems)
    if raw.get("state") is None:
        raw["state"] = state_file(env) or BAD
        if raw["state"] is BAD:
            found = "found no place for it: $STATE_DIRECTORY, $XDG_STATE_HOME and $HOME are not set"
            report.add(("state",), found, 'allowed: a file\'s path, or "memory"')
    return raw


def _check_listeners(settings: Settings, report: Report) -> None:
    admin = settings.admin.listen
    if report.clean(("listen",)):
        if not settings.listen:
            report.add(("listen",), "found no address", "allowed: one or more; without one nobody can connect")
        for address, times in Counter(settings.listen).items():
            if times > 1:
                report.add(("listen",), f"found {address} {times} times", "allowed: each address once")
        if admin in settings.listen and report.clean(("admin", "listen")):
            report.add(("admin", "listen"), f"found {admin}, where clients connect", "allowed: an address of its own")
    exposed = admin is not None and not admin.is_loopback and settings.admin.token_file is None
    if exposed and report.clean(("admin", "listen"), ("admin", "token_file")):
        allowed = "allowed: a loopback address or unix:/path, or admin.token_file beside it"
        report.add(("admin", "listen"), f"found {admin}, which others can reach, without a token", allowed)


def _check_workers(settings: Settings, report: Report) -> None:
    """Several processes must share one truth, or each would let as many through as the limit says."""
    if settings.workers > 1 and settings.state.kind != "redis" and report.clean(("state",), ("workers",)):
        kept = "nowhere" if settings.state.kind == "memory" else "in a file of one process"
        report.add(
            ("workers",),
            f"found {settings.workers}, with the state kept {kept}",
            "allowed: 1, or more with a state that they share (redis://…)",
        )


def _check_default(settings: Settings, known: list[str], report: Report) -> None:
    name = settings.default_upstream
    if name is not None and name not in known:
        near = nearest(name, known)
        report.add(
            ("default_upstream",),
            f'found "{name}", which is no upstream',
            f"{near}allowed: {', '.join(known)}, or null",
        )
