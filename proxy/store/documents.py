# What the shared state keeps, as text and back. (What unpacks a write in Redis knows no bytes.)
#
# Rule 1: what is read back equals what was written; what nobody wrote is a ValueError, without its content.
# Rule 2: replicas of two versions may run side by side: what a newer one adds is ignored, so a name never gets another
#         meaning, and `_Seen` only grows at its end.
# Rule 3: a document of a history begins with its stamp, so that the same one written twice is there once, and those of
#         the same moment have an order.

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from proxy.store.records import Minute, ProviderRecord, SavedChange, SavedEvent, Span
from proxy.store.sql import LAST_MS

STAMP = 16  # characters, hexadecimal
_MANY = 2**53  # of one duration: more than ever were, and exact in JavaScript

T = TypeVar("T")


class _Seen(msgspec.Struct, array_like=True, frozen=True):
    """A minute of one replica. There are many: without names each takes half the room."""

    at: int
    replica: str
    seen_ms: int
    limit: int | None
    in_flight_max: int
    in_flight_ms: int
    queued_max: int
    queued_ms: int
    oldest_wait_ms: int
    granted: int
    completed: int
    rate_limited: int
    reduced: int
    paused_ms: int
    waits: tuple[Span, ...]
    first_bytes: tuple[Span, ...]


class _Event(msgspec.Struct, frozen=True):
    at: int
    name: str
    provider_id: str | None
    data: dict[str, Any]


_OF_A_MINUTE = tuple(name for name in _Seen.__struct_fields__ if name != "replica")
_SUMS = tuple(name for name in _OF_A_MINUTE if name not in ("limit", "waits", "first_bytes"))


class Stamped(NamedTuple):
    """A document of a history: it is of the moment `at`, and is kept as `member`."""

    at: int
    member: str


def record_document(record: ProviderRecord) -> str:
    """UnicodeEncodeError, TypeError, OverflowError, here and below: it cannot be written."""
    return msgspec.json.encode(record).decode()


def read_record(document: bytes) -> ProviderRecord:
    return _decoded(document, ProviderRecord)


def event_document(event: SavedEvent, stamp: int) -> Stamped:
    kept = _Event(at=event.at, name=event.name, provider_id=event.provider_id, data=dict(event.data))
    return _stamped(event.at, kept, stamp)


def read_event(member: bytes) -> SavedEvent:
    said = _decoded(member[STAMP:], _Event)
    return SavedEvent(at=_moment(said.at), name=said.name, provider_id=said.provider_id, data=said.data)


def minute_document(minute: Minute, replica: str, stamp: int) -> Stamped:
    values = {name: getattr(minute, name) for name in _OF_A_MINUTE}
    return _stamped(minute.at, _Seen(replica=replica, **values), stamp)


def read_minutes(provider_id: str, members: Iterable[bytes]) -> list[tuple[str, Minute]]:
    """Each with the replica that saw it."""
    return [_minute(provider_id, _decoded(member[STAMP:], _Seen)) for member in members]


def change_document(change: SavedChange, stamp: int) -> Stamped:
    return _stamped(change.at, change, stamp)


def read_change(member: bytes) -> SavedChange:
    change = _decoded(member[STAMP:], SavedChange)
    _moment(change.at)
    return change


def read_name(member: bytes) -> str:
    """A workspace, or a provider. ValueError: it is not UTF-8."""
    return member.decode()


def _stamped(at: int, said: object, stamp: int) -> Stamped:
    return Stamped(at, f"{stamp:0{STAMP}x}{msgspec.json.encode(said).decode()}")


def _decoded(document: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(document, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("it is not what was written") from None


def _moment(at: int) -> int:
    if not 0 <= at <= LAST_MS:
        raise ValueError("it is of no time")
    return at


def _minute(provider_id: str, said: _Seen) -> tuple[str, Minute]:
    _moment(said.at)
    values: Mapping[str, Any] = {name: getattr(said, name) for name in _OF_A_MINUTE}
    if min(values[name] for name in _SUMS) < 0 or (said.limit or 0) < 0:
        raise ValueError("a number is less than nothing")
    if not all(_is_span(span) for spans in (said.waits, said.first_bytes) for span in spans):
        raise ValueError("what it counts is no span of time")
    return said.replica, Minute(provider_id=provider_id, **values)


def _is_span(span: Span) -> bool:
    bounded = span.high_ms is None or span.high_ms <= LAST_MS
    return 0 <= span.low_ms <= LAST_MS and bounded and 0 <= span.number <= _MANY
