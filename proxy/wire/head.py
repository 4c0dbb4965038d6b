# The bytes of a message head, read. Pure: no socket, no clock.
#
# Rule 1: strict by construction. What is not a token, a field line ended by CRLF, or a version we speak is refused;
#         nothing is repaired, so that nobody behind us can read the message another way.
# Rule 2: what is read keeps its spelling, order, duplicates and octets, so that it can be passed on (spec §10).
# Rule 3: framing is decided here, once, and whoever writes a head writes the framing that was decided.

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from proxy.errors import BadMessage

START_LINE_MAX = 16 * 1024  # spec §10
FIELD_MAX = 32 * 1024
FIELDS_MAX = 200

Field = tuple[bytes, bytes]

CONTINUE_EXPECTED = b"100-continue"

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})((?: [\t\x20-\x7e\x80-\xff]*)?)")
_CONTROLS = bytes([*range(9), *range(10, 32), 127])  # what no line may hold; a bare CR or LF is among them
_LENGTH = re.compile(rb"0*[0-9]{1,18}")
_HOST = re.compile(rb"(?:[!$%&'()*+,\-.0-9;=A-Z_a-z~\x80-\xff]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")  # RFC 3986 3.2.2


@lru_cache(maxsize=4096)
def lowered(name: bytes) -> bytes:
    """A field name in lower case; BadMessage if it is not a token."""
    if _TOKEN.fullmatch(name) is None:
        raise BadMessage("a header name is not a token")
    return name.lower()


@dataclass(slots=True, kw_only=True)
class RequestHead:
    """`lines` as sent, `fields` what they say, `names` in lower case: all in the same order. `values` has the first
    value of each name in lower case. `minor` of HTTP/1.x."""

    method: bytes
    target: bytes
    minor: int
    lines: list[bytes]
    fields: list[Field]
    names: list[bytes]
    values: dict[bytes, bytes]

    def get(self, name: bytes) -> bytes | None:
        """The first value of a lower-case name."""
        return self.values.get(name)

    def all(self, name: bytes) -> list[bytes]:
        """Every value of a lower-case name, in order."""
        return _all(self.names, self.fields, name)


@dataclass(slots=True, kw_only=True)
class ResponseHead:
    """As RequestHead, for an answer. `phrase` is what follows the status: a space and the reason, or nothing."""

    status: int
    phrase: bytes
    minor: int
    lines: list[bytes]
    fields: list[Field]
    names: list[bytes]
    values: dict[bytes, bytes]

    def get(self, name: bytes) -> bytes | None:
        """The first value of a lower-case name."""
        return self.values.get(name)

    def all(self, name: bytes) -> list[bytes]:
        """Every value of a lower-case name, in order."""
        return _all(self.names, self.fields, name)


def _all(names: list[bytes], fields: list[Field], name: bytes) -> list[bytes]:
    return [value for found, (_, value) in zip(names, fields, strict=True) if found == name]


def _first(names: list[bytes], fields: list[Field]) -> dict[bytes, bytes]:
    return {name: value for name, (_, value) in zip(reversed(names), reversed(fields), strict=True)}


def parse_request(raw: bytes) -> RequestHead:
    """A complete head, its empty line included."""
    first, lines, fields, names = _lines(raw)
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise BadMessage("the request line is not METHOD TARGET HTTP/1.1")
    method, target, minor = match.groups()
    head = RequestHead(
        method=method,
        target=target,
        minor=1 if minor == b"1" else 0,
        lines=lines,
        fields=fields,
        names=names,
        values=_first(names, fields),
    )
    hosts = names.count(b"host")  # RFC 9112 3.2: exactly one, and one that is a host
    if hosts > 1 or (hosts == 0 and head.minor == 1):
        raise BadMessage("a request has exactly one Host")
    if hosts and _HOST.fullmatch(head.values[b"host"]) is None:
        raise BadMessage("Host is not a name or an address, with or without a port")
    return head


def parse_response(raw: bytes) -> ResponseHead:
    """A complete head, its empty line included."""
    first, lines, fields, names = _lines(raw)
    match = _STATUS_LINE.fullmatch(first)
    if match is None:
        raise BadMessage("the status line is not HTTP/1.1 STATUS REASON")
    minor, status, phrase = match.groups()
    return ResponseHead(
        status=int(status),
        phrase=phrase,
        minor=1 if minor == b"1" else 0,
        lines=lines,
        fields=fields,
        names=names,
        values=_first(names, fields),
    )


def _lines(raw: bytes) -> tuple[bytes, list[bytes], list[Field], list[bytes]]:
    first, *lines = raw[:-4].split(b"\r\n")
    text = first + b"".join(lines)
    if len(text.translate(None, _CONTROLS)) != len(text):
        raise BadMessage("a control character, or a bare CR or LF, in the head")
    if len(first) > START_LINE_MAX:
        raise BadMessage("the start line is longer than 16 KiB")
    if len(lines) > FIELDS_MAX:
        raise BadMessage("more than 200 headers")
    fields: list[Field] = []
    names: list[bytes] = []
    for line in lines:
        if len(line) > FIELD_MAX:
            raise BadMessage("a header is longer than 32 KiB")
        name, colon, value = line.partition(b":")
        if line.startswith((b" ", b"\t")):
            raise BadMessage("a folded header line")  # RFC 9112 5.2
        if not colon:
            raise BadMessage("a header line has no colon")
        names.append(lowered(name))
        fields.append((name, value.strip(b" \t")))
    return first, lines, fields, names


# --- framing -----------------------------------------------------------------------------------------------------

CHUNKED = -1  # as a body length: chunked coding
UNTIL_CLOSE = -2  # as a body length: whatever comes until the connection closes


def request_length(head: RequestHead) -> int:
    """The request's body: a number of bytes, or CHUNKED (RFC 9112 6.3)."""
    length = _declared_length(head.names, head.fields, head.minor)
    return 0 if length is None else length


def response_length(head: ResponseHead, method: bytes) -> int:
    """The answer's body: a number of bytes, CHUNKED, or UNTIL_CLOSE (RFC 9112 6.3)."""
    length = _declared_length(head.names, head.fields, head.minor)
    if method == b"HEAD" or head.status in (204, 304) or head.status < 200:
        return 0
    return UNTIL_CLOSE if length is None else length


def _declared_length(names: list[bytes], fields: list[Field], minor: int) -> int | None:
    lengths = names.count(b"content-length")
    codings = names.count(b"transfer-encoding")
    if not codings and not lengths:
        return None
    if codings and lengths:
        raise BadMessage("both Transfer-Encoding and Content-Length")  # RFC 9112 6.1: a smuggling shape
    if codings:
        coding = fields[names.index(b"transfer-encoding")][1]
        if codings > 1 or coding.lower() != b"chunked" or minor == 0:
            raise BadMessage("a Transfer-Encoding other than chunked, or on HTTP/1.0")
        return CHUNKED
    value = fields[names.index(b"content-length")][1]
    if lengths > 1 or _LENGTH.fullmatch(value) is None:
        raise BadMessage("not one Content-Length with a plain number")
    return int(value.lstrip(b"0") or b"0")  # Python reads no more than 4,300 digits, and zeros are some


# --- what fields say ---------------------------------------------------------------------------------------------


def members(value: bytes) -> list[bytes]:
    """The members of a comma-separated list (RFC 9110 5.6.1), empty ones left out."""
    return [member for part in value.split(b",") if (member := part.strip(b" \t"))]


def connection_options(names: list[bytes], fields: list[Field]) -> set[bytes]:
    """The lower-case options of every Connection line."""
    options: set[bytes] = set()
    for name, (_, value) in zip(names, fields, strict=True):
        if name == b"connection":
            options.update(option.lower() for option in members(value))
    return options


def expects_continue(value: bytes) -> bool:
    """Whether a value of Expect asks for a 100."""
    return any(member.lower() == CONTINUE_EXPECTED for member in members(value))


def text_fields(fields: Sequence[Field]) -> list[tuple[str, str]]:
    """Fields as str pairs, octet by octet (latin-1), for readers of rate limits."""
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]
