# Heads, read strictly: what is refused, what is kept as it came, and where the limits are.

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.errors import BadMessage
from proxy.wire.head import (
    CHUNKED,
    FIELD_MAX,
    FIELDS_MAX,
    START_LINE_MAX,
    UNTIL_CLOSE,
    parse_request,
    parse_response,
    request_length,
    response_length,
    text_fields,
)


def head(*lines: bytes) -> bytes:
    return b"\r\n".join(lines) + b"\r\n\r\n"


def request_with(*lines: bytes) -> bytes:
    return head(b"POST /x HTTP/1.1", b"Host: a", *lines)


def answer_with(*lines: bytes) -> bytes:
    return head(b"HTTP/1.1 200 OK", *lines)


# --- start lines ---


@pytest.mark.parametrize(
    ("line", "method", "target", "minor"),
    [
        (b"GET / HTTP/1.1", b"GET", b"/", 1),
        (b"get / HTTP/1.0", b"get", b"/", 0),
        (b"PROPFIND /a%zz//b;c?d=e?f#g HTTP/1.1", b"PROPFIND", b"/a%zz//b;c?d=e?f#g", 1),
        (b"M-SEARCH * HTTP/1.1", b"M-SEARCH", b"*", 1),
        (b"GET /caf\xc3\xa9\xff HTTP/1.1", b"GET", b"/caf\xc3\xa9\xff", 1),
        (b"!#$%&'*+-.^_`|~0aZ /? HTTP/1.1", b"!#$%&'*+-.^_`|~0aZ", b"/?", 1),
        (b"GET http://other/x HTTP/1.1", b"GET", b"http://other/x", 1),
        (b'GET /<>"{}|\\^`[] HTTP/1.1', b"GET", b'/<>"{}|\\^`[]', 1),
    ],
)
def test_request_line_is_kept_as_it_came(line, method, target, minor):
    read = parse_request(head(line, b"Host: a"))
    assert (read.method, read.target, read.minor) == (method, target, minor)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"GET",
        b"GET /",
        b"GET / ",
        b" GET / HTTP/1.1",
        b"GET  / HTTP/1.1",
        b"GET /  HTTP/1.1",
        b"GET\t/\tHTTP/1.1",
        b"GET / HTTP/1.1 ",
        b"GET /a b HTTP/1.1",
        b"GET /\x7f HTTP/1.1",
        b"GET / http/1.1",
        b"GET / HTTP/1.2",
        b"GET / HTTP/01.1",
        b"GET / HTTP/1.1.1",
        b"GET / HTTP/2.0",
        b"GET / HTTP/0.9",
        b"G(T / HTTP/1.1",
        b"G\xc3\x89T / HTTP/1.1",
        b"/ HTTP/1.1",
    ],
)
def test_what_is_no_request_line_is_refused(line):
    with pytest.raises(BadMessage):
        parse_request(head(line, b"Host: a"))


@pytest.mark.parametrize(
    ("line", "status", "phrase", "minor"),
    [
        (b"HTTP/1.1 200 OK", 200, b" OK", 1),
        (b"HTTP/1.0 404 Not Found", 404, b" Not Found", 0),
        (b"HTTP/1.1 200 ", 200, b" ", 1),
        (b"HTTP/1.1 200", 200, b"", 1),
        (b"HTTP/1.1 529 \xc3\xbcberlastet\t!", 529, b" \xc3\xbcberlastet\t!", 1),
        (b"HTTP/1.1 999 ?", 999, b" ?", 1),
    ],
)
def test_status_line_is_kept_as_it_came(line, status, phrase, minor):
    read = parse_response(head(line))
    assert (read.status, read.phrase, read.minor) == (status, phrase, minor)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"HTTP/1.1",
        b"HTTP/1.1 ",
        b"HTTP/1.1 20",
        b"HTTP/1.1 2000",
        b"HTTP/1.1 099 OK",
        b"HTTP/1.1 2x0 OK",
        b"HTTP/1.1  200 OK",
        b"HTTP/1.1\t200 OK",
        b"HTTP/2 200 OK",
        b"HTTP/1.2 200 OK",
        b"http/1.1 200 OK",
        b"ICY 200 OK",
        b" HTTP/1.1 200 OK",
        b"HTTP/1.1 200 OK\x00",
    ],
)
def test_what_is_no_status_line_is_refused(line):
    with pytest.raises(BadMessage):
        parse_response(head(line))


# --- fields ---


def test_fields_keep_spelling_order_duplicates_and_octets():
    lines = [b"x-a: 1", b"X-A:2", b"x-B:\t\xff\xfe \x80 ", b"Set-Cookie: a=b, c", b"X-Empty:", b"x-a: 3"]
    read = parse_request(request_with(*lines))
    assert read.fields[1:] == [
        (b"x-a", b"1"),
        (b"X-A", b"2"),
        (b"x-B", b"\xff\xfe \x80"),
        (b"Set-Cookie", b"a=b, c"),
        (b"X-Empty", b""),
        (b"x-a", b"3"),
    ]
    assert read.lines[1:] == lines
    assert read.names[1:] == [b"x-a", b"x-a", b"x-b", b"set-cookie", b"x-empty", b"x-a"]
    assert read.get(b"x-a") == b"1"
    assert read.get(b"x-c") is None
    assert (read.all(b"x-a"), read.all(b"x-b"), read.all(b"x-c")) == ([b"1", b"2", b"3"], [b"\xff\xfe \x80"], [])


@pytest.mark.parametrize(
    "line",
    [
        b"X-A : b",
        b"X-A\t: b",
        b" X-A: b",
        b"\tX-A: b",
        b": b",
        b"X A: b",
        b"X-A",
        b"X(A): b",
        b'"X-A": b',
        b"X-\xc3\x84: b",
        b"X-A: b\r",
        b"X-A: b\rX-B: c",
        b"X-A: b\nX-B: c",
        b"X-A: b\x00",
        b"X-A: b\x0b",
        b"X-A: b\x7f",
        b"X-A\x00: b",
        b"",
    ],
)
@pytest.mark.parametrize("parse", [parse_request, parse_response])
def test_what_is_no_field_line_is_refused(parse, line):
    """Also obs-fold, RFC 9112 5.2, in front of which a field must stand to be folded."""
    whole = request_with(b"X-First: 1", line, b"X-Last: 1")
    if parse is parse_response:
        whole = answer_with(b"X-First: 1", line, b"X-Last: 1")
    with pytest.raises(BadMessage):
        parse(whole)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"X-A: b\x00", "a control character, or a bare CR or LF, in the head"),
        (b"X-A: b\nX-B: c", "a control character, or a bare CR or LF, in the head"),
        (b" X-A: b", "a folded header line"),
        (b"\tX-A", "a folded header line"),
        (b"X-A", "a header line has no colon"),
        (b"X A", "a header line has no colon"),
        (b"X A: b", "a header name is not a token"),
        (b": b", "a header name is not a token"),
        (b"X A: " + b"b" * FIELD_MAX, "a header is longer than 32 KiB"),
    ],
)
def test_refusal_says_what_is_wrong_with_a_line(line, said):
    """Of several faults the first: whoever debugs a client looks for that one."""
    for whole in (line, b"X-A: b\r\n" + line + b"\r\nX C: d"):
        with pytest.raises(BadMessage, match=f"^{said}$"):
            parse_request(request_with(whole))
        with pytest.raises(BadMessage, match=f"^{said}$"):
            parse_response(answer_with(whole))


def test_refusal_says_when_the_start_line_is_wrong():
    with pytest.raises(BadMessage, match="request line"):
        parse_request(head(b"GET /", b"Host: a"))
    with pytest.raises(BadMessage, match="status line"):
        parse_response(head(b"HTTP/1.1"))
    with pytest.raises(BadMessage, match="status line"):
        parse_response(head(b"X-A: b", b"X-B: c"))
    with pytest.raises(BadMessage, match="token"):  # lines are looked at first
        parse_request(head(b"GET /", b"X A: b"))


@pytest.mark.parametrize(
    "host",
    ["", "a", "A.example:80", "a_b.test", "[::1]", "[fe80::1]:8787", "127.0.0.1:", "xn--bcher-kva.example", "caf\xe9"],
)
def test_host_is_a_name_or_an_address_with_or_without_a_port(host):
    assert parse_request(head(b"GET / HTTP/1.1", b"Host: " + host.encode("latin-1"))).get(b"host") is not None


@pytest.mark.parametrize(
    "host", ["a b", "a/b", "user@a", "a:b", "a:80:80", "[::1", "::1", "http://a", "a?b", "a#b", "a\\b", "<a>"]
)
def test_host_that_is_none_is_refused(host):
    """RFC 9112 3.2: whoever reads it another way than we do must not see it."""
    with pytest.raises(BadMessage, match="Host"):
        parse_request(head(b"GET / HTTP/1.1", b"Host: " + host.encode()))


@pytest.mark.parametrize("hosts", [[], [b"Host: a", b"Host: a"], [b"Host: a", b"hOST: b"]])
def test_http_1_1_request_has_exactly_one_host(hosts):
    with pytest.raises(BadMessage):
        parse_request(head(b"GET / HTTP/1.1", *hosts))


def test_http_1_0_request_needs_no_host_but_has_no_two():
    assert parse_request(head(b"GET / HTTP/1.0")).get(b"host") is None
    with pytest.raises(BadMessage):
        parse_request(head(b"GET / HTTP/1.0", b"Host: a", b"Host: a"))


def test_text_of_fields_is_octet_by_octet():
    assert text_fields([(b"X-A", b"\xe9\xff")]) == [("X-A", "\xe9\xff")]


# --- limits ---


def test_longest_start_line_is_read_and_one_more_byte_is_refused():
    line = b"GET /" + b"a" * (START_LINE_MAX - len(b"GET / HTTP/1.1")) + b" HTTP/1.1"
    assert parse_request(head(line, b"Host: a")).target[:2] == b"/a"
    with pytest.raises(BadMessage):
        parse_request(head(line.replace(b"/a", b"/aa"), b"Host: a"))


def test_longest_field_is_read_and_one_more_byte_is_refused():
    line = b"X-A: " + b"b" * (FIELD_MAX - 5)
    assert len(parse_request(request_with(line)).fields) == 2
    with pytest.raises(BadMessage):
        parse_request(request_with(line + b"b"))


def test_as_many_fields_as_allowed_are_read_and_one_more_is_refused():
    lines = [b"X-A: b"] * (FIELDS_MAX - 1)
    assert len(parse_request(request_with(*lines)).fields) == FIELDS_MAX
    with pytest.raises(BadMessage):
        parse_request(request_with(*lines, b"X-A: b"))


# --- framing ---


@pytest.mark.parametrize(
    ("lines", "length"),
    [
        ([], 0),
        ([b"Content-Length: 0"], 0),
        ([b"content-length: 007"], 7),
        ([b"Content-Length:999999999999999999"], 999999999999999999),
        ([b"Transfer-Encoding: chunked"], CHUNKED),
        ([b"transfer-encoding:\tChunked "], CHUNKED),
    ],
)
def test_framing_of_a_request(lines, length):
    assert request_length(parse_request(request_with(*lines))) == length


BAD_FRAMING = [
    [b"Content-Length: 5", b"Content-Length: 5"],
    [b"Content-Length: 5", b"Content-Length: 6"],
    [b"Content-Length: 5, 5"],
    [b"Content-Length: +5"],
    [b"Content-Length: -5"],
    [b"Content-Length: 0x5"],
    [b"Content-Length: 5 5"],
    [b"Content-Length: 5_0"],
    [b"Content-Length: \xb2"],
    [b"Content-Length:"],
    [b"Content-Length: 9999999999999999999"],
    [b"Transfer-Encoding: chunked", b"Content-Length: 5"],
    [b"Content-Length: 5", b"Transfer-Encoding: chunked"],
    [b"Content-Length: 5", b"Transfer-Encoding: identity"],
    [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
    [b"Transfer-Encoding: gzip, chunked"],
    [b"Transfer-Encoding: chunked, gzip"],
    [b"Transfer-Encoding: chunked;q=1"],
    [b"Transfer-Encoding: identity"],
    [b"Transfer-Encoding: xchunked"],
    [b"Transfer-Encoding: chunked, chunked"],
    [b"Transfer-Encoding:"],
]


@pytest.mark.parametrize("lines", BAD_FRAMING, ids=lambda lines: repr(b" | ".join(lines)))
def test_framing_that_can_be_read_two_ways_is_refused(lines):
    with pytest.raises(BadMessage):
        request_length(parse_request(request_with(*lines)))
    with pytest.raises(BadMessage):
        response_length(parse_response(answer_with(*lines)), b"GET")


def test_chunked_needs_http_1_1():
    with pytest.raises(BadMessage):
        request_length(parse_request(head(b"POST / HTTP/1.0", b"Transfer-Encoding: chunked")))
    with pytest.raises(BadMessage):
        response_length(parse_response(head(b"HTTP/1.0 200 OK", b"Transfer-Encoding: chunked")), b"GET")


@pytest.mark.parametrize(
    ("status", "method", "lines", "length"),
    [
        (200, b"GET", [], UNTIL_CLOSE),
        (200, b"GET", [b"Content-Length: 5"], 5),
        (200, b"GET", [b"Transfer-Encoding: chunked"], CHUNKED),
        (200, b"HEAD", [], 0),
        (200, b"HEAD", [b"Content-Length: 5"], 0),
        (200, b"HEAD", [b"Transfer-Encoding: chunked"], 0),
        (204, b"GET", [], 0),
        (204, b"POST", [b"Content-Length: 5"], 0),
        (304, b"GET", [b"Content-Length: 5"], 0),
        (304, b"GET", [b"Transfer-Encoding: chunked"], 0),
        (102, b"GET", [b"Content-Length: 168"], 0),
        (205, b"GET", [], UNTIL_CLOSE),
        (200, b"head", [b"Content-Length: 5"], 5),  # methods are case-sensitive
    ],
)
def test_framing_of_an_answer(status, method, lines, length):
    read = parse_response(head(b"HTTP/1.1 %d x" % status, *lines))
    assert response_length(read, method) == length


# --- whatever the bytes ---

_GARBAGE = st.lists(
    st.one_of(
        st.binary(max_size=20), st.sampled_from([b"\r\n", b"\n", b"\r", b": ", b" ", b"HTTP/1.1", b"GET /", b"\0"])
    ),
    max_size=12,
).map(b"".join)


@given(_GARBAGE)
def test_reading_garbage_gives_a_head_or_a_bad_message(garbage):
    for parse in (parse_request, parse_response):
        try:
            read = parse(garbage + b"\r\n\r\n")
        except BadMessage:
            continue
        assert len(read.names) == len(read.fields)
