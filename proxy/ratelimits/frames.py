# What may be an error inside a successful answer, cut out while the answer's payload comes: the frame of a stream, the
# element of an array, a whole JSON. Pure; `classify(200, headers, frame)` says what a frame means.
#
# Rule 1: where the pieces end never matters: any split of a payload gives the same frames.
# Rule 2: only what shows the mark of an error is cut out. Nearly every piece ends a frame and shows none: whoever has
#         them may keep these to himself (`ends`). A model's text hardly shows one: JSON escapes the quotes in it.
# Rule 3: bounded: what is too long to be an error is dropped up to its end, and reading goes on behind it.
# Rule 4: what came last is kept: when a client leaves, it says whether the answer was over (final.py).

import re
from collections.abc import Sequence
from struct import Struct
from typing import ClassVar, Protocol

from proxy.ratelimits.bodies import is_json
from proxy.ratelimits.final import BEGINNING, is_final_element, is_final_event, is_final_line

FRAME_MAX = 256 * 1024  # bytes; OpenAI's response.failed repeats the instructions and tools of its request
DOCUMENT_MAX = 64 * 1024  # bytes of a whole JSON object: errors are short

Frames = Sequence[bytes]
NONE: Frames = ()

# What bodies.errors_in_success looks for: a field that says something, or the value of a `type`; the name of an event;
# a status of MiniMax' that is not 0. Every object of OpenAI's Responses has an `"error": null`. A mark lies in one
# frame; the event's name begins a line, which a model's text cannot.
_FIELD = re.compile(rb'"error"(?![ \t]*:[ \t]*(?:(?:null|false)\b|""))')
_EVENT = re.compile(rb"(?:^|[\r\n])event: ?error")
_MINIMAX = re.compile(rb'"base_resp"(?![ \t]*:[ \t]*\{[ \t]*"status_code"[ \t]*:[ \t]*0\b)')


def may_be_marked(data: bytes) -> bool:
    """Whether a word of a mark is among these bytes; not of those in Messages."""
    return data.find(b"error") >= 0 or data.find(b"base_resp") >= 0


def _marked(data: bytes) -> bool:
    return (
        (b'"error"' in data and _FIELD.search(data) is not None)
        or (b"event:" in data and _EVENT.search(data) is not None)
        or (b'"base_resp"' in data and _MINIMAX.search(data) is not None)
    )


class Framing(Protocol):
    """Takes the payload of one answer, piece by piece. A piece with one of these `ends` that is not `may_be_marked` may
    be left out: it changes nothing."""

    @property
    def ends(self) -> tuple[bytes, ...]: ...

    def feed(self, data: bytes) -> Frames | None:
        """The frames that these bytes complete and that may hold an error; None if there will be no more."""

    def end(self) -> Frames:
        """The payload is whole, or was cut: what is left of it."""

    def finished(self) -> bool:
        """Whether what came last ends the answer, as its dialect says it."""


class _Separated:
    """Frames with newlines between them."""

    _ends: ClassVar[tuple[bytes, ...]]  # of a piece that ends a frame, as a rule
    _separators: ClassVar[tuple[bytes, ...]]  # of two bytes at most
    _between: ClassVar[re.Pattern[bytes]]  # newlines between two frames, but perhaps the first

    def __init__(self) -> None:
        self._rest = bytearray()  # of a frame whose end has not come; empty between two frames
        self._dropping = False  # the frame is too long: `_rest` is its last byte
        self._beginning = b""  # of the frame that is dropped
        self._last = b""  # the frames that were whole last

    @property
    def ends(self) -> tuple[bytes, ...]:
        return () if self._rest else self._ends

    def feed(self, data: bytes) -> Frames:
        rest = self._rest
        if not rest and data.endswith(self._ends) and not _marked(data):  # the word alone is no mark
            self._last = data
            return NONE
        fresh = max(len(rest) - 1, 0)  # a separator may lie across two pieces
        rest += data if rest else data.lstrip(b"\r\n")
        stop = max(rest.rfind(separator, fresh) for separator in self._separators)
        if stop < 0:
            if self._dropping or len(rest) > FRAME_MAX + 2:  # with a CRLF that may belong to its end
                self._beginning = self._beginning or bytes(rest[:BEGINNING])
                self._dropping = True
                del rest[:-1]
            return NONE
        whole = bytes(rest[:stop])
        frames = self._frames(whole)
        self._last, self._beginning = self._beginning + whole, b""
        self._rest = rest[stop:].lstrip(b"\r\n")
        self._dropping = False
        return frames

    def end(self) -> Frames:
        return self._frames(bytes(self._rest))

    def finished(self) -> bool:
        begun = self._beginning or bytes(self._rest)
        return any(map(self._is_final, (*self._between.split(self._last), begun)))

    def _is_final(self, frame: bytes) -> bool:
        raise NotImplementedError

    def _frames(self, data: bytes) -> Frames:
        if not _marked(data):
            return NONE
        frames = self._between.split(data)
        if self._dropping:
            del frames[0]
        return [frame for each in frames if len(frame := each.strip(b"\r\n")) <= FRAME_MAX and _marked(frame)]


class Events(_Separated):
    """Server-sent events: lines end with LF, CRLF or CR, a frame with an empty line."""

    _ends = (b"\n\n", b"\r\n\r\n")
    _separators = (b"\n\n", b"\n\r", b"\r\r")  # each pair of line ends holds one of these, and CRLF alone does not
    _between = re.compile(rb"(?:\n\n|\n\r|\r\r)[\r\n]*")

    def _is_final(self, frame: bytes) -> bool:
        return is_final_event(frame)


class Lines(_Separated):
    """A JSON value on each line."""

    _ends = (b"\n",)
    _separators = (b"\n", b"\r")
    _between = re.compile(rb"[\r\n]+")

    def _is_final(self, frame: bytes) -> bool:
        return is_final_line(frame)


class Document:
    """One JSON value; what has anything behind it is none."""

    ends = ()

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Frames | None:
        self._size += len(data)
        if self._size > DOCUMENT_MAX:
            self._pieces.clear()
            return None
        self._pieces.append(data)
        return NONE

    def end(self) -> Frames:
        body = b"".join(self._pieces)
        return [body] if _marked(body) and is_json(body) else NONE

    def finished(self) -> bool:
        return is_json(b"".join(self._pieces))


_TEXT = re.compile(rb'["\\]')
_STRUCTURE = re.compile(rb'["{}\[\]]')


class Elements:
    """The objects in a JSON array, which Gemini sends one by one; the last may be an error."""

    ends = ()

    def __init__(self) -> None:
        self._element = bytearray()
        self._depth = 0  # 1 in the array, 2 in an element
        self._quoted = False
        self._escaped = 0  # bytes of the next piece that a backslash has taken
        self._over = False  # what is in the array are no objects
        self._last = b""  # the element that was whole last

    def feed(self, data: bytes) -> Frames | None:
        if self._over:
            return None
        found: list[bytes] = []
        start, at = 0, self._escaped
        while match := (_TEXT if self._quoted else _STRUCTURE).search(data, at):
            at = match.end()
            token = match[0]
            if self._depth == 1 and token in b'"[':
                self._over = True
                return found or None
            if token == b'"':
                self._quoted = not self._quoted
            elif token == b"\\":
                at += 1
            elif token in b"{[":
                self._depth += 1
                if self._depth == 2:
                    start = match.start()
            else:
                self._depth -= 1
                if self._depth == 1:
                    self._keep(data[start:at])
                    found += self._take()
        self._escaped = max(at - len(data), 0)
        if self._depth > 1:
            self._keep(data[start:])
        return found

    def end(self) -> Frames:
        return NONE  # an element that is not whole says nothing

    def finished(self) -> bool:
        return bool(self._last) and (self._depth == 0 or is_final_element(self._last))

    def _keep(self, data: bytes) -> None:
        self._element += data[: FRAME_MAX + 1 - len(self._element)]

    def _take(self) -> Frames:
        element = self._last = bytes(self._element)
        self._element.clear()
        return [element] if len(element) <= FRAME_MAX and _marked(element) else NONE


class Messages:
    """AWS' event stream: length of the message, length of its headers, a checksum, headers, payload, a checksum."""

    ends = ()
    _PRELUDE = Struct(">II4x")
    _CHECKSUM = 4

    def __init__(self) -> None:
        self._rest = bytearray()
        self._dropping = 0  # bytes to come of a message that is too long

    def feed(self, data: bytes) -> Frames | None:
        rest = self._rest
        found: list[bytes] = []
        rest += data[self._dropping :]
        self._dropping = max(self._dropping - len(data), 0)
        prelude = self._PRELUDE.size
        while len(rest) >= prelude:
            length, headers = self._PRELUDE.unpack_from(rest)
            if length < prelude + headers + self._CHECKSUM:
                return found or None
            if length > FRAME_MAX:
                self._dropping = max(length - len(rest), 0)
            elif len(rest) < length:
                break
            elif b":exception-type" in rest[prelude : prelude + headers]:
                found.append(bytes(rest[:length]))
            del rest[:length]
        return found

    def end(self) -> Frames:
        return NONE

    def finished(self) -> bool:
        return False  # AWS' SDKs read to the end
