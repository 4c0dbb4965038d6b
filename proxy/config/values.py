# The forms of the settings' single values, and what a name, an address, a file or a place for the state may be.
#
# Rule 1: nothing is opened or looked up here.
# Rule 2: a file's path begins with /, ./, ../ or ~/, so that a forgotten word is never taken for a file's name.

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .address import bracketed, parse_address, split_host_port
from .forms import Secret
from .leaves import pattern, text
from .redis_url import ALLOWED, is_redis_url, parse_redis_url, shown_redis_url
from .url import BaseUrl, check_reference, parse_proxy, parse_url

_FILE = re.compile(r"(?:/|\./|\.\./|~/)[^\0]*[^\0/]")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class State:
    """Where state outlives the process: `target` is the file's path or the shared store's URL."""

    kind: Literal["sqlite", "memory", "redis"]
    target: str = ""

    def __repr__(self) -> str:
        target = shown_redis_url(self.target) if self.kind == "redis" else self.target
        return f"<State {self.kind} {target}>".replace(" >", ">")


def _file(value: str) -> Path:
    if not _FILE.fullmatch(value):
        raise ValueError("a path begins with /, ./, ../ or ~/ and names a file")
    return Path(value)


def _state(value: str) -> State:
    if value == "memory":
        return State(kind="memory")
    if is_redis_url(value):
        parse_redis_url(value)
        return State(kind="redis", target=value)
    return State(kind="sqlite", target=str(_file(value)))


def _show_state(state: State) -> object:
    match state.kind:
        case "memory":
            return "memory"
        case "sqlite":
            return state.target
    return Secret(state.target, shown_redis_url(state.target))


def _host(value: str) -> str:
    host, port = split_host_port(value)
    if port is not None:
        raise ValueError("without the port: any port matches")
    return bracketed(host.lower())


def _printable(value: str) -> str:
    if not (1 <= len(value) <= 128 and value.isprintable() and value == value.strip()):
        raise ValueError
    return str(value)


def _provider(value: str) -> str:
    if value in (".", ".."):  # steps in the path of an address, where the admin API has it
        raise ValueError
    return _printable(value)


def _show_proxy(url: BaseUrl) -> object:
    shown = str(url)
    if url.userinfo is None:
        return shown
    return Secret(shown.replace("://", f"://{url.userinfo}@"), shown.replace("://", "://***@"))


def _show_reference(url: str) -> object:
    path, mark, _ = url.partition("?")  # a query may hold a key
    return Secret(url, f"{path}?***") if mark else url


ADDRESS = text("host:port, [ipv6]:port or unix:/path", parse_address)
ADDRESS_OR_OFF = text(
    f'{ADDRESS.allowed}, or "off" in quotes',
    lambda value: None if value == "off" else parse_address(value),
    lambda address: "off" if address is None else str(address),
)
URL = text("http:// or https:// with a host, and a port and a path where needed", parse_url)
PROXY_URL = text(
    "http:// or https:// with a host, and user:password@ and a port where needed", parse_proxy, _show_proxy
)
REFERENCE = text(
    "a URL, or a path like /v1/usage, which is resolved against the upstream's URL", check_reference, _show_reference
)
HOST = text("a host name without scheme or port", _host)
FILE = text("a file's path", _file)
STATE = text(f'a file\'s path, "memory", or {ALLOWED}', _state, _show_state)
UPSTREAM_NAME = pattern("1 to 64 letters, digits, dots, _ and -, a letter or digit first", r"[A-Za-z0-9][\w.-]{0,63}")
PROVIDER = text("1 to 128 printable characters, and not . or ..", _provider)
USER_AGENT_PART = text("a part of a User-Agent, 1 to 128 printable characters", _printable)
HEADER_NAME = pattern("a header's name", r"[!#$%&'*+.^`|~\w-]{1,128}", str.lower)
HEADER_VALUE = pattern("a header's value in printable ASCII", r"[!-~](?:[ -~]{0,4094}[!-~])?")
METHOD = pattern("a method's name", r"[A-Za-z-]{1,32}", str.upper)
FIELD = pattern("names joined by dots, like usage.concurrent_sessions", r"[^.\s]+(?:\.[^.\s]+)*")
_CHAR, _CHAR_OR_SLASH = r"(?:(?![?#/])[!-~])", r"(?:(?![?#])[!-~])"  # of a path, as it is sent
# A path's end ("/count_tokens", ":countTokens"), or whole segments anywhere ("/files/").
EXCEPTION = pattern(
    "a path's end that begins with / or :, or segments in slashes", f"/{_CHAR_OR_SLASH}*{_CHAR}/?|:{_CHAR}+"
)
