# Where a listener listens: `host:port`, `[ipv6]:port` or `unix:/path`.
#
# Rule 1: nothing is looked up here; a name is only checked for its form.
# Rule 2: loopback decides whether the admin listener needs a token, so in doubt an address is not loopback.

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Literal

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?", re.ASCII)
_LIKE_IPV4 = re.compile(r"[0-9.]+", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
_HOST_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::(.*))?", re.DOTALL)
_UNIX_PATH_BYTES = 107  # sun_path of Linux, without its final zero


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One listener's address. A "tcp" one has host (an IPv6 address without brackets) and port, a "unix" one a path."""

    kind: Literal["tcp", "unix"] = "tcp"
    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        return f"unix:{self.path}" if self.kind == "unix" else f"{bracketed(self.host)}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it; a unix socket counts."""
        if self.kind == "unix" or self.host.lower() == "localhost":
            return True
        try:
            return (IPv6Address if ":" in self.host else IPv4Address)(self.host).is_loopback
        except ValueError:
            return False  # another name: what it stands for is not ours to guess


def parse_address(text: str) -> Address:
    """The address that the text names; ValueError says what is wrong."""
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not path.startswith("/") or path.endswith("/") or "\0" in path:
            raise ValueError("a unix socket needs an absolute path")
        if len(path.encode()) > _UNIX_PATH_BYTES:
            raise ValueError(f"the path of a unix socket has at most {_UNIX_PATH_BYTES} bytes")
        return Address(kind="unix", path=path)
    host, port = split_host_port(text)
    if port is None:
        raise ValueError("the port is missing")
    return Address(host=host, port=port)


def split_host_port(text: str) -> tuple[str, int | None]:
    """Host (IPv6 without brackets) and port of `host`, `host:port` or `[ipv6]:port`; ValueError says what is wrong."""
    if text.count(":") > 1 and not text.startswith("["):
        raise ValueError("an IPv6 address needs brackets")
    found = _HOST_PORT.fullmatch(text)
    if not found:
        raise ValueError("not host:port")
    host, port = found[1], found[2]
    if port is not None and not (_PORT.fullmatch(port) and 1 <= int(port) <= 65535):
        raise ValueError("the port is a number from 1 to 65535")
    return check_host(host), None if port is None else int(port)


def check_host(text: str) -> str:
    """The host without brackets, when it is an IPv4 address, a bracketed IPv6 one or a DNS name; else ValueError."""
    if text.startswith("["):
        try:
            return str(IPv6Address(text[1:-1]))
        except ValueError:
            raise ValueError("no IPv6 address in the brackets") from None
    if not text:
        raise ValueError("the host is missing; 0.0.0.0 or [::] stand for every address")
    if _LIKE_IPV4.fullmatch(text):
        try:
            return str(IPv4Address(text))
        except ValueError:
            raise ValueError("no IPv4 address") from None
    if len(text) > 253 or not _NAME.fullmatch(text):
        raise ValueError("not a host name; other alphabets in their xn-- form")
    return text


def bracketed(host: str) -> str:
    """The host as it stands in front of a port."""
    return f"[{host}]" if ":" in host else host
