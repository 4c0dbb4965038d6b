# The same bytes as h11 reads them, one message at a time: h11's own state between messages is no concern here.
#
# Where h11 is stricter than we mean to be:
# - it knows no octets above ASCII in targets, and no empty lines before a request: both are made right for it here;
# - it knows no blanks between a chunk's size and its extensions (RFC 9112 7.1.1: BWS), and no numbers of more than 20
#   digits, zeros in front included; it reads trailers named Content-Length and Transfer-Encoding as framing: `stricter`
#   tells of such bytes.

import re
from dataclasses import dataclass

import h11

_FIRST_LINE = re.compile(rb"\A(?:\r\n)*([^\r\n]*)")
_STRICTER = re.compile(
    rb"\n[0-9A-Fa-f]+[ \t]+;"
    rb"|0{16}"
    rb"|0[^\n]*\r\n(?:[^\n]+\n)*(?:content-length|transfer-encoding):",
    re.IGNORECASE,
)
LINE_MAX = 1 << 20  # h11's limit is for a whole head; ours are by line


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One message: `head` is h11's event; `rest` is what follows its end, if that was there."""

    head: h11.Request | h11.Response
    payload: bytes
    whole: bool
    rest: bytes


def request(raw: bytes) -> Read | None:
    """The first request of `raw`; None if h11 refuses it or its head is not whole."""
    first = _FIRST_LINE.match(raw)
    assert first is not None
    raw = plain_target(first[1]) + raw[first.end() :]
    return _read(h11.Connection(h11.SERVER, max_incomplete_event_size=LINE_MAX), raw, ended=False)


def answer(raw: bytes, method: bytes) -> Read | None:
    """The first final answer of `raw` to a request of `method`, at whose end the connection is closed."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=LINE_MAX)
    connection.send(h11.Request(method=method, target=b"/", headers=[(b"Host", b"a")]))
    connection.send(h11.EndOfMessage())
    return _read(connection, raw, ended=True)


def stricter(raw: bytes) -> bool:
    """Whether h11 may refuse these bytes though they are right."""
    return _STRICTER.search(raw) is not None


def plain_target(target: bytes) -> bytes:
    """As h11 can read it."""
    return bytes(byte if byte < 0x7F else 0x78 for byte in target)


def _read(connection: h11.Connection, raw: bytes, *, ended: bool) -> Read | None:
    head, payload = None, b""
    connection.receive_data(raw)
    try:
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request | h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                payload += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                assert head is not None
                rest = connection.trailing_data[0]
                return Read(head=head, payload=payload, whole=True, rest=rest)
            elif event is h11.NEED_DATA and ended:
                connection.receive_data(b"")
                ended = False
            elif not isinstance(event, h11.InformationalResponse):
                break
    except h11.RemoteProtocolError:
        pass
    return None if head is None else Read(head=head, payload=payload, whole=False, rest=b"")
