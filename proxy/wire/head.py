# The bytes of a message head, read. Pure: no socket, no clock.
#
# Rule 1: strict by construction. What is not a token, a field line ended by CRLF, or a version we speak is refused;
#         nothing is repaired, so that nobody behind us can read the message another way.
# Rule 2: what is read keeps its spelling, order, duplicates and octets, so that it can be passed on (spec §10).
# Rule 3: framing is decided here, once, and whoever writes a head writes the framing that was decided.

import re
from collections.abc import Sequence, Set
from functools import lru_cache
from typing import Final

from proxy.errors import BadMessage

START_LINE_MAX: Final = 16 * 1024  # spec §10
FIELD_MAX: Final = 32 * 1024
FIELDS_MAX: Final = 200

Field = tuple[bytes, bytes]

CONTINUE_EXPECTED = b"100-continue"

_TOKEN: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_REQUEST_LINE: Final = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])\r\n")
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})((?: [\t\x20-\x7e\x80-\xff]*)?)\r\n")
_FIELD_LINES: Final = re.compile(
    rb"(?:[!#$%%&'*+\-.^_`|~0-9A-Za-z]++:[\t\x20-\x7e\x80-\xff]*+\r\n){0,%d}+" % FIELDS_MAX
)
_CONTROLS: Final = bytes([*range(9), *range(10, 32), 127])  # what no line may hold; a bare CR or LF is among them
_LENGTH_DIGITS: Final = 18  # that count: zeros may stand before them
# RFC 3986 3.2.2
_HOST: Final = re.compile(rb"(?:[!$%&'()*+,\-.0-9;=A-Z_a-z~\x80-\xff]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")


@lru_cache(maxsize=4096)
def lowered(name: bytes) -> bytes:
    """A field name in lower case; BadMessage if it is not a token."""
    if _TOKEN.fullmatch(name) is None:
        raise BadMessage("a header name is not a token")
    return name.lower()


class Head:
    """`minor` of HTTP/1.x. `block` has the field lines as they came, each with its CRLF; `names` are theirs in lower
    case, in the same order, and `values` the first value of each."""

    __slots__ = ("block", "minor", "names", "values")

    minor: int
    block: bytes
    names: list[bytes]
    values: dict[bytes, bytes]

    @property
    def lines(self) -> list[bytes]:
        """The field lines as they came, without their CRLF."""
        return self.block.split(b"\r\n")[:-1]

    @property
    def fields(self) -> list[Field]:
        """What the lines say, in order: the name as it is spelled, and the value without blanks around it."""
        return [(name, value.strip(b" \t")) for name, _, value in (line.partition(b":") for line in self.lines)]

    def get(self, name: bytes) -> bytes | None:
        """The first value of a lower-case name."""
        return self.values.get(name)

    def all(self, name: bytes) -> list[bytes]:
        """Every value of a lower-case name, in order."""
        if name not in self.values:
            return []
        if len(self.names) == len(self.values):  # no name comes twice
            return [self.values[name]]
        return [value for found, (_, value) in zip(self.names, self.fields, strict=True) if found == name]


class RequestHead(Head):
    __slots__ = ("method", "target")

    def __init__(
        self, minor: int, block: bytes, names: list[bytes], values: dict[bytes, bytes], method: bytes, target: bytes
    ) -> None:
        self.minor = minor
        self.block = block
        self.names = names
        self.values = values
        self.method = method
        self.target = target


class ResponseHead(Head):
    """`phrase` is what follows the status: a space and the reason, or nothing."""

    __slots__ = ("phrase", "status")

    def __init__(
        self, minor: int, block: bytes, names: list[bytes], values: dict[bytes, bytes], status: int, phrase: bytes
    ) -> None:
        self.minor = minor
        self.block = block
        self.names = names
        self.values = values
        self.status = status
        self.phrase = phrase


def parse_request(raw: bytes) -> RequestHead:
    """A complete head, its empty line included."""
    start, block, names, values = _read(raw, _REQUEST_LINE, "the request line is not METHOD TARGET HTTP/1.1")
    method, target, minor = start.groups()
    head = RequestHead(1 if minor == b"1" else 0, block, names, values, method, target)
    host = values.get(b"host")
    twice = len(names) > len(values) and names.count(b"host") > 1
    if twice or (host is None and head.minor == 1):  # RFC 9112 3.2: exactly one, and one that is a host
        raise BadMessage("a request has exactly one Host")
    if host is not None and _HOST.fullmatch(host) is None:
        raise BadMessage("Host is not a name or an address, with or without a port")
    return head


def parse_response(raw: bytes) -> ResponseHead:
    """A complete head, its empty line included."""
    start, block, names, values = _read(raw, _STATUS_LINE, "the status line is not HTTP/1.1 STATUS REASON")
    minor, status, phrase = start.groups()
    return ResponseHead(1 if minor == b"1" else 0, block, names, values, int(status), phrase)


def _read(
    raw: bytes, start_line: re.Pattern[bytes], otherwise: str
) -> tuple[re.Match[bytes], bytes, list[bytes], dict[bytes, bytes]]:
    """The start line, the block of the field lines, their names, and the first value of each. `otherwise` is the error
    if the start line is all that is wrong."""
    start = start_line.match(raw)
    if start is not None:
        block = raw[start.end() : -2]
        # A head that is short has no line that is too long.
        if _FIELD_LINES.fullmatch(block) is not None and (len(raw) <= START_LINE_MAX or _fault(raw) is None):
            names: list[bytes] = []
            values: dict[bytes, bytes] = {}
            for line in block.split(b"\r\n")[:-1]:
                name, _, value = line.partition(b":")
                name = name.lower()
                names.append(name)
                if name not in values:
                    values[name] = value.strip()  # SP and HTAB are all blanks that it can hold
            return start, block, names, values
    raise BadMessage(_fault(raw) or otherwise)


def _fault(raw: bytes) -> str | None:
    """What is wrong with the lines of a head, or None if that is the start line, but for its length."""
    first, *lines = raw[:-4].split(b"\r\n")
    text = first + b"".join(lines)
    if len(text.translate(None, _CONTROLS)) != len(text):
        return "a control character, or a bare CR or LF, in the head"
    if len(first) > START_LINE_MAX:
        return "the start line is longer than 16 KiB"
    if len(lines) > FIELDS_MAX:
        return "more than 200 headers"
    for line in lines:
        name, colon, _ = line.partition(b":")
        if len(line) > FIELD_MAX:
            return "a header is longer than 32 KiB"
        if line.startswith((b" ", b"\t")):
            return "a folded header line"  # RFC 9112 5.2
        if not colon:
            return "a header line has no colon"
        if _TOKEN.fullmatch(name) is None:
            return "a header name is not a token"
    return None


# --- framing -----------------------------------------------------------------------------------------------------

CHUNKED: Final = -1  # as a body length: chunked coding
UNTIL_CLOSE: Final = -2  # as a body length: whatever comes until the connection closes


def request_length(head: RequestHead) -> int:
    """The request's body: a number of bytes, or CHUNKED (RFC 9112 6.3)."""
    return _declared_length(head) or 0


def response_length(head: ResponseHead, method: bytes) -> int:
    """The answer's body: a number of bytes, CHUNKED, or UNTIL_CLOSE (RFC 9112 6.3)."""
    length = _declared_length(head)
    if method == b"HEAD" or head.status in (204, 304) or head.status < 200:
        return 0
    return UNTIL_CLOSE if length is None else length


def _declared_length(head: Head) -> int | None:
    values = head.values
    length = values.get(b"content-length")
    if b"transfer-encoding" in values:
        if length is not None:
            raise BadMessage("both Transfer-Encoding and Content-Length")  # RFC 9112 6.1: a smuggling shape
        coding = values[b"transfer-encoding"]
        if head.names.count(b"transfer-encoding") > 1 or coding.lower() != b"chunked" or head.minor == 0:
            raise BadMessage("a Transfer-Encoding other than chunked, or on HTTP/1.0")
        return CHUNKED
    if length is None:
        return None
    number = length.lstrip(b"0")  # Python reads no more than 4,300 digits, and zeros are some
    twice = len(head.names) > len(values) and head.names.count(b"content-length") > 1
    if twice or not length.isdigit() or len(number) > _LENGTH_DIGITS:
        raise BadMessage("not one Content-Length with a plain number")
    return int(number or b"0")


# --- what fields say ---------------------------------------------------------------------------------------------


def members(value: bytes) -> list[bytes]:
    """The members of a comma-separated list (RFC 9110 5.6.1), empty ones left out."""
    return [member for part in value.split(b",") if (member := part.strip(b" \t"))]


def connection_options(head: Head) -> Set[bytes]:
    """The lower-case options of every Connection line."""
    value = head.values.get(b"connection")
    if value is None:
        return frozenset()
    if len(head.values) < len(head.names):  # there are lines of one name; several are one list (RFC 9110 5.3)
        value = b",".join(head.all(b"connection"))
    return _options(value)


@lru_cache(maxsize=64)  # nearly every client says one of keep-alive, close and Upgrade
def _options(value: bytes) -> frozenset[bytes]:
    return frozenset(option.lower() for option in members(value))


def expects_continue(value: bytes) -> bool:
    """Whether a value of Expect asks for a 100."""
    return any(member.lower() == CONTINUE_EXPECTED for member in members(value))


def text_fields(fields: Sequence[Field]) -> list[tuple[str, str]]:
    """Fields as str pairs, octet by octet (latin-1), for readers of rate limits."""
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]
