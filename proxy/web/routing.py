# Which upstream a request is for, and the target that goes there (spec §4).
#
# Rule 1: bytes in, bytes out. Names are compared as written, and what is left is sent as written: no decoding, no dot
#         segments resolved, no escape repaired; what is matched here is what the upstream sees.
# Rule 2: where a request goes is ours alone: only configured URLs, and nothing of a target can name another host.
# Rule 3: a `#` is no delimiter here. No client may send one, and what it then means is for the upstream to say.

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

from proxy.config import Counting
from proxy.errors import OwnAnswer

if TYPE_CHECKING:
    from proxy.config import Settings, Upstream

WORKSPACE_CHARACTERS = 128
STEPS = frozenset({".", ".."})  # no names: whatever makes a URL takes them for steps in it, also when they are encoded
NAMES_SHOWN = 40  # upstreams that a 404 lists: enough for the presets and some more
_ECHOED = 64  # characters of an unknown name that are told back

_ABSOLUTE = re.compile(rb"https?://[^/?#]*", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Place:
    """An upstream as requests meet it: what stands before their paths, the Host they get there, and which of them take
    a slot there."""

    __slots__ = ("base", "counting", "host", "upstream")

    def __init__(self, upstream: "Upstream") -> None:
        self.upstream = upstream
        self.base = upstream.url.path.encode()
        self.host = upstream.url.authority.encode()
        self.counting = Counting(upstream)

    def __repr__(self) -> str:
        return f"<Place {self.upstream.name}>"


class Route(NamedTuple):
    """`target` is what the request line to the upstream says; `path` is the same without query and fragment, as latin-1
    text; `workspace` is the one that the URL names."""

    place: Place
    target: bytes
    path: str
    workspace: str | None


class Router:
    """The routes of one configuration; a reload builds a new one."""

    def __init__(self, settings: "Settings") -> None:
        places = {name: Place(up) for name, up in settings.upstreams.items()}
        self._names = {name.encode(): place for name, place in places.items()}
        hosts = ((host, name) for name, up in settings.upstreams.items() for host in up.hosts)
        self._hosts = {_bare(host.encode()): places[name] for host, name in hosts}
        self._default = None if settings.default_upstream is None else places[settings.default_upstream]
        self._workspaces = settings.identity.workspace_from_path

    def match(self, target: bytes, host: bytes | None) -> Route:
        """Where a request with this target and Host goes. A prefix goes before a Host, a Host before the default.

        Raises OwnAnswer: `unknown_upstream`; `bad_request` for an unusable workspace; `unsupported` for a target
        that is no path. The query is in no message."""
        if not target.startswith(b"/"):
            target = _origin_form(target)
        path, mark, query = target.partition(b"?")
        workspace = None
        if self._workspaces and path.startswith(b"/~"):
            name, path = _first_segment(path)
            workspace = _workspace(name[1:])
        name, rest = _first_segment(path)
        place = self._names.get(name)
        if place is None:
            rest = path
            place = (self._hosts.get(_bare(host)) if host and self._hosts else None) or self._default
            if place is None:
                raise self._unknown(name)
        path = place.base + rest or b"/"
        shown = path.partition(b"#")[0]  # what stands behind one may be anything, also a key
        return Route(place, path + mark + query, shown.decode("latin-1"), workspace)

    def _unknown(self, name: bytes) -> OwnAnswer:
        known = [name.decode() for name in self._names]
        listed = ", ".join(known[:NAMES_SHOWN]) or "none"
        if len(known) > NAMES_SHOWN:
            listed += f" and {len(known) - NAMES_SHOWN} more"
        found = ascii(name[:_ECHOED].decode("latin-1")) if name else "(nothing)"
        return OwnAnswer(
            "unknown_upstream", f"the path's first part, {found}, names no upstream; use /NAME/… with one of: {listed}"
        )


def _first_segment(path: bytes) -> tuple[bytes, bytes]:
    """`/one/two` → `one`, `/two`; `/one` → `one`, nothing."""
    end = path.find(b"/", 1)
    return (path[1:], b"") if end < 0 else (path[1:end], path[end:])


def _origin_form(target: bytes) -> bytes:
    """The path and query of an absolute-form target (RFC 9112 3.2.2), whatever authority it names."""
    absolute = _ABSOLUTE.match(target)
    if absolute is None:
        raise OwnAnswer("unsupported", "the request target must be a path; this proxy opens no tunnels to other hosts")
    rest = target[absolute.end() :]
    return rest if rest.startswith(b"/") else b"/" + rest


def _workspace(name: bytes) -> str:
    try:
        workspace = unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        raise _bad_workspace("is not percent-encoded UTF-8") from None
    if not 1 <= len(workspace) <= WORKSPACE_CHARACTERS:
        raise _bad_workspace(f"has {len(workspace)} characters; allowed are 1 to {WORKSPACE_CHARACTERS}")
    if _CONTROL.search(workspace):
        raise _bad_workspace("has a control character")
    return workspace


def _bad_workspace(why: str) -> OwnAnswer:
    return OwnAnswer("bad_request", f"the workspace in the path (/~name/) {why}")


def _bare(host: bytes) -> bytes:
    """A Host without port, brackets and case: `[::1]:80` → `::1`, `Api.Example:80` → `api.example`."""
    host = host.strip().lower()
    if host.startswith(b"["):
        return host[1:].partition(b"]")[0]
    return host.partition(b":")[0] if host.count(b":") == 1 else host
