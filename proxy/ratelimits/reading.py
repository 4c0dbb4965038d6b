# How the body of a successful answer is read for errors: which coding, which framing.
#
# Rule 1: the Content-Type decides; where it tells nothing, or only JSON, the first bytes do.
# Rule 2: JSON may come as one object or as one on each line, whatever it is called; its first line tells.
# Rule 3: what is neither a stream of JSON nor JSON is not read, nor what calls itself text: that may be a model's.

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

from proxy.ratelimits.bodies import is_json
from proxy.ratelimits.decoding import Decoder
from proxy.ratelimits.frames import DOCUMENT_MAX, NONE, Document, Elements, Events, Frames, Framing, Lines, Messages

UNPACKED_MAX = 1024 * 1024  # bytes that one piece may unpack to: 64 KiB of packed JSON have half of that


class Reading(NamedTuple):
    """How bodies of one kind are read: each with a new `framing`. `in_clear`: a body that is not `may_be_marked` holds
    nothing, whatever its framing."""

    framing: Callable[[], Framing]
    in_clear: bool


@lru_cache(maxsize=64)
def reading_of(content_type: bytes, content_encoding: bytes) -> Reading | None:
    """For answers with these header values (empty: they have none). None where nothing could be read."""
    kind = content_type.decode("latin-1").partition(";")[0].strip().lower()
    framing = _FRAMINGS.get("application/json" if kind.endswith("+json") and kind not in _FRAMINGS else kind)
    if framing is None:
        return None
    if content_encoding.strip():
        return Reading(partial(_Unpacked, framing, content_encoding.decode("latin-1")), in_clear=False)
    return Reading(framing, in_clear=framing is not Messages)


class _Sniffed:
    """What the Content-Type does not tell, the first bytes do: also whether it is JSON that they call JSON. What begins
    as an object or as an array is read as `objects` or `arrays`."""

    _ENOUGH = 6  # bytes: `event:`
    _EVENTS = (b":", b"data:", b"event:", b"id:", b"retry:")

    def __init__(self, objects: Callable[[], Framing], arrays: Callable[[], Framing]) -> None:
        self._objects = objects
        self._arrays = arrays
        self._start = b""
        self._inner: Framing | None = None

    @property
    def ends(self) -> tuple[bytes, ...]:
        return () if self._inner is None else self._inner.ends

    def feed(self, data: bytes) -> Frames | None:
        if self._inner is None:
            # Some send blank lines until they have an answer: DeepSeek, OpenRouter.
            data = self._start = (self._start + data).lstrip(b"\xef\xbb\xbf \t\r\n")
            if len(data) < self._ENOUGH:
                return NONE
            self._inner = self._framing(data)
            self._start = b""
        return None if self._inner is None else self._inner.feed(data)

    def end(self) -> Frames:
        return NONE if self._inner is None else self._inner.end()

    def finished(self) -> bool:
        return self._inner is not None and self._inner.finished()

    def _framing(self, start: bytes) -> Framing | None:
        if start.startswith(b"{"):
            return self._objects()
        if start.startswith(b"["):
            return self._arrays()
        return Events() if start.startswith(self._EVENTS) else None


class _Objects:
    """A JSON object on one line or many, or one on each line: known as soon as something follows the first line."""

    def __init__(self) -> None:
        self._start = bytearray()
        self._first = 0  # bytes of the first line, once it has ended
        self._inner: Framing | None = None

    @property
    def ends(self) -> tuple[bytes, ...]:
        return () if self._inner is None else self._inner.ends

    def feed(self, data: bytes) -> Frames | None:
        if self._inner is None:
            start = self._start
            start += data
            if not self._first and b"\n" in data:
                self._first = start.index(b"\n")
            more = start[self._first :].lstrip() if self._first else b""
            size = len(start) - len(more)
            if not more and size <= DOCUMENT_MAX:
                return NONE
            self._inner = Lines() if size <= DOCUMENT_MAX and is_json(bytes(start[: self._first])) else Document()
            self._start, data = bytearray(), bytes(start)
        return self._inner.feed(data)

    def end(self) -> Frames:
        if self._inner is None:
            self._inner = Document()
            self._inner.feed(bytes(self._start))
        return self._inner.end()

    def finished(self) -> bool:
        return is_json(bytes(self._start)) if self._inner is None else self._inner.finished()


class _Unpacked:
    """The payload of a body with a Content-Encoding."""

    ends = ()

    def __init__(self, inner: Callable[[], Framing], encoding: str) -> None:
        self._inner = inner()
        self._decoder = Decoder(encoding)

    def feed(self, data: bytes) -> Frames | None:
        found = self._inner.feed(self._decoder.feed(data, UNPACKED_MAX))
        return found or (None if self._decoder.broken else found)

    def end(self) -> Frames:
        return self._inner.end()

    def finished(self) -> bool:
        return self._inner.finished()


_JSON = partial(_Sniffed, _Objects, Elements)

_FRAMINGS: dict[str, Callable[[], Framing]] = {
    "text/event-stream": Events,
    "application/x-ndjson": Lines,  # Ollama
    "application/ndjson": Lines,
    "application/jsonl": Lines,
    "application/x-jsonlines": Lines,
    "application/stream+json": Lines,  # Cohere
    "application/vnd.amazon.eventstream": Messages,
    "application/json": _JSON,
    "text/json": _JSON,
    "": partial(_Sniffed, Document, Document),  # a text may begin as JSON does, but hardly is JSON to its end
}
