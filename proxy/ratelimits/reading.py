# How the body of a successful answer is read for errors: which coding, which framing.
#
# Rule 1: the Content-Type decides; where it tells nothing, or only JSON, the first bytes do.
# Rule 2: what is neither a stream of JSON nor JSON is not read: a text may be a model's.

from collections.abc import Callable

from proxy.ratelimits.decoding import Decoder
from proxy.ratelimits.frames import NONE, Document, Elements, Events, Frames, Framing, Lines, Messages

UNPACKED_MAX = 1024 * 1024  # bytes that one piece may unpack to: 64 KiB of packed JSON have half of that


def framing_of(content_type: str, content_encoding: str) -> Framing | None:
    """For an answer with these header values (empty: it has none). None where nothing could be read."""
    kind = content_type.partition(";")[0].strip().lower()
    make = _FRAMINGS.get("application/json" if kind.endswith("+json") and kind not in _FRAMINGS else kind)
    if make is None:
        return None
    return _Unpacked(make(), content_encoding) if content_encoding.strip() else make()


class _Sniffed:
    """What the Content-Type does not tell, the first bytes do: also whether it is JSON that they call JSON."""

    _ENOUGH = 6  # bytes: `event:`
    _EVENTS = (b":", b"data:", b"event:", b"id:", b"retry:")

    def __init__(self, of_object: Callable[[bytes], Framing]) -> None:
        self._of_object = of_object
        self._start = b""
        self._inner: Framing | None = None

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

    def _framing(self, start: bytes) -> Framing | None:
        if start.startswith(b"{"):
            return self._of_object(start)
        if start.startswith(b"["):
            return Elements()
        return Events() if start.startswith(self._EVENTS) else None


def _object_or_lines(start: bytes) -> Framing:
    return Document() if start.startswith((b"{\n", b"{\r")) else Lines()  # printed for people, or one on each line


class _Unpacked:
    """The payload of a body with a Content-Encoding."""

    def __init__(self, inner: Framing, encoding: str) -> None:
        self._inner = inner
        self._decoder = Decoder(encoding)

    def feed(self, data: bytes) -> Frames | None:
        found = self._inner.feed(self._decoder.feed(data, UNPACKED_MAX))
        return found or (None if self._decoder.broken else found)

    def end(self) -> Frames:
        return self._inner.end()


def _untold() -> Framing:
    return _Sniffed(_object_or_lines)


def _json() -> Framing:
    return _Sniffed(lambda _: Document())


_FRAMINGS: dict[str, Callable[[], Framing]] = {
    "text/event-stream": Events,
    "application/x-ndjson": Lines,  # Ollama
    "application/ndjson": Lines,
    "application/jsonl": Lines,
    "application/x-jsonlines": Lines,
    "application/stream+json": Lines,  # Cohere
    "application/vnd.amazon.eventstream": Messages,
    "application/json": _json,
    "text/json": _json,
    "": _untold,
    "text/plain": _untold,
    "application/octet-stream": _untold,
}
