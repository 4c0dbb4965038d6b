# The fields of a request's JSON body that say who is asking, found without building all the rest.
#
# Rule 1: whatever the bytes, nothing here raises.
# Rule 2: one pass over the body; what stands in a message is built when somebody asks for its `value`. An agent sends
#         its whole history with each request, and of a megabyte of it the two ends matter.
# Rule 3: this module is not compiled (setup.py): it is msgspec that makes something of its class.

import json
import re
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import fields

Value = list[Raw] | dict[str, Raw] | str | int | float | bool | None

ABSENT = Raw(b"null")


class Fields(msgspec.Struct, frozen=True, gc=False):
    """Top-level fields as they stand in the body; absent is null. What is a Raw is for `value`, which takes all."""

    prompt_cache_key: Raw = ABSENT  # OpenAI
    metadata: Raw = ABSENT  # Anthropic, Qwen
    client_metadata: Raw = ABSENT  # Codex
    previous_response_id: Raw = ABSENT  # OpenAI Responses
    instructions: Raw = ABSENT  # the system's text: OpenAI Responses
    system: Raw = ABSENT  # Anthropic
    system_instruction: Raw = ABSENT  # Gemini, which takes both spellings
    system_instruction_camel: Raw = msgspec.field(default=ABSENT, name="systemInstruction")
    messages: Value = None  # OpenAI chat, Anthropic
    input: Value = None  # OpenAI Responses
    contents: Value = None  # Gemini
    tools: Value = None
    functions: Value = None  # OpenAI chat, before there were tools


NOTHING = Fields()
"""What a body says that says nothing."""

_BODY = msgspec.json.Decoder(Fields)
_ANY = msgspec.json.Decoder()
_NAMES = {field.encode_name: field.name for field in fields(Fields)}
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PYTHON = json.JSONDecoder()
_BLANKS = " \t\r\n"  # RFC 8259 2


def read(raw: bytes) -> Fields:
    """The body's fields; NOTHING if it is no JSON object."""
    if raw[:64].lstrip()[:1] != b"{":
        return NOTHING
    if raw.startswith(b"{\0"):  # RFC 8259 has UTF-8 alone, the one before it had these too
        raw = _as_utf_8(raw, "utf-32-le" if raw.startswith(b"{\0\0\0") else "utf-16-le")
    try:
        return _BODY.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        found = _with_lone_surrogates(raw)
    if not isinstance(found, dict):
        return NOTHING
    said: dict[str, Any] = {_NAMES[name]: said for name, said in found.items() if name in _NAMES}
    return Fields(**said)


def value(found: object) -> object:
    """What stands there, as Python has it; None if nobody can read it."""
    if not isinstance(found, Raw):
        return found
    if found is ABSENT:
        return None
    try:
        return _ANY.decode(found)
    except (msgspec.MsgspecError, RecursionError):
        return _with_lone_surrogates(bytes(found))


def _as_utf_8(raw: bytes, encoding: str) -> bytes:
    try:
        return raw.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return b""


def _with_lone_surrogates(raw: bytes) -> object:
    """A text that was cut in the middle of an emoji, as JavaScript does it, is JSON, but no text for msgspec."""
    if _SURROGATE.search(raw) is None and b"\xed" not in raw:  # escaped, or as no UTF-8 should have it
        return None
    try:
        text = raw.decode("utf-8", "surrogatepass").strip(_BLANKS)
        found, end = _PYTHON.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return found if end == len(text) else None
