# The providers behind the upstreams: who shares one, and which settings are its.
#
# Rule 1: a provider's settings stand in one upstream of the file; what presets bring never clashes with them.
# Rule 2: the command line's limit beats the file's, whichever of the provider's upstreams it names.

from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import urljoin

from .block import Block
from .entries import PROVIDER_KEYS, Entry, Raw, over
from .report import COMMAND_LINE, Report, nearest
from .settings import Provider, Upstream

_FORM = Block(Provider)


def read_providers(
    entries: Iterable[Entry], limits: Mapping[str, int | None], report: Report
) -> tuple[dict[str, Upstream], dict[str, Provider]]:
    """The upstreams by name, now with what their providers say, and the providers by id. `limits` are the command
    line's, by upstream."""
    known = {entry.name: entry for entry in entries}
    for name in (name for name in limits if name not in known):
        at = (f"--limit {name}",)
        report.places[at] = (COMMAND_LINE, None)
        report.add(at, "found no upstream of this name", f"{nearest(name, known)}known here: {', '.join(known)}")
    providers: dict[str, Provider] = {}
    for provider_id, group in _groups(known.values()).items():
        provider = _read(provider_id, group, limits, report)
        if group[0].upstream:
            providers[provider_id] = provider
    upstreams = {
        name: replace(entry.upstream, counted=providers[entry.upstream.provider_id].counted)
        for name, entry in known.items()
        if entry.upstream
    }
    return upstreams, providers


def _groups(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries by provider; one that cannot be used stands for itself, so that the rest of it is read too."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.upstream.provider_id if entry.upstream else f"\0{entry.name}", []).append(entry)
    return groups


def _read(provider_id: str, group: list[Entry], limits: Mapping[str, int | None], report: Report) -> Provider:
    owners = [entry for entry in group if _part(entry.said)]
    for other in owners[1:]:
        _refuse(other, owners[0], provider_id, report)
    owner = owners[0] if owners else group[0]
    raw: Raw = {}
    for entry in group:
        raw = over(raw, _part(entry.rules))
    raw = over(raw, _part(owner.said)) | _command_line(group, owner, limits, report)
    names = tuple(entry.name for entry in group)
    provider = _FORM.read(raw, ("upstreams", owner.name), report, provider_id=provider_id, upstreams=names)
    assert isinstance(provider, Provider), "each of its keys has a default"
    if provider.usage is None:
        return provider
    home = _home(group, owner)
    if home.upstream is None:
        return provider
    return replace(provider, usage=replace(provider.usage, url=urljoin(home.raw["url"], provider.usage.url)))


def _home(group: list[Entry], owner: Entry) -> Entry:
    """The upstream that brings usage.url: it is resolved against that one's URL."""
    if "url" in owner.said.get("usage", {}):
        return owner
    return next((entry for entry in reversed(group) if "url" in entry.rules.get("usage", {})), owner)


def _part(raw: Raw) -> Raw:
    return {key: value for key, value in raw.items() if key in PROVIDER_KEYS}


def _refuse(other: Entry, owner: Entry, provider_id: str, report: Report) -> None:
    """Another upstream's settings of the same provider; they are still looked at for mistakes of their own."""
    part = _part(other.said)
    at = ("upstreams", other.name)
    found = f"found a setting of the provider {provider_id}, whose settings stand in upstreams.{owner.name}"
    report.add((*at, next(iter(part))), found, "allowed: all of a provider's settings in one upstream")
    _FORM.read(over(_part(other.rules), part), at, report, provider_id=provider_id)


def _command_line(group: list[Entry], owner: Entry, limits: Mapping[str, int | None], report: Report) -> Raw:
    """The limit that the command line sets for any of these upstreams."""
    named = [entry.name for entry in group if entry.name in limits]
    if not named:
        return {}
    report.places["upstreams", owner.name, "limit"] = (COMMAND_LINE, None)
    if len({limits[name] for name in named}) > 1:
        found = f"found different limits for {' and '.join(named)}, which share a provider"
        report.add(("upstreams", owner.name, "limit"), found, "allowed: one limit for a provider")
    return {"limit": limits[named[-1]]}
