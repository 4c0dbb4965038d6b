# Every setting there is: the file's keys as fields, with their forms and defaults.
#
# Rule 1: this is the one place where a key, its range and its default stand; the example file repeats the defaults.
# Rule 2: frozen from here on; a reload makes new Settings and compares.
# Rule 3: durations are seconds (`*_s`), sizes bytes; header names and hosts are lower-case.

# ruff: noqa: RUF009 (`key` makes a field, not a value)

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from . import values as v
from .address import Address
from .block import Block, Found, key
from .forms import ListOf, MapOf, Maybe, WordOrList
from .leaves import AUTO, choice, count, duration, flag, or_auto, secret, size
from .units import show_duration
from .url import BaseUrl


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """The admin listener; `listen` is None for "off". `token` is what the token file holds, None without one."""

    listen: Address | None = key(v.ADDRESS_OR_OFF, default=Address(host="127.0.0.1", port=8788))
    token_file: Path | None = key(Maybe(v.FILE, "no token"), default=None)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    level: str = key(choice("debug", "info", "warning", "error"), default="info")
    format: str = key(choice("auto", "json", "console"), default="auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Header names that say who is asking; the built-in ones come on top of these."""

    workspace: tuple[str, ...] = key(ListOf(v.HEADER_NAME), default=())
    conversation: tuple[str, ...] = key(ListOf(v.HEADER_NAME), default=())
    prompt_started_at: tuple[str, ...] = key(ListOf(v.HEADER_NAME), default=())
    turn_gap_s: float = key(duration("0s", "1d"), name="turn_gap", default=600.0)
    workspace_from_path: bool = key(flag(), default=True)
    workspace_from_peer: bool = key(flag(), default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """`keepalive` is "auto", "off", or User-Agent substrings that are sent 102s on top of "auto"'s."""

    max_waiting: int = key(count(0, 1_000_000), default=1000)
    max_wait_s: float = key(duration("10ms", "7d"), name="max_wait", default=600.0)
    body_limit: int = key(size("1KiB", "16GiB"), default=64 * 1024**2)
    body_budget: int = key(size("0", "1024GiB"), default=512 * 1024**2)
    keepalive: Literal["auto", "off"] | tuple[str, ...] = key(
        WordOrList(choice("auto", "off"), ListOf(v.USER_AGENT_PART)), default="auto"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    grace_s: float = key(duration("0s", "1d"), name="grace", default=30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    verify: bool = key(flag(), default=True)
    ca_file: Path | None = key(Maybe(v.FILE, "the system's authorities"), default=None)


# Spec §6.1: none of these makes a provider generate tokens. See proxy/config/counting.py for what an entry matches.
NOT_COUNTED = (
    "/count_tokens",
    ":countTokens",
    "/tokenize",
    "/detokenize",
    "/files/",
    "/uploads/",
    "/batches/",
    "/api/event_logging/",
    "/api/claude_code/",
    "/telemetry/",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Which requests take a slot: these methods, but for these paths."""

    methods: frozenset[str] = key(ListOf(v.METHOD, make=frozenset), default=frozenset({"POST"}))
    except_: tuple[str, ...] = key(ListOf(v.EXCEPTION), name="except", default=NOT_COUNTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """How long a rate limit holds the queue; what `default_s` says is clamped like what the provider says."""

    default_s: float = key(duration("0s", "1d"), name="default", default=30.0)
    min_s: float = key(duration("0s", "1d"), name="min", default=0.0)
    max_s: float = key(duration("0s", "1d"), name="max", default=600.0)


def _pause_in_order(pause: Pause) -> Iterator[Found]:
    if pause.min_s > pause.max_s:
        low, high = show_duration(pause.min_s), show_duration(pause.max_s)
        yield "min", f"found {low}, which is more than max, {high}", "allowed: a min up to max"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The provider's own count of our requests. `url` is absolute: it was resolved against its upstream's URL."""

    url: str = key(v.REFERENCE)
    field: str = key(v.FIELD)
    headers: Mapping[str, str] = key(MapOf(v.HEADER_NAME, secret(v.HEADER_VALUE)), factory=dict, hidden=True)
    timeout_s: float = key(duration("10ms", "1m"), name="timeout", default=2.0)
    interval_s: float = key(duration("10ms", "10m"), name="interval", default=1.0)
    age_s: float = key(duration("0s", "1m"), name="age", default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """One base URL. `preset` names the built-in whose rules apply, if any; `counted` is its provider's."""

    name: str
    url: BaseUrl = key(v.URL)
    hosts: tuple[str, ...] = key(ListOf(v.HOST), default=())
    provider_id: str = key(Maybe(v.PROVIDER, "the URL's host"), name="provider", default="")
    preset: str | None = key(Maybe(v.UPSTREAM_NAME, "none"), default=None)
    counted: Counted = Counted()
    connect_timeout_s: float = key(duration("10ms", "10m"), name="connect_timeout", default=10.0)
    tls: Tls = key(Block(Tls), default=Tls())
    reuse: bool = key(flag(), default=True)
    websocket: str = key(choice("auto", "tunnel", "per_response", "refuse"), default="auto")
    tunnel_idle_s: float | None = key(Maybe(duration("10ms", "7d"), "never"), name="tunnel_idle", default=None)
    proxy: BaseUrl | None = key(Maybe(v.PROXY_URL, "none"), default=None)


COOLDOWN_S = 0.35  # what "auto" begins with, too


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What a limit is counted against. `limit` is None for unlimited; with `learn_limit` (limit: auto) that is where it
    begins. `learn_cooldown` is cooldown: auto."""

    provider_id: str
    upstreams: tuple[str, ...] = ()
    limit: int | None = key(Maybe(or_auto(count(1, 100_000), None), "unlimited"), default=None)
    learn_limit: bool = key(AUTO, name="limit", default=False)
    cooldown_s: float = key(or_auto(duration("0s", "10m"), COOLDOWN_S), name="cooldown", default=COOLDOWN_S)
    learn_cooldown: bool = key(AUTO, name="cooldown", default=False)
    auto_reduce: bool = key(flag(), default=True)
    auto_restore_s: float | None = key(Maybe(duration("1s", "30d"), "never"), name="auto_restore", default=None)
    absorb: int = key(count(0, 20), default=0)
    strikes: int | None = key(Maybe(count(1, 10_000), "any number"), default=None)
    pause: Pause = key(Block(Pause, check=_pause_in_order), default=Pause())
    slot_timeout_s: float | None = key(Maybe(duration("10ms", "7d"), "never"), name="slot_timeout", default=300.0)
    max_hold_s: float | None = key(Maybe(duration("10ms", "30d"), "never"), name="max_hold", default=None)
    counted: Counted = key(Block(Counted), default=Counted())
    usage: Usage | None = key(Maybe(Block(Usage), "no gate"), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything. `upstreams` is by name, `providers` by id; each upstream's provider is among them. `source` is the
    file it came from, None for the presets alone."""

    listen: tuple[Address, ...] = key(ListOf(v.ADDRESS, bare=True), default=(Address(host="127.0.0.1", port=8787),))
    admin: Admin = key(Block(Admin), default=Admin())
    state: v.State = key(v.STATE, default=v.State(kind="memory"))
    workers: int = key(count(1, 64), default=1)
    presets: bool = key(flag(), default=True)
    default_upstream: str | None = key(Maybe(v.UPSTREAM_NAME, "none"), default=None)
    client_header_timeout_s: float = key(duration("10ms", "1h"), name="client_header_timeout", default=30.0)
    log: Log = key(Block(Log), default=Log())
    identity: Identity = key(Block(Identity), default=Identity())
    queue: Queue = key(Block(Queue), default=Queue())
    shutdown: Shutdown = key(Block(Shutdown), default=Shutdown())
    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    source: Path | None = None
