# Heads as they are passed on: what is not taken out stays as it came, byte for byte (spec §10). Pure.
#
# Rule: of a head without a name that concerns us only Host is looked at; the other lines pass as one block.

import re
from collections.abc import Callable, Mapping, Sequence, Set

from proxy.wire.head import (
    CONTINUE_EXPECTED,
    Head,
    RequestHead,
    ResponseHead,
    connection_options,
    expects_continue,
    members,
)

# RFC 9110 7.6.1 and what proxies remove by custom. Transfer-Encoding is not here: it stays where chunked bytes stay.
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"upgrade",
    }
)
_OF_REQUESTS = HOP_BY_HOP | {b"expect", b"forwarded"}
_FORWARDED = b"x-forwarded-"  # it and Forwarded would tell about the client's network
_OF_ANSWERS = HOP_BY_HOP | {b"alt-svc"}
_OF_CHUNKS = frozenset({b"transfer-encoding", b"trailer"})
# Even a Connection line cannot take these away: they are the framing and the address of the message.
_PROTECTED = frozenset({b"content-length", b"transfer-encoding", b"host"})
_HOST_LINE = re.compile(rb"^(host):[^\r]*", re.IGNORECASE | re.MULTILINE)

# What is left of a line, by its name in lower case: a line, or nothing.
_Left = Mapping[bytes, Callable[[bytes], bytes]]


def request_bytes(
    head: RequestHead,
    target: bytes,
    host: bytes,
    *,
    own: Set[bytes] = frozenset(),
    upgrade: bool = False,
    extra: Sequence[bytes] = (),
) -> bytes:
    """The head as the upstream gets it: `target` and `host` are its own, `own` are names that were meant for us,
    `extra` are lines for a forward proxy on the way."""
    block, names = head.block, head.values.keys()
    forwarded = _FORWARDED in block.lower()
    if forwarded or not names.isdisjoint(_OF_REQUESTS) or not names.isdisjoint(own):
        taken = _OF_REQUESTS | own
        if forwarded:
            taken |= {name for name in names if name.startswith(_FORWARDED)}
        block = _without(head, taken, _LEFT_OF_UPGRADE if upgrade else _LEFT_OF_REQUEST)
    if b"host" in names:  # in its place and spelling
        before, name, behind = _HOST_LINE.split(block, 1)
    else:
        before, name, behind = b"", b"Host", b"\r\n" + block
    for line in extra:
        behind += line + b"\r\n"
    return b"%s %s HTTP/1.1\r\n%s%s: %s%s\r\n" % (head.method, target, before, name, host, behind)


def response_bytes(head: ResponseHead, *, close: bool = False, dechunked: bool = False, upgrade: bool = False) -> bytes:
    """The head as the client gets it. `close` announces the end of the connection; `dechunked` is for HTTP/1.0
    clients, which know no chunked coding; `upgrade` keeps the switch to another protocol."""
    block = head.block
    if dechunked or not head.values.keys().isdisjoint(_OF_ANSWERS):
        taken = _OF_ANSWERS | _OF_CHUNKS if dechunked else _OF_ANSWERS
        tells_upgrade = upgrade or head.status == 426  # RFC 9110 15.5.22: such a refusal says what it would take
        block = _without(head, taken, _LEFT_OF_SWITCH if tells_upgrade else _LEFT_OF_ANSWER)
    if upgrade and b"upgrade" not in connection_options(head):
        block += b"Connection: Upgrade\r\n"
    if close:
        block += b"Connection: close\r\n"
    return b"HTTP/1.1 %d%s\r\n%s\r\n" % (head.status, head.phrase, block)


def _without(head: Head, taken: frozenset[bytes], left: _Left) -> bytes:
    """The block without the lines whose names are `taken` or listed by Connection, but for what is `left` of them."""
    taken |= connection_options(head) - _PROTECTED
    lines = [
        line if name not in taken else left.get(name, _nothing)(line)
        for name, line in zip(head.names, head.lines, strict=True)
    ]
    return b"\r\n".join([*filter(None, lines), b""])


def _nothing(line: bytes) -> bytes:
    return b""


def _as_it_is(line: bytes) -> bytes:
    return line


def _without_continue(line: bytes) -> bytes:
    """What is left of an Expect line: 100-continue is answered here, by a 100 or a refusal; whoever cannot meet another
    expectation says so by itself (RFC 9110 10.1.1)."""
    name, _, value = line.partition(b":")
    if not expects_continue(value):
        return line
    others = [member for member in members(value) if member.lower() != CONTINUE_EXPECTED]
    return name + b": " + b", ".join(others) if others else b""


def _trailers_alone(line: bytes) -> bytes:
    """What is left of a TE line. RFC 9110 10.1.4: trailers is the one coding that a proxy which passes them on may
    promise."""
    codings = {coding.lower() for coding in members(line[3:])}
    if codings == {b"trailers"}:
        return line
    return line[:2] + b": trailers" if b"trailers" in codings else b""


def _upgrade_alone(line: bytes) -> bytes:
    """What is left of a Connection line where the message upgrades, or says to what it could."""
    name, _, value = line.partition(b":")
    options = {option.lower() for option in members(value)}
    if options == {b"upgrade"}:
        return line
    return name + b": Upgrade" if b"upgrade" in options else b""


_LEFT_OF_REQUEST: _Left = {b"te": _trailers_alone, b"expect": _without_continue}
_LEFT_OF_UPGRADE: _Left = {**_LEFT_OF_REQUEST, b"connection": _upgrade_alone, b"upgrade": _as_it_is}
_LEFT_OF_ANSWER: _Left = {b"te": _trailers_alone}
_LEFT_OF_SWITCH: _Left = {**_LEFT_OF_ANSWER, b"connection": _upgrade_alone, b"upgrade": _as_it_is}
