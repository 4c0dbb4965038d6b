# What either side must see, given what the other one sent: spec §10 and §4 once more, in the fewest words.
#
# Rule 1: written from the contract and the RFCs alone; nothing of the package is used, or was looked up.
# Rule 2: it knows valid messages only. What it does not name, it passes on as it came: spelling, order, duplicates,
#         white space round values, octets, chunk sizes, extensions, trailers.
#
# Where the contract is silent, invisible means:
# - White space round a value is part of what was sent.
# - `Connection: close` is said, last in its head, to a client whose connection ends with the answer. No other line is
#   ever added, but for HTTP/1.0's Host, which comes first (RFC 9110 7.2).
# - Where the protocol may be switched, and in a 426, Upgrade stays, and so does the Connection line that lists it: as
#   it is, or without what else it lists. A 101 that has none is given one, as its last line.
# - Connection cannot take away Host, the framing, or `TE: trailers`, which has to be listed (RFC 9110 10.1.4).
# - A client of HTTP/1.0 gets no chunks, so no Transfer-Encoding and no Trailer, and always a close.
# - An upstream's 100 answers an Expect that it never saw, and goes nowhere.

import re
from dataclasses import dataclass

from chunks import chunked_size, has_last_chunk, payload

OPEN, FIN, RST = "open", "fin", "rst"

HOP_BY_HOP = {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization"}
OWN = {b"x-slotgate-workspace", b"x-slotgate-conversation", b"x-slotgate-prompt-started-at"}
NEVER_LISTED = {b"host", b"content-length", b"transfer-encoding", b"te", b"upgrade"}


@dataclass(frozen=True, slots=True)
class Seen:
    """What one side saw, and how the other one then stood."""

    data: bytes
    ended: str = OPEN


@dataclass(frozen=True, slots=True)
class Head:
    start: bytes
    lines: list[bytes]

    def values(self, name: bytes) -> list[bytes]:
        return [line.partition(b":")[2].strip(b" \t") for line in self.lines if name_of(line) == name]

    def members(self, name: bytes) -> set[bytes]:
        return {member.strip(b" \t").lower() for value in self.values(name) for member in value.split(b",")}

    @property
    def old(self) -> bool:
        return b"HTTP/1.0" in (self.start[:8], self.start[-8:])

    @property
    def method(self) -> bytes:
        return self.start.partition(b" ")[0]

    @property
    def status(self) -> int:
        return int(self.start[9:12])

    @property
    def switches(self) -> bool:
        """Whether a request asks for a WebSocket in a way that may be granted (RFC 9110 7.8, RFC 6455 4.1)."""
        asked = self.members(b"upgrade") == {b"websocket"} and b"upgrade" in self.members(b"connection")
        return asked and self.method == b"GET" and not self.old


def read_head(raw: bytes) -> tuple[Head, bytes] | None:
    """The head that `raw` begins with and what follows; None while it is not whole."""
    head, end, rest = raw.partition(b"\r\n\r\n")
    start, *lines = head.split(b"\r\n")
    return (Head(start, lines), rest) if end else None


def name_of(line: bytes) -> bytes:
    return line.partition(b":")[0].lower()


def upstream_sees(request: bytes, authority: bytes, *, prefix: bytes = b"/up", base: bytes = b"") -> bytes:
    """`request` as the upstream that `prefix` leads to gets it; `base` is the path of its URL."""
    read = read_head(request)
    assert read is not None
    head, body = read
    method, target, _ = head.start.split(b" ")
    target = base + re.sub(rb"(?i)^https?://[^/?#]*", b"", target).removeprefix(prefix)
    start = b"%s %s HTTP/1.1" % (method, target if target.startswith(b"/") else b"/" + target)
    host = [] if head.values(b"host") else [b"Host: " + authority]
    lines = []
    for line in _passed(head, upgrade=head.switches):
        name = name_of(line)
        if name == b"host":
            lines.append(line.partition(b":")[0] + b": " + authority)
        elif b"100-continue" in (expected := Head(b"", [line]).members(b"expect")):
            others = expected - {b"100-continue", b""}
            lines += [line[:6] + b": " + b", ".join(sorted(others))] if others else []
        elif name not in OWN and name != b"forwarded" and not name.startswith(b"x-forwarded-"):
            lines.append(line)
    return _written(start, host + lines) + body


def client_sees(answer: bytes, ended: str, request: bytes) -> Seen | None:
    """An upstream's `answer` to `request` as the client gets it, and how its connection stands afterwards, when the
    upstream has `ended` its own. None where there was no whole final head: the client then gets a 502 of ours."""
    asked = read_head(request)
    assert asked is not None
    client = asked[0]
    told = b""
    while (read := read_head(answer)) is not None:
        head, answer = read
        if head.status == 101:
            lines = _passed(head, upgrade=True, alt_svc=False)
            if b"connection" not in map(name_of, lines):
                lines.append(b"Connection: Upgrade")
            return Seen(told + _written(head.start, lines) + answer, ended)
        if head.status >= 200:
            final = _final(head, answer, ended, client)
            return Seen(told + final.data, final.ended)
        if head.status != 100 and not client.old:
            told += _written(_ours(head.start), _passed(head, alt_svc=False))
    return None


def upstream_kept(answer: bytes, ended: str, request: bytes) -> bool:
    """Whether the upstream's connection may carry another request after a whole answer and nothing but it."""
    asked = read_head(request)
    assert asked is not None
    while (read := read_head(answer)) is not None:
        head, answer = read
        if head.status >= 200:
            size = _body_size(head, answer, asked[0].method)
            return (
                size == len(answer) and not head.old and b"close" not in head.members(b"connection") and ended == OPEN
            )
    return False


def _final(head: Head, rest: bytes, ended: str, client: Head) -> Seen:
    size = _body_size(head, rest, client.method)
    chunked = bool(head.values(b"transfer-encoding"))
    by_close = size is None and not chunked and not head.values(b"content-length")
    unframed = by_close or (chunked and client.old)
    closes = unframed or client.old or b"close" in client.members(b"connection")
    lines = _passed(head, upgrade=head.status == 426, alt_svc=False)
    if client.old:
        lines = [line for line in lines if name_of(line) not in (b"transfer-encoding", b"trailer")]
    if closes:
        lines.append(b"Connection: close")
    body = rest if size is None else rest[:size]
    if chunked and client.old:
        body = payload(body)
    if size is not None:
        stands = FIN if closes else OPEN
    elif by_close:
        stands = ended
    else:
        # Cut: a FIN shows it where the framing has said that more must come; behind the last chunk many read no more.
        stands = RST if unframed or (chunked and has_last_chunk(rest)) else FIN
    return Seen(_written(_ours(head.start), lines) + body, stands)


def _body_size(head: Head, rest: bytes, method: bytes) -> int | None:
    """How much of `rest` is the answer's body (RFC 9112 6.3); None if its end is not there."""
    if method == b"HEAD" or head.status in (204, 304):
        return 0
    if head.values(b"transfer-encoding"):
        return chunked_size(rest)
    if (lengths := head.values(b"content-length")) and len(rest) >= int(lengths[0]):
        return int(lengths[0])
    return None


def _passed(head: Head, *, upgrade: bool = False, alt_svc: bool = True) -> list[bytes]:
    listed = head.members(b"connection") - NEVER_LISTED
    removed = (
        HOP_BY_HOP | listed | {b"te"} | (set() if upgrade else {b"upgrade"}) | (set() if alt_svc else {b"alt-svc"})
    )
    lines = []
    for line in head.lines:
        name, alone = name_of(line), Head(b"", [line])
        codings, options = alone.members(b"te"), alone.members(b"connection") - {b""}
        if b"trailers" in codings:
            lines.append(line if codings == {b"trailers"} else line[:2] + b": trailers")
        elif upgrade and b"upgrade" in options:
            lines.append(line if options == {b"upgrade"} else line[:10] + b": Upgrade")
        elif name not in removed:
            lines.append(line)
    return lines


def _ours(status_line: bytes) -> bytes:
    return b"HTTP/1.1" + status_line[8:]


def _written(start: bytes, lines: list[bytes]) -> bytes:
    return b"\r\n".join([start, *lines, b"", b""])
