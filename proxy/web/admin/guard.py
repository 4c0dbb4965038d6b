# Who may call the admin API (spec §12).
#
# Rule 1: with a token, the token decides; writes that a foreign page made are refused all the same.
# Rule 2: without one, only this machine may call, by a name that is this machine's (a name that another site points
#         here would carry that site's scripts past the browser's rules), and only from our own page.
# Rule 3: what is judged is the connection that was accepted, not what the configuration says by now.
# Rule 4: a stranger learns nothing: not which paths exist, not how wrong a token was.
#
# A unix socket is guarded by its file's mode; a browser cannot reach it, so that any Host or none will do there.

import hmac
import ipaddress
from collections.abc import Collection

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from proxy.config import Address
from proxy.config.address import split_host_port
from proxy.service.runtime import Runtime
from proxy.web.admin.call import CallError

_READS = ("GET", "HEAD", "OPTIONS")
_OWN_SITES = ("same-origin", "none")  # none: the person's own doing, such as an address that was typed


def guard(runtime: Runtime, open_paths: Collection[str]) -> Middleware:
    """The middleware; calls at `open_paths` need no token."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        token = runtime.settings.admin.token
        if token is None:
            _check_local(request)
        elif not (_is_open(request, open_paths) or _bears(request, token)):
            words = "this call needs Authorization: Bearer"
            raise CallError(401, "unauthorized", words, {"WWW-Authenticate": "Bearer"})
        if (token is None or request.method not in _READS) and _foreign(request):
            words = "the request comes from another site's page; a proxy in front must pass the Host header on"
            raise CallError(403, "forbidden", words)
        return await handler(request)

    return check


def _is_open(request: web.Request, open_paths: Collection[str]) -> bool:
    resource = request.match_info.route.resource
    return resource is not None and resource.canonical in open_paths


def _bears(request: web.Request, token: str) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    # Bytes: a header may hold what is no ASCII, which compare_digest takes in no other form.
    same = hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), token.encode())
    return same and scheme.lower() == "bearer"


def _check_local(request: web.Request) -> None:
    place = request.get_extra_info("sockname")
    if isinstance(place, str | bytes):
        return  # a unix socket
    if place is None or not _is_this_machine(place[0]):
        raise CallError(403, "forbidden", "without a token this address answers nobody; set admin.token_file")
    hosts = request.headers.getall("Host", [])
    if hosts and not request.raw_path.startswith("/"):  # RFC 9112 3.2.2: an absolute target counts before Host
        hosts.append(request.url.raw_authority)
    if not hosts or not all(map(_is_loopback_name, hosts)):
        raise CallError(
            421, "misdirected", "the Host header must be localhost, 127.0.0.1 or [::1], with or without port"
        )


def _is_this_machine(address: str) -> bool:
    """Whether a connection that was accepted at `address` came from this machine."""
    place = ipaddress.ip_address(address)
    mapped = place.ipv4_mapped if isinstance(place, ipaddress.IPv6Address) else None
    return (mapped or place).is_loopback


def _is_loopback_name(host: str) -> bool:
    try:
        return Address(host=split_host_port(host)[0]).is_loopback
    except ValueError:
        return False


def _foreign(request: web.Request) -> bool:
    """Whether another site's page made the request, as far as the browser tells."""
    if request.headers.get("Sec-Fetch-Site", "none").lower() not in _OWN_SITES:
        return True
    origins = request.headers.getall("Origin", [])
    return any(not _is_own(origin.lower(), request.headers.get("Host", "").lower()) for origin in origins)


def _is_own(origin: str, host: str) -> bool:
    """The same host and port, or both this machine's under different names. `null` is nobody's."""
    scheme, _, authority = origin.partition("://")
    if scheme not in ("http", "https") or not authority:
        return False
    return authority == host or (
        _is_loopback_name(authority) and _is_loopback_name(host) and _port(authority) == _port(host)
    )


def _port(authority: str) -> int | None:
    return split_host_port(authority)[1]
