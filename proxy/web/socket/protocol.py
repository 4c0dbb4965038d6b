# What is said in a socket of the Responses protocol: what asks for an answer, and what begins and ends one. Pure.
#
# Rule 1: only what matters is parsed: nearly every message of the upstream's is a piece of text, and ends at a search.
#         A model's words cannot look like a mark: JSON escapes the quotes in them.
# Rule 2: whatever the bytes, nothing here raises but BadFrame, for text that is none.
# Rule 3: what may ask for an answer, and cannot be read here, asks for one: upstreams read what one parser or another
#         refuses (NaN, half an emoji, deep nesting), and nothing generates without a slot.
#
# Seen: Codex 0.171.0 and Copilot CLI 1.0.102. `stream_id` tells the answers apart that OpenAI gives at the same time.

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec import Raw

from proxy.errors import BadFrame, OwnAnswer
from proxy.wire.websocket import BAD_TEXT, TEXT, frame_bytes

READ_MAX = 1024 * 1024  # bytes of one message of the upstream's; a longer one says at one of its ends what it is
READ_END = 4 * 1024  # bytes of its end: not every server has the type in front, as OpenAI has it
CREATED = "response.created"
ERROR, FAILED = "error", "response.failed"
_FAILURES = frozenset({ERROR, FAILED})
# `response.done` is the Realtime API's, which asks for answers in the same words.
_ENDS = _FAILURES | {"response.completed", "response.incomplete", "response.cancelled", "response.done"}
_ASKS = b"response.create"
_ESCAPE = b"\\u"  # by which any letter of it may be written
_HALF_EMOJI = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")  # or one of two that make a whole
_NO_LETTER = rb"\\ufffd"
_FIELD_MAX = 64 * 1024  # bytes of one field that is looked at; Codex says 1 KB about itself
_VALUES_MAX = 50_000  # in a message for Python's parser, which makes an object of each: some 40 ms at worst
_MARK = re.compile(
    rb'"type"\s*:\s*"(?:error|response\.(?:created|completed|failed|incomplete|cancelled|done))"', re.ASCII
)
# Fields whose values hold nothing: those of a message before its first object, and behind its last.
_FLAT = rb'"[A-Za-z_]{1,64}"\s*:\s*(?:"(?:[^"\\]|\\.){0,256}"|[-+.0-9a-zA-Z]{1,32})'
_FLATS = _FLAT + rb"(?:\s*,\s*" + _FLAT + rb"){0,15}"
_BEGINNING = re.compile(rb"\s*\{\s*(" + _FLATS + rb")\s*,", re.DOTALL)
_END = re.compile(rb"(" + _FLATS + rb")\s*\}\s*\Z", re.DOTALL)
_ID_MAX = 256  # bytes: many of them are kept for each socket; OpenAI's have 55
_RESPONSE_ID = re.compile(rb'"response"\s*:\s*\{\s*"id"\s*:\s*"([^"\\]{1,%d})"' % _ID_MAX)
_ABSENT = Raw(b"null")
_NOTHING: Mapping[str, str] = MappingProxyType({})


class _Message(msgspec.Struct, frozen=True, gc=False):
    """The fields that are looked at; the prompt is passed over, which takes a tenth of the time."""

    type: Raw = _ABSENT
    generate: Raw = _ABSENT
    stream_id: Raw = _ABSENT
    previous_response_id: Raw = _ABSENT
    client_metadata: Raw = _ABSENT


_MESSAGE = msgspec.json.Decoder(_Message)
_FIELD = msgspec.json.Decoder()


class Create(NamedTuple):
    """A message that asks for an answer. `generates`: whether tokens are made for it, so that it takes a slot;
    `previous`: the answer that it goes on from; `metadata`: what the client says about itself in it."""

    generates: bool
    stream: str | None
    previous: str | None
    metadata: Mapping[str, str]


class Event(NamedTuple):
    """A message of the upstream's. `status` is the HTTP status that an error states."""

    kind: str
    response: str | None
    stream: str | None
    status: int | None

    @property
    def begins(self) -> bool:
        return self.kind == CREATED

    @property
    def ends(self) -> bool:
        return self.kind in _ENDS

    @property
    def fails(self) -> bool:
        return self.kind in _FAILURES


def read_create(payload: bytes) -> Create | None:
    """What asks for an answer, or None. BadFrame if it is no text, as it must be."""
    if _ASKS not in payload and _ESCAPE not in payload:
        return None
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        raise BadFrame(BAD_TEXT, "a text message is not UTF-8") from None
    try:
        said = _fields(payload, text)
    except (ValueError, RecursionError):
        return Create(generates=True, stream=None, previous=None, metadata=_NOTHING)
    if said.get("type") != _ASKS.decode():
        return None
    metadata = said.get("client_metadata")
    return Create(
        generates=said.get("generate") is not False,
        stream=_text(said.get("stream_id")),
        previous=_text(said.get("previous_response_id")),
        metadata={k: v for k, v in metadata.items() if isinstance(v, str)} if isinstance(metadata, dict) else _NOTHING,
    )


def may_matter(payload: bytes) -> bool:
    """Whether this may begin or end an answer."""
    return _MARK.search(payload) is not None


def read_event(payload: bytes, end: bytes | None) -> Event | None:
    """What the upstream says; None if it is no event. `end` as Downward's Hearer."""
    said = _object(payload) if end is None else None
    if said is None:
        said = _ends_of(payload, payload[-READ_END:] if end is None else end)
    kind = _text(said.get("type")) or (ERROR if said.get("error") else None)
    response, status = said.get("response"), said.get("status", said.get("status_code"))
    if kind is None:
        return None
    return Event(
        kind,
        _identifier(response.get("id") if isinstance(response, dict) else said.get("response_id")),
        _text(said.get("stream_id")),
        status if isinstance(status, int) and 100 <= status <= 599 else None,
    )


def _ends_of(payload: bytes, end: bytes) -> dict[str, object]:
    """Of what is too long to be parsed, or cannot be, the fields at its beginning and its end, and the answer's id."""
    response = _RESPONSE_ID.search(payload)
    said: dict[str, object] = {} if response is None else {"response": {"id": response[1].decode("latin-1")}}
    for flat in (_BEGINNING.match(payload), _END.search(end)):
        if flat is not None:
            said.update(_object(b"{" + flat[1] + b"}") or {})
    return said


def refusal(error: OwnAnswer) -> bytes:
    """The proxy's own no, as the upstream would say it: a frame for the client."""
    headers = {"x-slotgate-error": error.code}
    if error.retry_after_s is not None:
        headers = {"retry-after": str(error.retry_after_s), **headers}
    said = {
        "type": "error",
        "status": error.status,
        "error": {"type": error.type, "code": error.code, "message": f"slotgate: {error.message}"},
        "headers": headers,
    }
    return frame_bytes(TEXT, json.dumps(said, ensure_ascii=False).encode("utf-8", "replace"))


def _fields(payload: bytes, text: str) -> Mapping[str, object]:
    """Those that are looked at; ValueError or RecursionError if the message cannot be read."""
    try:
        return _read(payload)
    except (msgspec.MsgspecError, RecursionError):
        whole = _HALF_EMOJI.sub(_NO_LETTER, payload)  # what JavaScript cuts so stays in a history for good
    try:
        return _read(whole)
    except (msgspec.MsgspecError, RecursionError):
        if sum(map(payload.count, (b",", b"[", b"{"))) > _VALUES_MAX:
            raise ValueError("too many values") from None
    found = json.loads(text)
    return found if isinstance(found, dict) else {}


def _read(payload: bytes) -> dict[str, object]:
    said = _MESSAGE.decode(payload)
    found = ((name, getattr(said, name)) for name in said.__struct_fields__)
    return {name: _FIELD.decode(raw) for name, raw in found if len(raw) <= _FIELD_MAX}


def _object(payload: bytes) -> dict[str, object] | None:
    try:
        said = json.loads(payload.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _identifier(value: object) -> str | None:
    said = _text(value)
    return said if said is not None and len(said) <= _ID_MAX else None
