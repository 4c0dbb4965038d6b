# Base URLs: what an upstream, or the proxy in front of it, is reached under.
#
# Rule 1: an upstream's URL carries no credentials, query or fragment: the request brings its own.
# Rule 2: credentials of a proxy never appear in a repr, a log or the effective configuration.

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote, urlsplit

from .address import bracketed, split_host_port

_URL = re.compile(r"(https?)://(?:([^@/?#]*)@)?([^@/?#]+)(/[^?#]*)?", re.IGNORECASE)
_PRINTABLE = re.compile(r"[!-~]+")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseUrl:
    """An http or https address to which paths are added. `host` is lower-case, an IPv6 one without brackets; `path`
    has no trailing slash and is "" for the root; `userinfo` is `user:password`, decoded, for a proxy alone."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    path: str = ""
    userinfo: str | None = field(default=None, repr=False)

    @property
    def tls(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """The value for the Host header: the port only where it is not the scheme's own."""
        host = bracketed(self.host)
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        """The URL without its credentials."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(text: str) -> BaseUrl:
    """An upstream's URL; ValueError says what is wrong."""
    url = _parse(text)
    if url.userinfo is not None:
        raise ValueError("no user and password here: clients bring their own credentials")
    return url


def parse_proxy(text: str) -> BaseUrl:
    """A proxy's URL, which may carry `user:password@` but no path; ValueError says what is wrong."""
    url = _parse(text)
    if url.path:
        raise ValueError("a proxy has no path")
    return url


def check_reference(text: str) -> str:
    """The text, when it is a URL reference (RFC 3986 4.1) that resolves to http or https; else ValueError."""
    parts = urlsplit(text)
    if not _PRINTABLE.fullmatch(text) or parts.fragment or "\\" in text:
        raise ValueError("not a URL")
    if parts.scheme not in ("", "http", "https") or (parts.scheme and not parts.netloc):
        raise ValueError("only http and https")
    if parts.netloc:
        parse_url(f"http://{parts.netloc}")
    return text


def _parse(text: str) -> BaseUrl:
    if not text.lower().startswith(("http://", "https://")):
        raise ValueError("it must begin with http:// or https://")
    if not _PRINTABLE.fullmatch(text) or "\\" in text:
        raise ValueError("only printable ASCII without spaces; write the rest percent-encoded")
    found = _URL.fullmatch(text)
    if not found:
        raise ValueError(
            "a query or fragment is not possible here" if re.search("[?#]", text) else "the host is missing"
        )
    scheme: Literal["http", "https"] = "https" if found[1].lower() == "https" else "http"
    host, port = split_host_port(found[3])
    return BaseUrl(
        scheme=scheme,
        host=host.lower(),
        port=_PORTS[scheme] if port is None else port,
        path=(found[4] or "").rstrip("/"),
        userinfo=None if found[2] is None else unquote(found[2]),
    )
