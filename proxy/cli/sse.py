# Server-sent events, read.
#
# Rule 1: pure; bytes arrive in any pieces. WHATWG HTML 9.2.6, except that a line ends in LF alone here, which is what
#         the proxy sends.

import json
from typing import Any, NamedTuple

_MOST = 1024 * 1024  # bytes of one event


class Event(NamedTuple):
    """`id` is "" where it has none; `data` is what its JSON says."""

    id: str
    name: str
    data: dict[str, Any]


class Reader:
    """`feed` bytes; it answers the events that are complete. ValueError: that is no event stream of ours."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, more: bytes) -> list[Event]:
        *blocks, self._rest = (self._rest + more).split(b"\n\n")
        if len(self._rest) > _MOST:
            raise ValueError("an event without an end")
        return [event for block in blocks if (event := _event(block)) is not None]


def _event(block: bytes) -> Event | None:
    fields: dict[str, str] = {}
    for line in block.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
    if "data" not in fields:
        return None  # a comment
    data = json.loads(fields["data"])
    if not isinstance(data, dict):
        raise ValueError("an event that is no object")  # noqa: TRY004 - as what json.loads raises
    return Event(fields.get("id", ""), fields.get("event", "message"), data)
