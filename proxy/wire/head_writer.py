# Heads as they are passed on: what is not taken out stays as it came, byte for byte (spec §10). Pure.

from collections.abc import Container, Sequence

from proxy.wire.head import CONTINUE_EXPECTED, RequestHead, ResponseHead, connection_options, expects_continue, members

# RFC 9110 7.6.1 and what proxies remove by custom. Transfer-Encoding is not here: it stays where chunked bytes stay.
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"upgrade",
    }
)
# Even a Connection line cannot take these away: they are the framing and the address of the message.
_PROTECTED = frozenset({b"content-length", b"transfer-encoding", b"host"})


def request_bytes(
    head: RequestHead,
    target: bytes,
    host: bytes,
    *,
    own: Container[bytes] = (),
    upgrade: bool = False,
    extra: Sequence[bytes] = (),
) -> bytes:
    """The head as the upstream gets it: `target` and `host` are its own, `own` are names that were meant for us,
    `extra` are lines for a forward proxy on the way."""
    listed = connection_options(head.names, head.fields) if b"connection" in head.names else set()
    lines = [b"%s %s HTTP/1.1" % (head.method, target)]
    if b"host" not in head.names:
        lines.append(b"Host: " + host)
    for name, line in zip(head.names, head.lines, strict=True):
        if name == b"host":
            lines.append(b"%s: %s" % (line[:4], host))
        elif name == b"te":
            lines += _trailers_alone(line)
        elif name == b"expect":
            lines += _without_continue(line)
        elif upgrade and name == b"upgrade":
            lines.append(line)
        elif upgrade and name == b"connection":
            lines += _upgrade_alone(line)
        elif (
            name in HOP_BY_HOP
            or name == b"forwarded"  # it and its like would tell about the client's network
            or name.startswith(b"x-forwarded-")
            or name in own
            or (name in listed and name not in _PROTECTED)
        ):
            continue
        else:
            lines.append(line)
    lines += extra
    lines.append(b"\r\n")
    return b"\r\n".join(lines)


def _without_continue(line: bytes) -> list[bytes]:
    """What is left of an Expect line: 100-continue is answered here, by a 100 or a refusal; whoever cannot meet another
    expectation says so by itself (RFC 9110 10.1.1)."""
    name, _, value = line.partition(b":")
    if not expects_continue(value):
        return [line]
    others = [member for member in members(value) if member.lower() != CONTINUE_EXPECTED]
    return [name + b": " + b", ".join(others)] if others else []


def _trailers_alone(line: bytes) -> list[bytes]:
    """What is left of a TE line. RFC 9110 10.1.4: trailers is the one coding that a proxy which passes them on may
    promise."""
    codings = {coding.lower() for coding in members(line[3:])}
    if codings == {b"trailers"}:
        return [line]
    return [line[:2] + b": trailers"] if b"trailers" in codings else []


def _upgrade_alone(line: bytes) -> list[bytes]:
    """What is left of a Connection line where the message upgrades, or says to what it could."""
    name, _, value = line.partition(b":")
    options = {option.lower() for option in members(value)}
    if options == {b"upgrade"}:
        return [line]
    return [name + b": Upgrade"] if b"upgrade" in options else []


def response_bytes(head: ResponseHead, *, close: bool = False, dechunked: bool = False, upgrade: bool = False) -> bytes:
    """The head as the client gets it. `close` announces the end of the connection; `dechunked` is for HTTP/1.0
    clients, which know no chunked coding; `upgrade` keeps the switch to another protocol."""
    listed = connection_options(head.names, head.fields) if b"connection" in head.names else set()
    tells_upgrade = upgrade or head.status == 426  # RFC 9110 15.5.22: such a refusal says what it would take
    lines = [b"HTTP/1.1 %d%s" % (head.status, head.phrase)]
    for name, line in zip(head.names, head.lines, strict=True):
        if name == b"te":
            lines += _trailers_alone(line)
        elif tells_upgrade and name == b"connection":
            lines += _upgrade_alone(line)
        elif tells_upgrade and name == b"upgrade":
            lines.append(line)
        elif (
            name in HOP_BY_HOP
            or name == b"alt-svc"
            or (name in listed and name not in _PROTECTED)
            or (dechunked and name in (b"transfer-encoding", b"trailer"))
        ):
            continue
        else:
            lines.append(line)
    if upgrade and b"upgrade" not in listed:
        lines.append(b"Connection: Upgrade")
    if close:
        lines.append(b"Connection: close")
    lines.append(b"\r\n")
    return b"\r\n".join(lines)
