# Heads as they are passed on: what is not taken out stays as it came, byte for byte (spec §10). Pure.
#
# Rule: of a head without a name that concerns us only Host is looked at; the other lines pass as they came.

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Final

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
HOP_BY_HOP: Final = frozenset(
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
_OF_REQUESTS: Final = HOP_BY_HOP | {b"expect", b"forwarded"}
_FORWARDED: Final = b"x-forwarded-"  # it and Forwarded would tell about the client's network
_OF_ANSWERS: Final = HOP_BY_HOP | {b"alt-svc"}
_OF_CHUNKS: Final = frozenset({b"transfer-encoding", b"trailer"})
# Even a Connection line cannot take these away: they are the framing and the address of the message.
_PROTECTED: Final = frozenset({b"content-length", b"transfer-encoding", b"host"})
_HOST: Final = b"host"

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
    lines, names = head.lines, head.values.keys()
    if _HOST in names:  # in its place and spelling
        at = head.names.index(_HOST)
        lines[at] = b"%s: %s" % (lines[at][: len(_HOST)], host)
    taken = {name for name in names if name in _OF_REQUESTS or name in own or name.startswith(_FORWARDED)}
    if taken:
        lines = _without(head, lines, taken, _LEFT_OF_UPGRADE if upgrade else _LEFT_OF_REQUEST)
    if _HOST not in names:
        lines.insert(0, b"Host: " + host)
    return b"\r\n".join([b"%s %s HTTP/1.1" % (head.method, target), *lines, *extra, b"", b""])


def response_bytes(head: ResponseHead, *, close: bool = False, dechunked: bool = False, upgrade: bool = False) -> bytes:
    """The head as the client gets it. `close` announces the end of the connection; `dechunked` is for HTTP/1.0
    clients, which know no chunked coding; `upgrade` keeps the switch to another protocol."""
    block = head.block
    if dechunked or not head.values.keys().isdisjoint(_OF_ANSWERS):
        taken = _OF_ANSWERS | _OF_CHUNKS if dechunked else _OF_ANSWERS
        tells_upgrade = upgrade or head.status == 426  # RFC 9110 15.5.22: such a refusal says what it would take
        lines = _without(head, head.lines, taken, _LEFT_OF_SWITCH if tells_upgrade else _LEFT_OF_ANSWER)
        block = b"\r\n".join([*lines, b""])
    if upgrade and b"upgrade" not in connection_options(head):
        block += b"Connection: Upgrade\r\n"
    if close:
        block += b"Connection: close\r\n"
    return b"HTTP/1.1 %d%s\r\n%s\r\n" % (head.status, head.phrase, block)


def _without(head: Head, lines: list[bytes], taken: Set[bytes], left: _Left) -> list[bytes]:
    """`lines` of `head` but those whose names are `taken` or listed by Connection; of them what is `left`."""
    taken = taken | (connection_options(head) - _PROTECTED)
    kept = [
        line if name not in taken else left.get(name, _nothing)(line)
        for name, line in zip(head.names, lines, strict=True)
    ]
    return [*filter(None, kept)]


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


_LEFT_OF_REQUEST: Final[_Left] = {b"te": _trailers_alone, b"expect": _without_continue}
_LEFT_OF_UPGRADE: Final[_Left] = {**_LEFT_OF_REQUEST, b"connection": _upgrade_alone, b"upgrade": _as_it_is}
_LEFT_OF_ANSWER: Final[_Left] = {b"te": _trailers_alone}
_LEFT_OF_SWITCH: Final[_Left] = {**_LEFT_OF_ANSWER, b"connection": _upgrade_alone, b"upgrade": _as_it_is}
