# What a request says: the parts of its path, its query, its body.
#
# Rule 1: strict: what could be meant in two ways is refused, and the refusal says what is allowed.
# Rule 2: the raw path is decoded here, once. The framework's own decoding leaves bytes that are not UTF-8 as they were,
#         so that two different paths would name one provider.
# Rule 3: a name is one that a URL can carry: `.` and `..` are steps in a path for whatever makes one, however encoded.

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from aiohttp import web

from proxy.service.admission import Admission
from proxy.service.audit import Actor
from proxy.service.runtime import Runtime
from proxy.web.admin.call import JSON, CallError, Field
from proxy.web.routing import STEPS

BODY_MAX = 64 * 1024  # spec §12
PART_MAX = 128  # characters of a provider's or workspace's name
_SHOWN = 60  # characters of a wrong value that an error repeats
_NAMED = 20  # providers that an error lists
_DIGITS = 20  # of a number in a query
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_CLIENT = "X-Slotgate-Client"
_CLIENTS = (Actor.PAGE, Actor.CLI)

T = TypeVar("T")


def part(request: web.Request, name: str) -> str:
    """The part of the path that the route calls `name`, decoded."""
    resource = request.match_info.route.resource
    assert resource is not None, "only calls have parts"
    at = resource.canonical.split("/").index(f"{{{name}}}")
    raw = request.rel_url.raw_path.split("/")[at]
    allowed = (
        f"{name} in the path: allowed are 1 to {PART_MAX} characters, percent-encoded UTF-8, no control characters, "
        "and not . or .."
    )
    try:
        text = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise CallError(400, "bad_request", allowed) from None
    if _ESCAPE.search(raw) or not 1 <= len(text) <= PART_MAX or _CONTROL.search(text) or text in STEPS:
        raise CallError(400, "bad_request", allowed)
    return text


def known(runtime: Runtime, request: web.Request) -> Admission:
    """The queue of the provider that the path names; 404 if there is no such provider."""
    provider_id = part(request, "providerId")
    found = runtime.admissions.get(provider_id)
    if found is None:
        raise unknown_provider(runtime, provider_id)
    return found


def unknown_provider(runtime: Runtime, provider_id: str) -> CallError:
    """What is said of a provider that is not known."""
    names = sorted(runtime.admissions)
    listed = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return CallError(404, "unknown_provider", f"no provider is called {provider_id}; known are: {listed or 'none'}")


def whole(request: web.Request, name: str, least: int, most: int, default: int) -> int:
    """The query's whole number `name`."""
    value = text(request, name)
    if value is None:
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= _DIGITS and least <= int(value) <= most):
        allowed = f"a whole number from {least} to {most}"
        raise CallError(400, "bad_request", f"{name} in the query: found {_short(value)}; allowed: {allowed}")
    return int(value)


def choice(request: web.Request, name: str, allowed: Sequence[str]) -> str:
    """The query's `name`, one of `allowed`; the first one, if it is absent."""
    value = text(request, name)
    if value is not None and value not in allowed:
        words = " and ".join(allowed)
        raise CallError(400, "bad_request", f"{name} in the query: found {_short(value)}; allowed are {words}")
    return allowed[0] if value is None else value


def text(request: web.Request, name: str) -> str | None:
    """The query's `name`, which stands there once or not at all, without control characters."""
    values = request.query.getall(name, [])
    if len(values) > 1:
        raise CallError(400, "bad_request", f"{name} stands in the query {len(values)} times; allowed: once")
    if values and (len(values[0]) > PART_MAX or _CONTROL.search(values[0])):
        allowed = f"up to {PART_MAX} characters, no control characters"
        raise CallError(400, "bad_request", f"{name} in the query: allowed are {allowed}")
    return values[0] if values else None


def switch(request: web.Request, name: str) -> bool:
    """The query's `name=1`; absent or 0 is no."""
    value = request.query.get(name, "0")
    if value not in ("0", "1"):
        raise CallError(400, "bad_request", f"{name} in the query: allowed are 0 and 1")
    return value == "1"


def actor(request: web.Request) -> Actor:
    """Through what a person acts, as far as it says so."""
    said = request.headers.getall(_CLIENT, [])
    return Actor(said[0]) if len(said) == 1 and said[0] in _CLIENTS else Actor.API


async def field(request: web.Request, wanted: Field[T]) -> T:
    """The one field that the body must hold."""
    body = await _object(request)
    unknown = [name for name in body if name != wanted.name]
    if unknown:
        raise CallError(400, "bad_request", f"{_short(unknown[0])} is no field of this call; it takes {wanted.name}")
    if wanted.name not in body:
        raise CallError(400, "bad_request", f"{wanted.name} is missing; allowed: {wanted.allowed}")
    try:
        return wanted.read(body[wanted.name])
    except ValueError:
        found = _short(json.dumps(body[wanted.name]))
        raise CallError(400, "bad_request", f"{wanted.name}: found {found}; allowed: {wanted.allowed}") from None


async def nothing(request: web.Request) -> None:
    """A call without fields: no body, or an empty object."""
    if request.body_exists and (unknown := next(iter(await _object(request)), None)) is not None:
        raise CallError(400, "bad_request", f"{_short(unknown)} is no field of this call; it takes none")


async def _object(request: web.Request) -> dict[str, Any]:
    if request.body_exists and request.content_type != JSON:
        raise CallError(415, "unsupported_media_type", f"a body needs Content-Type: {JSON}")
    content = await request.read()
    try:
        value = json.loads(content.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError too
        why = f": {error.args[0]}" if isinstance(error, _TwiceError) else ""
        raise CallError(400, "bad_request", f"the body is no JSON object in UTF-8{why}") from None
    if not isinstance(value, dict):
        raise CallError(400, "bad_request", "the body is no JSON object")
    return value


class _TwiceError(ValueError):
    """A field stands in the object more than once."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = Counter(name for name, _ in pairs)
    if len(names) < len(pairs):
        raise _TwiceError(f"{_short(names.most_common(1)[0][0])} stands there twice")
    return dict(pairs)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
