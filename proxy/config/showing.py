# Settings as a person reads them, and what changed between two of them.
#
# Rule 1: people never see a secret: usage headers, tokens and credentials in URLs are "***".
# Rule 2: what is shown is the file's own vocabulary, every default included, and can be loaded again.

from collections.abc import Mapping
from typing import Any

from .block import Block
from .forms import Secret
from .settings import Provider, Settings, Upstream

_NEED_RESTART = ("listen", "admin.listen", "state", "workers")


def effective(settings: Settings) -> dict[str, object]:
    """The whole configuration in force, without secrets, in values that JSON and YAML know."""
    masked = _masked(_shown(settings))
    assert isinstance(masked, dict)
    return masked


def diff(old: Settings, new: Settings) -> tuple[list[str], list[str]]:
    """The paths of the keys that differ, in the order of the new settings, and those of them that a running process
    cannot take over. An upstream that came or went is one path."""
    changed = _changed(_shown(old), _shown(new), "")
    if old.admin.token != new.admin.token and "admin.token_file" not in changed:
        changed.append("admin.token_file")
    return changed, [path for path in changed if path in _NEED_RESTART]


def _shown(settings: Settings) -> dict[str, Any]:
    """A provider's settings stand in the first of its upstreams."""
    shown = Block(Settings).show(settings)
    upstreams = {name: Block(Upstream).show(upstream) for name, upstream in settings.upstreams.items()}
    for provider in settings.providers.values():
        upstreams[provider.upstreams[0]].update(Block(Provider).show(provider))
    return {**shown, "upstreams": upstreams}


def _masked(value: object) -> object:
    match value:
        case Secret():
            return value.masked
        case dict():
            return {key: _masked(item) for key, item in value.items()}
        case list():
            return [_masked(item) for item in value]
    return value


def _changed(old: Mapping[str, Any], new: Mapping[str, Any], at: str) -> list[str]:
    changed = []
    for key in dict.fromkeys([*new, *old]):
        before, after, path = old.get(key), new.get(key), f"{at}{key}"
        if isinstance(before, dict) and isinstance(after, dict):
            changed += _changed(before, after, f"{path}.")
        elif before != after or (key in old) != (key in new):
            changed.append(path)
    return changed
