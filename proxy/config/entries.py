# The upstreams of the file, each over what is built in.
#
# Rule 1: a key of the file beats the preset's, key by key in nested mappings too; null takes the preset's away.
# Rule 2: an entry that is wrong is still read to its end, and its name still exists for those that refer to it.

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from .block import Block, keys_of
from .forms import BAD
from .leaves import choice
from .report import COMMAND_LINE, Report, nearest
from .settings import Provider, Upstream
from .values import UPSTREAM_NAME, URL
from .yaml_lines import read_yaml

Raw = dict[str, Any]

# Whose refusals are known (proxy/ratelimits/dialects.py) though they are no built-in upstreams; `preset` may name them.
DIALECTS = ("cohere", "dashscope", "featherless", "llama-swap", "tgi", "vertex")

PROVIDER_KEYS = keys_of(Provider)
_FORM = Block(Upstream, others=PROVIDER_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One upstream: what the file said, what its preset says, both together, and what was read from that (None when
    it cannot be used). Its provider's settings are still to be read."""

    name: str
    said: Raw
    rules: Raw
    raw: Raw
    upstream: Upstream | None


def read_presets() -> dict[str, Raw]:
    """The built-in upstreams, in the file's vocabulary."""
    report = Report("presets.yaml")
    raw = read_yaml(files("proxy.config").joinpath("presets.yaml").read_text("utf-8"), {}, report)
    report.raise_if_any()
    assert isinstance(raw, dict), "the presets are a mapping"
    return raw


def read_entries(raw: object, *, presets: bool, urls: Mapping[str, str], report: Report) -> list[Entry]:
    """Every upstream, the built-in ones first; `urls` are the command line's. Without `presets` a built-in upstream
    is there only if it is named."""
    builtin = read_presets()
    said = _said(raw, report)
    for name, url in urls.items():
        report.places.setdefault(("upstreams", name), (COMMAND_LINE, None))
        report.places["upstreams", name, "url"] = (COMMAND_LINE, None)
        said[name] = {**said.get(name, {}), "url": url}
    names = dict.fromkeys([*(builtin if presets else ()), *said])
    entries = [_entry(name, said.get(name, {}), builtin, report) for name in names]
    _check_hosts(entries, report)
    return entries


def over(base: Raw, top: Raw) -> Raw:
    """Both mappings in one; where both have a key, the top's value, merged again if both are mappings."""
    both = {
        key: over(base[key], top[key]) for key in top if isinstance(base.get(key), dict) and isinstance(top[key], dict)
    }
    return {**base, **top, **both}


def _said(raw: object, report: Report) -> dict[str, Raw]:
    if raw is None or raw is BAD:
        return {}
    if not isinstance(raw, dict):
        report.wrong(("upstreams",), raw, "a mapping of names to upstreams")
        return {}
    said = {}
    for name, entry in raw.items():
        if isinstance(entry, dict | None):
            said[name] = entry or {}
        elif entry is not BAD:
            report.wrong(("upstreams", name), entry, _FORM.allowed)
    return said


def _entry(name: str, said: Raw, builtin: dict[str, Raw], report: Report) -> Entry:
    at = ("upstreams", name)
    UPSTREAM_NAME.read(name, at, report)
    rules = builtin.get(name, {})
    preset = name if rules else None
    if said.get("preset") is not None:
        preset = choice(*builtin, *DIALECTS).read(said["preset"], (*at, "preset"), report)
    if preset is BAD:
        preset = None
    if preset not in (None, name):
        theirs = {key: value for key, value in builtin.get(preset, {}).items() if key != "url"}
        rules = theirs | ({"url": rules["url"]} if rules else {})
    raw = {**over(rules, said), "preset": preset}
    if "url" not in raw:
        allowed = f"{nearest(name, builtin)}allowed: {URL.allowed}; only a built-in upstream needs none"
        report.add((*at, "url"), "found nothing", allowed)
        raw["url"] = BAD
    upstream = _FORM.read(raw, at, report, name=name)
    if upstream is BAD:
        upstream = None
    else:
        upstream = replace(upstream, provider_id=upstream.provider_id or upstream.url.authority)
    return Entry(name=name, said=said, rules=rules, raw=raw, upstream=upstream)


def _check_hosts(entries: Iterable[Entry], report: Report) -> None:
    owner: dict[str, str] = {}
    for entry in entries:
        for index, host in enumerate(entry.upstream.hosts if entry.upstream else ()):
            if host in owner:
                found = f'found "{host}", which reaches upstreams.{owner[host]} already'
                report.add(("upstreams", entry.name, "hosts", index), found, "allowed: each host once")
            owner.setdefault(host, entry.name)
