# Heads as they are passed on: every octet as it came, but for what RFC 9110 makes a proxy remove (spec §10).

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.wire.head import connection_options, parse_request, parse_response
from proxy.wire.head_writer import request_bytes, response_bytes

HOST = b"api.example.com"
TOKEN = st.text("!#$%&'*+-.^_`|~0aZ", min_size=1, max_size=8).map(str.encode)
VALUE = st.binary(max_size=8).filter(lambda value: not any(byte < 0x20 or byte == 0x7F for byte in value))


def sent(*lines: bytes, target: bytes = b"/x", minor: int = 1, **options) -> list[bytes]:
    """The lines that the upstream gets for a request with these."""
    head = parse_request(b"POST /up/x HTTP/1.%d\r\n" % minor + b"".join(line + b"\r\n" for line in lines) + b"\r\n")
    raw = request_bytes(head, target, HOST, **options)
    assert raw.endswith(b"\r\n\r\n")
    return raw[:-4].split(b"\r\n")


def told(*lines: bytes, status: bytes = b"200 OK", **options) -> list[bytes]:
    """The lines that the client gets for an answer with these."""
    head = parse_response(b"HTTP/1.1 " + status + b"\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n")
    raw = response_bytes(head, **options)
    assert raw.endswith(b"\r\n\r\n")
    return raw[:-4].split(b"\r\n")


HOP_BY_HOP = [
    [b"Connection: keep-alive", b"Keep-Alive: timeout=5"],
    [b"Proxy-Connection: keep-alive"],
    [b"Proxy-Authenticate: Basic"],
    [b"PROXY-AUTHORIZATION: Basic YTpi"],
    [b"TE: gzip"],
    [b"te: gzip;q=1, deflate"],
    [b"Upgrade: h2c", b"Connection: Upgrade, HTTP2-Settings", b"HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"],
    [b"Connection: X-Secret", b"x-secret: s", b"X-SECRET: t"],
    [b"X-Secret: s", b"Connection: close ,\tx-SECRET,, "],
    [b"Connection: X-One", b"Connection: X-Two", b"X-One: 1", b"X-Two: 2"],
    [b"Connection: authorization", b"Authorization: Bearer key"],  # RFC 9110 7.6.1, whatever it costs the sender
    [b"Connection:"],
]


@pytest.mark.parametrize("lines", HOP_BY_HOP, ids=lambda lines: repr(b" | ".join(lines)))
def test_what_is_hop_by_hop_goes_no_further(lines):
    """HDR-11."""
    assert sent(b"Host: a", b"X-A: b", *lines, b"X-C: d")[1:] == [b"Host: " + HOST, b"X-A: b", b"X-C: d"]
    assert told(b"X-A: b", *lines, b"X-C: d")[1:] == [b"X-A: b", b"X-C: d"]


@pytest.mark.parametrize(
    "line",
    [b"Forwarded: for=1.2.3.4", b"X-Forwarded-For: 1.2.3.4", b"x-forwarded-anything: 1", b"Expect: 100-continue"],
)
def test_what_tells_of_the_clients_network_is_not_sent(line):
    assert sent(b"Host: a", line) == [b"POST /x HTTP/1.1", b"Host: " + HOST]
    assert told(line) == [b"HTTP/1.1 200 OK", line]  # an answer may say what it likes


def test_alt_svc_would_lead_clients_past_us():
    assert told(b'alt-svc: h3=":443"', b"X-A: b") == [b"HTTP/1.1 200 OK", b"X-A: b"]
    assert b"alt-svc: x" in sent(b"Host: a", b"alt-svc: x")


def test_expect_of_an_answer_means_nothing_and_stays():
    lines = [b"Expect: 100-continue", b"X-A: b"]
    assert told(*lines)[1:] == lines
    assert told(*lines, b"Connection: Upgrade", status=b"426 ")[1:] == [*lines, b"Connection: Upgrade"]


def test_framing_and_address_cannot_be_taken_away_by_connection():
    lines = [b"Connection: Content-Length, Host, Transfer-Encoding", b"Content-Length: 5"]
    assert sent(b"Host: a", *lines)[1:] == [b"Host: " + HOST, b"Content-Length: 5"]
    assert told(*lines)[1:] == [b"Content-Length: 5"]
    assert told(b"Connection: transfer-encoding", b"Transfer-Encoding: chunked")[1:] == [b"Transfer-Encoding: chunked"]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (b"TE: trailers", b"TE: trailers"),
        (b"te:  Trailers ", b"te:  Trailers "),
        (b"te: gzip, Trailers", b"te: trailers"),
        (b"Te:trailers,deflate;q=0.5", b"Te: trailers"),
        (b"TE:\tgzip,\ttrailers", b"TE: trailers"),
    ],
)
def test_te_keeps_trailers_alone(line, kept):
    assert sent(b"Host: a", b"Connection: TE", line)[1:] == [b"Host: " + HOST, kept]


def test_host_is_the_upstreams_in_its_old_place_and_spelling():
    assert sent(b"X-A: b", b"hOsT: evil.example", b"X-C: d")[1:] == [b"X-A: b", b"hOsT: " + HOST, b"X-C: d"]


def test_only_the_line_named_host_is_the_host():
    lines = [b"X-Host: a", b"Host-X: a", b"X-A: host: a"]
    assert sent(*lines, b"HOST:a ", *lines)[1:] == [*lines, b"HOST: " + HOST, *lines]


@pytest.mark.parametrize("host", [rb"\1\g<0>", b"%s", b"\xff"])
def test_host_is_written_as_it_is(host):
    head = parse_request(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert request_bytes(head, b"/%s", host) == b"GET /%s HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"


def test_http_1_0_request_gets_a_host():
    assert sent(b"X-A: b", minor=0) == [b"POST /x HTTP/1.1", b"Host: " + HOST, b"X-A: b"]


def test_own_headers_are_not_sent():
    own = frozenset({b"x-slotgate-workspace"})
    assert sent(b"Host: a", b"X-Slotgate-WORKSPACE: w", b"X-Slotgate: stays", own=own)[2:] == [b"X-Slotgate: stays"]


def test_target_is_the_given_one_byte_for_byte():
    assert sent(b"Host: a", target=b"//a%2F%zz;b+c/../?")[0] == b"POST //a%2F%zz;b+c/../? HTTP/1.1"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (b"connection:  upgrade ", b"connection:  upgrade "),
        (b"CONNECTION: keep-alive, Upgrade", b"CONNECTION: Upgrade"),
        (b"Connection: Upgrade, X-Secret", b"Connection: Upgrade"),
    ],
)
def test_upgrade_is_passed_on_where_it_is_tunnelled(line, kept):
    lines = [line, b"Upgrade: websocket", b"Connection: close", b"X-Secret: s"]
    secret = [] if b"X-Secret" in line else [b"X-Secret: s"]
    assert sent(b"Host: a", *lines, upgrade=True)[2:] == [kept, b"Upgrade: websocket", *secret]
    answer = told(*lines, status=b"101 Switching Protocols", upgrade=True)
    assert answer[1:] == [kept, b"Upgrade: websocket", *secret]


def test_switch_that_says_nothing_of_its_connection_gets_that_said():
    assert told(b"Upgrade: a", status=b"101 ", upgrade=True)[1:] == [b"Upgrade: a", b"Connection: Upgrade"]


def test_refusal_that_asks_for_an_upgrade_says_for_which():
    """RFC 9110 15.5.22."""
    lines = [b"Connection: Upgrade", b"Upgrade: websocket"]
    assert told(*lines, status=b"426 Upgrade Required")[1:] == lines
    assert told(*lines, status=b"426 ", close=True)[1:] == [*lines, b"Connection: close"]
    assert told(*lines, status=b"200 OK")[1:] == []


def test_close_is_announced():
    assert told(b"X-A: b", close=True)[1:] == [b"X-A: b", b"Connection: close"]
    assert told(b"Connection: keep-alive", close=True)[1:] == [b"Connection: close"]


def test_answer_without_chunks_has_no_trailers_either():
    lines = [b"Transfer-Encoding: chunked", b"Trailer: X-T", b"X-A: b"]
    assert told(*lines, dechunked=True)[1:] == [b"X-A: b"]
    assert told(*lines)[1:] == lines


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        (b"200 OK", b"HTTP/1.1 200 OK"),
        (b"529 \xff", b"HTTP/1.1 529 \xff"),
        (b"204", b"HTTP/1.1 204"),
        (b"204 ", b"HTTP/1.1 204 "),
    ],
)
def test_status_and_reason_pass(line, passed):
    assert told(status=line) == [passed]


def test_answer_of_http_1_0_is_told_in_ours():
    head = parse_response(b"HTTP/1.0 200 OK\r\nX-A: b\r\n\r\n")
    assert response_bytes(head) == b"HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n"


def test_lines_for_a_forward_proxy_come_last():
    assert sent(b"Host: a", b"Proxy-Authorization: mine", extra=[b"Proxy-Authorization: ours"])[2:] == [
        b"Proxy-Authorization: ours"
    ]


_TAKEN = {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization"}
_TAKEN |= {b"te", b"upgrade", b"expect", b"forwarded", b"host", b"alt-svc", b"content-length", b"transfer-encoding"}


@given(
    st.lists(st.tuples(TOKEN, st.sampled_from([b":", b": ", b":\t "]), VALUE, st.sampled_from([b"", b" "])), max_size=8)
)
def test_every_other_line_is_passed_on_as_it_came(lines):
    lines = [line for line in lines if line[0].lower() not in _TAKEN]
    raw = [b"".join(line) for line in lines]
    assert sent(b"Host: a", *raw)[2:] == raw
    assert told(*raw)[1:] == raw


@given(st.lists(st.tuples(TOKEN, VALUE), max_size=8))
def test_what_is_written_is_read_as_the_same(fields):
    lines = [name + b": " + value for name, value in fields if name.lower() not in _TAKEN]
    whole = b"GET /x HTTP/1.1\r\n" + b"".join(line + b"\r\n" for line in [b"Host: api", *lines]) + b"\r\n"
    head = parse_request(whole)
    again = parse_request(request_bytes(head, head.target, b"api"))
    assert (again.method, again.target, again.fields) == (head.method, head.target, head.fields)


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ([], set()),
        ([b"Connection: close"], {b"close"}),
        ([b"connection: Keep-Alive ,\tX-A"], {b"keep-alive", b"x-a"}),
        ([b"Connection: a", b"X-B: b", b"CONNECTION: c,d"], {b"a", b"c", b"d"}),
    ],
)
def test_connection_options_are_those_of_every_connection_line(lines, options):
    head = parse_request(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n")
    assert connection_options(head) == options
