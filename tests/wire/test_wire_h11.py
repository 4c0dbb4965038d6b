# Beside h11, which reads strictly too: what both accept they read alike, so nobody behind us reads another message.
#
# Rule: h11 may refuse what we accept, and accept what we refuse; the allowed cases of the former are named here.

import h11
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.errors import BadMessage
from proxy.wire.body import body_of
from proxy.wire.head import UNTIL_CLOSE, parse_request, parse_response, request_length, response_length
from proxy.wire.head_reader import HeadReader

_NAMES = st.sampled_from([b"Host", b"host", b"X-A", b"x-b", b"Cookie", b"Connection", b"Accept", b"X A", b"X-A ", b""])
_VALUES = st.one_of(
    st.sampled_from(
        [b"", b"a", b" a", b"a ", b"\ta, b\t", b"close", b"caf\xc3\xa9", b"a\x00", b"a\x0bb", b"a\rb", b"a\nb"]
    ),
    st.binary(max_size=6),
)
_PLAIN = st.tuples(_NAMES, st.sampled_from([b":", b": ", b" :", b""]), _VALUES).map(b"".join)
_LENGTHS = st.sampled_from([b"Content-Length: 3", b"content-length: 0", b"Content-Length: 3, 3", b"Content-Length: +3"])
_CODINGS = st.sampled_from([b"Transfer-Encoding: chunked", b"transfer-encoding: Chunked", b"Transfer-Encoding: gzip"])
_LINES = st.lists(st.one_of(_PLAIN, _LENGTHS, _CODINGS), max_size=5)
_METHODS = st.sampled_from([b"GET", b"POST", b"HEAD", b"get", b"G T", b"M-SEARCH"])
_TARGETS = st.sampled_from([b"/", b"/a?b", b"*", b"/a b", b"/\xff", b"", b"http://a/b"])
_VERSIONS = st.sampled_from([b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"http/1.1"])
_ENDS = st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n"])
_REQUESTS = st.tuples(st.tuples(_METHODS, _TARGETS, _VERSIONS).map(b" ".join), st.just(b"Host: a"), _LINES, _ENDS)
_STATUSES = st.sampled_from([b"200 OK", b"204 ", b"304 Not Modified", b"404", b"500 \xff", b"103 Hints", b"20 OK"])
_ANSWERS = st.tuples(st.tuples(_VERSIONS, _STATUSES).map(b" ".join), _LINES, _ENDS)
_BODIES = st.sampled_from(
    [b"", b"abc", b"abcdef", b"3\r\nabc\r\n0\r\n\r\n", b"3;x\r\nabc\r\n0\r\nX-T: u\r\n\r\nnext", b"3\r\nab"]
)


def joined(first: bytes, lines: list[bytes], end: bytes) -> bytes:
    return end.join([first, *lines]) + end + end


def by_h11(role, raw: bytes, method: bytes = b"GET"):
    """The first message of `raw` as h11 reads it: (head, payload, whole), or None if it refuses."""
    connection = h11.Connection(role)
    head, payload, whole = None, b"", False
    try:
        if role is h11.CLIENT:
            connection.send(h11.Request(method=method, target=b"/", headers=[(b"Host", b"a")]))
            connection.send(h11.EndOfMessage())
        connection.receive_data(raw)
        connection.receive_data(b"")
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request | h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                payload += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return head, payload, True
            elif not isinstance(event, h11.InformationalResponse):
                return None
    except h11.RemoteProtocolError:
        return None if head is None else (head, payload, whole)


def body_by_us(length: int, raw: bytes) -> tuple[bytes, bool]:
    """The payload, and whether it is whole."""
    body = body_of(length)
    decoded: list[bytes] = []
    if hasattr(body, "decoded"):
        body.decoded = decoded
    used = body.feed(raw)
    payload = b"".join(decoded) if hasattr(body, "decoded") else raw[:used]
    return payload, body.done or length == UNTIL_CLOSE


def as_h11_keeps_them(head) -> list[tuple[bytes, bytes]]:
    """It lowers names, and the value of Transfer-Encoding too."""
    lower = [(name.lower(), value) for name, value in head.fields]
    return [(name, value.lower() if name == b"transfer-encoding" else value) for name, value in lower]


def head_of(data: bytes) -> bytes | None:
    reader = HeadReader()
    reader.buffer += data
    return reader.take()


@settings(max_examples=200)
@given(_REQUESTS, _BODIES)
def test_request_that_we_accept_is_read_by_h11_alike(parts, raw_body):
    first, host, lines, end = parts
    whole = joined(first, [host, *lines], end) + raw_body
    try:
        raw = head_of(whole)
        if raw is None:
            return
        ours, at = parse_request(raw), len(raw)
        length = request_length(ours)
        payload, complete = body_by_us(length, whole[at:])
    except BadMessage:
        return
    theirs = by_h11(h11.SERVER, whole)
    if theirs is None:
        # It knows no octets above ASCII in targets, and no HTTP/1.0 beside Transfer-Encoding; it is stricter there.
        assert any(byte > 0x7E for byte in ours.target), whole
        return
    head, their_payload, their_complete = theirs
    assert (head.method, head.target) == (ours.method, ours.target)
    assert head.http_version == b"1.%d" % ours.minor
    assert list(head.headers) == as_h11_keeps_them(ours)
    assert their_complete == complete
    if complete:
        assert their_payload == payload


@settings(max_examples=200)
@given(_ANSWERS, _BODIES, st.sampled_from([b"GET", b"HEAD"]))
def test_answer_that_we_accept_is_read_by_h11_alike(parts, raw_body, method):
    whole = joined(*parts) + raw_body
    try:
        raw = head_of(whole)
        if raw is None:
            return
        ours, at = parse_response(raw), len(raw)
        if ours.status < 200:
            return
        length = response_length(ours, method)
        payload, complete = body_by_us(length, whole[at:])
    except BadMessage:
        return
    theirs = by_h11(h11.CLIENT, whole, method)
    assert theirs is not None, whole
    head, their_payload, their_complete = theirs
    assert (head.status_code, head.reason) == (ours.status, ours.phrase[1:])
    assert list(head.headers) == as_h11_keeps_them(ours)
    assert their_complete == complete
    if complete:
        assert their_payload == payload


@given(st.sampled_from([b"/", b"/x?y"]), st.lists(st.tuples(st.sampled_from([b"X-A", b"x-a"]), _VALUES), max_size=4))
def test_request_that_h11_writes_is_read_by_us_alike(target, fields):
    try:
        request = h11.Request(method=b"GET", target=target, headers=[(b"Host", b"a"), *fields])
    except h11.LocalProtocolError:
        return
    raw = h11.Connection(h11.CLIENT).send(request)
    try:
        ours = parse_request(raw)
    except BadMessage:
        assert any((byte < 0x20 and byte != 0x09) or byte == 0x7F for _, value in fields for byte in value), raw
        return
    assert (ours.method, ours.target) == (b"GET", target)
    assert as_h11_keeps_them(ours) == list(request.headers)
