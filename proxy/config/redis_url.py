# Where a state that several replicas share lies: one server, a socket, Sentinels that know the server, or a Cluster.
#
# Rule 1: nothing is opened or looked up here; files that the URL names are read by who connects.
# Rule 2: no error and no repr shows any part of the URL: what somebody took for a host may be a password.

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

from .address import bracketed, split_host_port
from .report import nearest

Kind = Literal["tcp", "unix", "sentinel", "cluster"]

SCHEMES: Mapping[str, tuple[Kind, bool]] = {
    "redis": ("tcp", False),
    "rediss": ("tcp", True),
    "unix": ("unix", False),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
ALLOWED = (
    "redis:// or rediss://[user:password@]host[:port][/db], unix:///path[?db=0], "
    "redis+sentinel:// or rediss+sentinel://host:port,…/service[/db], redis+cluster:// or rediss+cluster://host:port,…"
)
PREFIX = "slotgate"

_URL = re.compile(r"([a-z+]+)://(?:([^/?#@]*)@)?([^/?#@]*)(/[^?#@]*)?(?:\?([^#]*))?")
_PRINTABLE = re.compile(r"[!-~]+")
_PREFIX = re.compile(r"[A-Za-z0-9_.:-]{1,64}")  # no braces, which would be a hash tag; nothing that a pattern reads
_DATABASE = re.compile(r"[0-9]{1,5}")
_SERVICE = re.compile(r"[A-Za-z0-9_.-]{1,128}")  # what Sentinel takes for a name
_PORT, _SENTINEL_PORT = 6379, 26379
_SOCKET_BYTES = 107  # sun_path of Linux, without its final zero

_KEYS = ("prefix", "password_file")
_KEYS_OF_KIND: Mapping[Kind, tuple[str, ...]] = {
    "tcp": (),
    "unix": ("db",),
    "sentinel": ("sentinel_password_file",),
    "cluster": (),
}
_KEYS_OF_TLS = ("ca", "cert", "key")
_FILES = ("password_file", "sentinel_password_file", *_KEYS_OF_TLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisUrl:
    """What the URL says. `name` is the URL without credentials and query, for people. `hosts` are host (IPv6 without
    brackets) and port: of one server, of Sentinels that know `service`, or of some of a Cluster's nodes; empty with
    the `path` of a socket. `prefix` is what every key begins with. `ca`, `cert`, `key` and the password files are
    absolute paths."""

    kind: Kind
    tls: bool
    name: str
    hosts: tuple[tuple[str, int], ...] = ()
    path: str = ""
    service: str = ""
    db: int = 0
    prefix: str = PREFIX
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    password_file: str | None = None
    sentinel_password_file: str | None = None
    ca: str | None = None
    cert: str | None = None
    key: str | None = None


def is_redis_url(text: str) -> bool:
    """Whether the text is meant to be one; it may still be wrong."""
    scheme, mark, _ = text.partition("://")
    return bool(mark) and scheme in SCHEMES


def parse_redis_url(text: str) -> RedisUrl:
    """The place that the text names; ValueError says what is wrong and what is allowed, and shows nothing of it."""
    if not is_redis_url(text):
        raise ValueError(f"it must begin with one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
    if not _PRINTABLE.fullmatch(text):
        raise ValueError("only printable ASCII without spaces; write the rest percent-encoded")
    found = _URL.fullmatch(text)
    if not found:
        raise ValueError("@ / ? and # in a user's name, a password or a path must be percent-encoded (%40 %2F %3F %23)")
    scheme, userinfo, authority, path, query = found.groups()
    kind, tls = SCHEMES[scheme]
    asked = _query(query or "", [*_KEYS, *_KEYS_OF_KIND[kind], *(_KEYS_OF_TLS if tls else ())])
    username, password = _credentials(userinfo, asked)
    _check_tls(asked)
    files: dict[str, Any] = {name: _file(name, asked[name]) for name in _FILES if name in asked}
    return RedisUrl(
        kind=kind,
        tls=tls,
        name=f"{scheme}://{authority}{path or ''}",
        username=username,
        password=password,
        prefix=_prefix(asked.get("prefix", PREFIX)),
        **files,
        **_PLACES[kind](authority, path or "", asked),
    )


def shown_redis_url(text: str) -> str:
    """A URL that `parse_redis_url` takes, without user and password; there is no other secret in it."""
    scheme, _, rest = text.partition("://")
    before, at, after = rest.partition("@")
    return f"{scheme}://***@{after}" if at and "/" not in before and "?" not in before else text


def _query(text: str, allowed: list[str]) -> dict[str, str]:
    asked: dict[str, str] = {}
    for part in filter(None, text.split("&")):
        name, _, value = part.partition("=")
        name = unquote(name)
        if name not in allowed:
            # Its name is not shown: a value stands there where somebody forgot the name.
            raise ValueError(f"unknown key in the query: {nearest(name, allowed)}known here: {', '.join(allowed)}")
        if name in asked:
            raise ValueError(f"{name} stands twice in the query; allowed: once")
        asked[name] = unquote(value)
    return asked


def _credentials(userinfo: str | None, asked: Mapping[str, str]) -> tuple[str | None, str | None]:
    user, colon, password = (userinfo or "").partition(":")
    if colon and "password_file" in asked:
        raise ValueError("a password and a password_file; allowed: one of the two")
    if user and not colon and "password_file" not in asked:
        raise ValueError("a user without a password; allowed: user:password@, :password@, or password_file=/path")
    return unquote(user) or None, unquote(password) or None


def _check_tls(asked: Mapping[str, str]) -> None:
    if ("cert" in asked) != ("key" in asked):
        raise ValueError("a client certificate needs both cert=/path and key=/path")


def _file(name: str, value: str) -> str:
    if not value.startswith("/") or value.endswith("/") or "\0" in value:
        raise ValueError(f"{name} is the absolute path of a file")
    return value


def _prefix(value: str) -> str:
    if not _PREFIX.fullmatch(value):
        raise ValueError("prefix has 1 to 64 letters, digits, and . _ : -")
    return value


def _db(text: str) -> int:
    if not _DATABASE.fullmatch(text):
        raise ValueError("the database is a whole number, like 0")
    return int(text)


def _hosts(authority: str, port: int) -> tuple[tuple[str, int], ...]:
    hosts = [split_host_port(part) for part in authority.split(",")]
    return tuple((host, port if given is None else given) for host, given in hosts)


def _tcp(authority: str, path: str, asked: Mapping[str, str]) -> dict[str, Any]:
    if "," in authority:
        raise ValueError("one host; several are possible with redis+sentinel:// and redis+cluster://")
    return {"hosts": _hosts(authority, _PORT), "db": _db(path.strip("/") or "0")}


def _unix(authority: str, path: str, asked: Mapping[str, str]) -> dict[str, Any]:
    socket = unquote(path)
    if authority or not socket or socket.endswith("/") or "\0" in socket:
        raise ValueError("a unix socket needs an absolute path: unix:///path")
    if len(socket.encode()) > _SOCKET_BYTES:
        raise ValueError(f"the path of a unix socket has at most {_SOCKET_BYTES} bytes")
    return {"path": socket, "db": _db(asked.get("db", "0"))}


def _sentinel(authority: str, path: str, asked: Mapping[str, str]) -> dict[str, Any]:
    service, _, db = path.strip("/").partition("/")
    if not _SERVICE.fullmatch(service):
        raise ValueError("behind the Sentinels' addresses stands the name of the service: …/mymaster or …/mymaster/0")
    return {"hosts": _hosts(authority, _SENTINEL_PORT), "service": service, "db": _db(db or "0")}


def _cluster(authority: str, path: str, asked: Mapping[str, str]) -> dict[str, Any]:
    if path.strip("/") not in ("", "0"):
        raise ValueError("a Cluster has only the database 0")
    return {"hosts": _hosts(authority, _PORT)}


_PLACES = {"tcp": _tcp, "unix": _unix, "sentinel": _sentinel, "cluster": _cluster}


def names_of(hosts: Iterable[tuple[str, int]]) -> str:
    """Several hosts with their ports, for people."""
    return ", ".join(f"{bracketed(host)}:{port}" for host, port in hosts)
