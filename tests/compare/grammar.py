# Exchanges drawn at random from what RFC 9110 and 9112 allow, with a liking for what proxies trip over.
#
# Rule 1: everything drawn is valid; what a peer may not send is the fuzzer's.
# Rule 2: no Expect and no WebSocket: whether a 100 or a 101 is due is a question of time as well.

from hypothesis import strategies as st
from model import FIN, OPEN, RST
from stage import Exchange

TOKEN = "!#$%&'*+-.^_`|~09azAZ"
OCTETS = [*range(0x21, 0x7F), *range(0x80, 0x100)]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "PROPFIND", "get", "Post"]
NAMES = [
    *(
        "Accept",
        "Accept-Encoding",
        "User-Agent",
        "Cookie",
        "Set-Cookie",
        "Authorization",
        "x-api-key",
        "Date",
        "Server",
        "Via",
    ),
    *(
        "Content-Type",
        "Content-Encoding",
        "Trailer",
        "Location",
        "Retry-After",
        "Vary",
        "Link",
        "Alt-Svc",
        "Keep-Alive",
    ),
    *("Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Status", "Forwarded", "X-Forwarded-For"),
    *("X-Forwarded", "X-Slotgate-Workspace", "X-Slotgate-Conversation", "X-Slotgate-Prompt-Started-At", "X-Slotgate"),
    *("X-Conversation-Id", "session_id", "X-Codex-Turn-Metadata", "X-A", "x-b", "X-Stainless-Runtime", "Upgrade"),
]
VALUES = [b"gzip", b"br", b"identity", b"application/json", b"text/event-stream", b"0", b"node", b"h2c", b"close"]
LISTED = [
    b"close",
    b"keep-alive",
    b"X-A",
    b"x-B",
    b"Cookie",
    b"Content-Length",
    b"HOST",
    b"transfer-encoding",
    b"TE",
    b"",
]
SPACE = st.sampled_from([b"", b" ", b" ", b" ", b"  ", b"\t", b" \t "])


def octets(*more: int, most: int = 20) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from([*OCTETS, *more]), max_size=most).map(bytes)


def token(most: int = 10) -> st.SearchStrategy[bytes]:
    return st.text(TOKEN, min_size=1, max_size=most).map(str.encode)


def spelled(names: list[str]) -> st.SearchStrategy[bytes]:
    spelling = st.sampled_from([str, str.lower, str.upper, str.title])
    return st.tuples(st.sampled_from(names), spelling).map(lambda drawn: drawn[1](drawn[0]).encode())


@st.composite
def field(draw: st.DrawFn) -> bytes:
    name = draw(spelled(NAMES) | spelled(NAMES) | token())
    value = draw(st.sampled_from(VALUES) | octets(0x20, 0x09))
    return name + b":" + draw(SPACE) + value + draw(SPACE)


@st.composite
def listing(draw: st.DrawFn) -> bytes:
    options = draw(st.lists(st.sampled_from(LISTED) | token(3), max_size=4))
    return draw(spelled(["Connection"])) + b":" + (draw(SPACE) + b"," + draw(SPACE)).join(options) + draw(SPACE)


FIELDS = st.lists(field() | field() | field() | listing() | st.just(b"TE: gzip"), max_size=8)


@st.composite
def chunked(draw: st.DrawFn) -> bytes:
    """A chunked body in the many ways in which one can be written."""
    extension = st.sampled_from([b"", b"", b"", b";a", b' ; a\t= "b;\xff"', b";" + b"e" * 50])
    raw = b""
    for data in draw(st.lists(st.binary(min_size=1, max_size=40), max_size=5)):
        size = draw(st.sampled_from([b"%x", b"%X", b"%04x"])) % len(data)
        raw += size + draw(extension) + b"\r\n" + data + b"\r\n"
    trailers = draw(st.lists(st.tuples(token(), octets(0x20)), max_size=2))
    last = draw(st.sampled_from([b"0", b"0", b"000"])) + draw(extension) + b"\r\n"
    return raw + last + b"".join(name + b": " + value + b"\r\n" for name, value in trailers) + b"\r\n"


@st.composite
def message(draw: st.DrawFn, start: bytes, lines: list[bytes], *, framings: list[str]) -> bytes:
    """A start line and these lines, among others, with a body in one of the framings."""
    lines, body = [*lines, *draw(FIELDS)], b""
    match draw(st.sampled_from(framings)):
        case "length":
            body = draw(st.binary(max_size=200))
            lines.append(draw(spelled(["Content-Length"])) + b":" + draw(SPACE) + b"%d" % len(body))
        case "chunked":
            body = draw(chunked())
            lines.append(
                draw(spelled(["Transfer-Encoding"]))
                + b":"
                + draw(SPACE)
                + draw(st.sampled_from([b"chunked", b"Chunked"]))
            )
        case "until the end":
            body = draw(st.binary(max_size=200))
    return b"\r\n".join([start, *draw(st.permutations(lines)), b"", b""]) + body


@st.composite
def target(draw: st.DrawFn) -> bytes:
    place = draw(st.sampled_from([b"", b"", b"", b"http://evil.test", b"HTTPS://a:1"]))
    path = draw(st.just(b"") | octets(*b"//%%", most=30).map(lambda path: b"/" + path.replace(b"?", b"")))
    query = draw(st.just(b"") | octets(*b"&=%", most=30).map(lambda query: b"?" + query))
    return place + b"/up" + path + query


@st.composite
def answer(draw: st.DrawFn, method: bytes) -> tuple[bytes, str]:
    """Interim answers and a final one, and how the upstream then ends."""
    reason = octets(0x20, most=12)
    told = b""
    for status in draw(st.lists(st.sampled_from([100, 102, 103, 199]), max_size=2)):
        told += draw(message(b"HTTP/1.1 %d %s" % (status, draw(reason)), [], framings=["none"]))
    status = draw(st.sampled_from([200, 200, 200, 204, 304, 205, 206, 401, 404, 429, 500, 529]) | st.integers(200, 999))
    old = draw(st.integers(0, 5)) == 0
    bodiless = method == b"HEAD" or status in (204, 304)
    framings = ["none"] if bodiless else ["length", "until the end"] + ["chunked", "chunked"] * (not old)
    told += draw(message(b"HTTP/1.%d %d %s" % (not old, status, draw(reason)), [], framings=framings))
    head = told[told.index(b"HTTP/1.%d %d " % (not old, status)) :].partition(b"\r\n\r\n")[0].lower()
    framed = bodiless or b"\r\ncontent-length:" in head or b"\r\ntransfer-encoding:" in head
    return told, draw(st.sampled_from([OPEN, OPEN, FIN] if framed else [FIN, FIN, RST]))


@st.composite
def exchange(draw: st.DrawFn) -> Exchange:
    method = draw(st.sampled_from(METHODS).map(str.encode) | token())
    old = draw(st.integers(0, 5)) == 0
    start = b"%s %s HTTP/1.%d" % (method, draw(target()), not old)
    host = [] if old and draw(st.booleans()) else [draw(spelled(["Host"])) + b":" + draw(SPACE) + b"proxy.test"]
    asked = draw(message(start, host, framings=["none", "length"] + ["chunked"] * (not old)))
    told, ends = draw(answer(method))
    return Exchange(asked, told, ends, pieces=draw(st.sampled_from([0, 0, 1, 7, 50])))
