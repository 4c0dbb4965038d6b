# The fields of a request's JSON body that say who is asking, found without building all the rest.
#
# Rule 1: whatever the bytes, nothing here raises.
# Rule 2: one pass over the body; what stands in a message is read when somebody asks for its `value`, and so is what
#         stands in its parts. An agent sends its whole history with each request, and of a megabyte of it the two ends
#         matter.
# Rule 3: bounded: nobody else is served meanwhile, and a few kilobytes of gzip can hold millions of empty lists. Of a
#         list of parts PARTS are read, and a body of more than COMMAS says nothing.
# Rule 4: this module is not compiled (setup.py): it is msgspec that makes something of its classes.

import re
from itertools import islice
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import astuple

# Some MiB of code have as many, else a table; so many values in a list cost 30 ms, parts in a message 60.
COMMAS = 150_000
PARTS = 64  # of one message; more than a handful were never seen, but for results of tools called at once
_HALVES = 10_000  # of emojis, that are mended
_BACKSLASHES = 200_000  # among which these are looked for

ABSENT = Raw(b"null")


class Other(msgspec.Struct, frozen=True, gc=False):
    """An object where none should be."""


Items = list[Raw] | Other | str | int | float | bool | None


class Fields(msgspec.Struct, frozen=True, gc=False):
    """Top-level fields as they stand in the body; absent is null. What is a Raw is for `value` or `names`."""

    prompt_cache_key: Raw = ABSENT  # OpenAI
    metadata: Raw = ABSENT  # Anthropic, Qwen
    client_metadata: Raw = ABSENT  # Codex
    previous_response_id: Raw = ABSENT  # OpenAI Responses
    instructions: Raw = ABSENT  # the system's text: OpenAI Responses
    system: Raw = ABSENT  # Anthropic
    system_instruction: Raw = ABSENT  # Gemini, which takes both spellings
    system_instruction_camel: Raw = msgspec.field(default=ABSENT, name="systemInstruction")
    messages: Items = None  # OpenAI chat, Anthropic
    input: Items = None  # OpenAI Responses
    contents: Items = None  # Gemini
    tools: Raw = ABSENT
    functions: Raw = ABSENT  # OpenAI chat, before there were tools


class Names(msgspec.Struct, frozen=True, gc=False):
    """What `metadata` or `client_metadata` names."""

    user_id: Raw = ABSENT  # Anthropic
    session_id: Raw = ABSENT
    session_id_camel: Raw = msgspec.field(default=ABSENT, name="sessionId")  # Qwen Code, to DashScope
    prompt_id: Raw = msgspec.field(default=ABSENT, name="promptId")
    thread_id: Raw = ABSENT  # Codex
    codex_turn: Raw = msgspec.field(default=ABSENT, name="x-codex-turn-metadata")


class Item(msgspec.Struct, frozen=True, gc=False):
    """A message, or a part of one. `content` is that of Gemini's `parts` where there is no other."""

    role: Items = None
    type: Items = None
    text: Items = None
    content: Items | UnsetType = UNSET
    parts: Items | UnsetType = UNSET  # Gemini's word for content
    function_response: Raw = ABSENT  # Gemini, which takes both spellings
    function_response_camel: Raw = msgspec.field(default=ABSENT, name="functionResponse")


class Attached(msgspec.Struct, frozen=True, gc=False):
    """Where a part of a message has its picture, sound or file."""

    source: Raw = ABSENT  # Anthropic
    image_url: Raw = ABSENT  # OpenAI: an object in chat, a text in Responses
    input_audio: Raw = ABSENT  # OpenAI chat
    file: Raw = ABSENT
    file_id: Raw = ABSENT  # OpenAI Responses
    file_url: Raw = ABSENT
    file_data: Raw = ABSENT  # and Gemini
    file_data_camel: Raw = msgspec.field(default=ABSENT, name="fileData")
    inline_data: Raw = ABSENT  # Gemini
    inline_data_camel: Raw = msgspec.field(default=ABSENT, name="inlineData")


NOTHING = Fields()
"""What a body says that says nothing."""
NAMELESS = Names()

_BODY = msgspec.json.Decoder(Fields)
_NAMES = msgspec.json.Decoder(Names)
_ATTACHED = msgspec.json.Decoder(Attached)
_VALUE = msgspec.json.Decoder(Item | list[Raw] | str | int | float | bool | None)
_HALF = re.compile(  # a surrogate's escape without the other one's; the last look back is over both
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
    found = _decoded(_BODY, raw)
    return found if isinstance(found, Fields) else NOTHING


def value(found: Raw) -> Item | list[Raw] | str | int | float | None:
    """What stands there, an object as an Item; None if nobody can read it."""
    said: Item | list[Raw] | str | int | float | None = None if found is ABSENT else _decoded(_VALUE, found)
    return said


def attached(part: Raw) -> list[bytes]:
    """What hangs on a part of a message, as it stands there."""
    said = _decoded(_ATTACHED, part)
    return [bytes(each) for each in astuple(said) if each is not ABSENT] if isinstance(said, Attached) else []


def names(found: Raw) -> Names:
    """Of an object; NAMELESS if it is none."""
    said = NAMELESS if found is ABSENT else _decoded(_NAMES, found)
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
