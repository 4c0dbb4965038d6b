# What stands in a request's JSON body, found without building all the rest.
#
# Rule 1: whatever the bytes, nothing here raises.
# Rule 2: one pass over the body; what stands in a message is read when somebody asks for its `value`.
# Rule 3: bounded: nobody else is served meanwhile, and a few kilobytes of gzip can hold millions of empty lists. Of a
#         list of parts PARTS are read, and a body of more than COMMAS says nothing.

import re
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

from proxy.web.identity_fields import (
    ABSENT,
    ATTACHED,
    BODY,
    NAMELESS,
    NAMES,
    NOTHING,
    VALUE,
    Attached,
    Fields,
    Item,
    Names,
)

# Some MiB of code have as many, else a table; so many values in a list cost 30 ms, parts in a message 60.
COMMAS: Final = 150_000
PARTS: Final = 64  # of one message; more than a handful were never seen, but for results of tools called at once
_HALVES: Final = 10_000  # of emojis, that are mended
_BACKSLASHES: Final = 200_000  # among which these are looked for

_HALF: Final = re.compile(  # a surrogate's escape without the other one's; the last look back is over both
    rb"\\u[dD](?:[89abAB][\s\S]{2}(?!\\u[dD][c-fC-F])|[c-fC-F][\s\S]{2}(?<!\\u[dD][89abAB][\s\S]{8}))"
)


def read(raw: bytes) -> Fields:
    """The body's fields; NOTHING if it is no JSON object."""
    if raw[:64].lstrip()[:1] != b"{":
        return NOTHING
    if raw.startswith(b"{\0"):  # RFC 8259 has UTF-8 alone, the one before it had these too
        raw = _as_utf_8(raw, "utf-32-le" if raw.startswith(b"{\0\0\0") else "utf-16-le")
    if len(raw) > COMMAS and raw.count(b",") > COMMAS:
        return NOTHING
    found = _decoded(BODY, raw)
    return found if isinstance(found, Fields) else NOTHING


def value(found: Raw) -> Item | list[Raw] | str | int | float | None:
    """What stands there, an object as an Item; None if nobody can read it."""
    said: Item | list[Raw] | str | int | float | None = None if found is ABSENT else _decoded(VALUE, found)
    return said


def attached(part: Raw) -> list[bytes]:
    """What hangs on a part of a message, as it stands there."""
    said = _decoded(ATTACHED, part)
    return [bytes(each) for each in astuple(said) if each is not ABSENT] if isinstance(said, Attached) else []


def names(found: Raw) -> Names:
    """Of an object; NAMELESS if it is none."""
    said = NAMELESS if found is ABSENT else _decoded(NAMES, found)
    return said if isinstance(said, Names) else NAMELESS


def is_empty(found: Raw) -> bool:
    """Whether this is nothing, or a list or an object of nothing."""
    return found is ABSENT or bytes(found).strip(b"[]{} \t\r\n") in (b"", b"null")


def _decoded(decoder: "msgspec.json.Decoder[Any]", raw: bytes | Raw) -> Any:
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        mended = _mended(bytes(raw))
    try:
        return None if mended is None else decoder.decode(mended)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _as_utf_8(raw: bytes, encoding: str) -> bytes:
    try:
        return raw.decode(encoding).encode()
    except UnicodeDecodeError:
        return b""


def _mended(raw: bytes) -> bytes | None:
    """A text that was cut in the middle of an emoji, as JavaScript does it, is JSON, but no text for msgspec: with
    U+FFFD there. None if that is not what is wrong, or if too much of it is."""
    if b"\xed" in raw:  # as no UTF-8 should have it
        raw = raw.decode("utf-8", "replace").encode()
    elif b"\\ud" not in raw and b"\\uD" not in raw:
        return None
    if raw.count(b"\\\\") > _BACKSLASHES:
        return None
    halves = list(islice(_HALF.finditer(raw.replace(b"\\\\", b"__")), _HALVES + 1))  # a backslash itself begins none
    if len(halves) > _HALVES:
        return None
    whole = bytearray(raw)
    for half in halves:
        whole[half.start() + 2 : half.end()] = b"fffd"
    return bytes(whole)
