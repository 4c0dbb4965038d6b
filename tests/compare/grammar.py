# Exchanges drawn at random from what RFC 9110 and 9112 allow, with a liking for what proxies trip over.
#
# Rule 1: everything drawn is valid; what a peer may not send is the fuzzer's.
# Rule 2: no Expect and no WebSocket: whether a 100 or a 101 is due is a question of time as well.

from hypothesis import strategies as st
from model import FIN, OPEN, RST
from stage import Exchange

TOKEN = b"!#$%&'*+-.^_`|~09azAZ"
OCTETS = bytes([*range(0x21, 0x7F), *range(0x80, 0x100)])
METHODS = [b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"HEAD", b"OPTIONS", b"PROPFIND", b"get", b"Post"]
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
SPACES = [b"", b" ", b" ", b" ", b"  ", b"\t", b" \t "]
SPELLINGS = [bytes, bytes.lower, bytes.upper, bytes.title]


def written_in(alphabet: bytes, *, least: int = 0, most: int = 20) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=least, max_size=most).map(
        lambda raw: bytes(alphabet[byte % len(alphabet)] for byte in raw)
    )


def spelled(*names: str) -> st.SearchStrategy[bytes]:
    return st.sampled_from([spell(name.encode()) for name in names for spell in SPELLINGS])


SPACE = st.sampled_from(SPACES)
A_TOKEN = written_in(TOKEN, least=1, most=10)
NAME = spelled(*NAMES) | spelled(*NAMES) | A_TOKEN
VALUE = st.sampled_from(VALUES) | written_in(OCTETS + b" \t")
OPTIONS = st.lists(st.sampled_from(LISTED) | A_TOKEN, max_size=4)
A_REASON = written_in(OCTETS + b" ", most=12)
A_PATH = st.just(b"") | written_in(OCTETS.replace(b"?", b"") + b"//%%", most=30).map(lambda path: b"/" + path)
A_QUERY = st.just(b"") | written_in(OCTETS + b"&=%", most=30).map(lambda query: b"?" + query)
EXTENSION = st.sampled_from([b"", b"", b"", b";a", b' ; a\t= "b;\xff"', b";" + b"e" * 50])
CHUNKS = st.lists(
    st.tuples(st.binary(min_size=1, max_size=40), st.sampled_from([b"%x", b"%X", b"%04x"]), EXTENSION), max_size=5
)
TRAILERS = st.lists(st.tuples(A_TOKEN, written_in(OCTETS + b" ")), max_size=2)
BODY = st.binary(max_size=200)
CONNECTION, LENGTH, CODING, HOST = (
    spelled(name) for name in ("Connection", "Content-Length", "Transfer-Encoding", "Host")
)
CHUNKED = st.sampled_from([b"chunked", b"Chunked"])


@st.composite
def field(draw: st.DrawFn) -> bytes:
    return draw(NAME) + b":" + draw(SPACE) + draw(VALUE) + draw(SPACE)


@st.composite
def listing(draw: st.DrawFn) -> bytes:
    return draw(CONNECTION) + b":" + (draw(SPACE) + b"," + draw(SPACE)).join(draw(OPTIONS)) + draw(SPACE)


A_FIELD, A_LISTING = field(), listing()
A_TE = st.sampled_from([b"TE: gzip", b"te:trailers", b"TE: Trailers ", b"Te: gzip;q=1 ,\ttrailers"])
FIELDS = st.lists(A_FIELD | A_FIELD | A_FIELD | A_LISTING | A_TE, max_size=8)


@st.composite
def chunked(draw: st.DrawFn) -> bytes:
    """A chunked body in the many ways in which one can be written."""
    raw = b""
    for data, size, extension in draw(CHUNKS):
        raw += size % len(data) + extension + b"\r\n" + data + b"\r\n"
    raw += draw(st.sampled_from([b"0", b"0", b"000"])) + draw(EXTENSION) + b"\r\n"
    return raw + b"".join(name + b": " + value + b"\r\n" for name, value in draw(TRAILERS)) + b"\r\n"


A_CHUNKED_BODY = chunked()


@st.composite
def message(draw: st.DrawFn, start: bytes, lines: list[bytes], *, framings: list[str]) -> bytes:
    """A start line and these lines, among others, with a body in one of the framings."""
    lines, body = [*lines, *draw(FIELDS)], b""
    match draw(st.sampled_from(framings)):
        case "length":
            body = draw(BODY)
            lines.append(draw(LENGTH) + b":" + draw(SPACE) + b"%d" % len(body))
        case "chunked":
            body = draw(A_CHUNKED_BODY)
            lines.append(draw(CODING) + b":" + draw(SPACE) + draw(CHUNKED))
        case "until the end":
            body = draw(BODY)
    return b"\r\n".join([start, *draw(st.permutations(lines)), b"", b""]) + body


@st.composite
def target(draw: st.DrawFn) -> bytes:
    place = draw(st.sampled_from([b"", b"", b"", b"http://evil.test", b"HTTPS://a:1"]))
    return place + b"/up" + draw(A_PATH) + draw(A_QUERY)


@st.composite
def answer(draw: st.DrawFn, method: bytes) -> tuple[bytes, str]:
    """Interim answers and a final one, and how the upstream then ends."""
    told = b""
    for status in draw(st.lists(st.sampled_from([100, 102, 103, 199]), max_size=2)):
        told += draw(message(b"HTTP/1.1 %d %s" % (status, draw(A_REASON)), [], framings=["none"]))
    status = draw(st.sampled_from([200, 200, 200, 204, 304, 205, 206, 401, 404, 429, 500, 529]) | st.integers(200, 999))
    old = draw(st.integers(0, 5)) == 0
    bodiless = method == b"HEAD" or status in (204, 304)
    framings = ["none"] if bodiless else ["length", "until the end"] + ["chunked", "chunked"] * (not old)
    told += draw(message(b"HTTP/1.%d %d %s" % (not old, status, draw(A_REASON)), [], framings=framings))
    head = told[told.index(b"HTTP/1.%d %d " % (not old, status)) :].partition(b"\r\n\r\n")[0].lower()
    framed = bodiless or b"\r\ncontent-length:" in head or b"\r\ntransfer-encoding:" in head
    return told, draw(st.sampled_from([OPEN, OPEN, FIN] if framed else [FIN, FIN, RST]))


A_METHOD, A_TARGET = st.sampled_from(METHODS) | A_TOKEN, target()


@st.composite
def exchange(draw: st.DrawFn) -> Exchange:
    method = draw(A_METHOD)
    old = draw(st.integers(0, 5)) == 0
    start = b"%s %s HTTP/1.%d" % (method, draw(A_TARGET), not old)
    host = [] if old and draw(st.booleans()) else [draw(HOST) + b":" + draw(SPACE) + b"proxy.test"]
    asked = draw(message(start, host, framings=["none", "length"] + ["chunked"] * (not old)))
    told, ends = draw(answer(method))
    return Exchange(asked, told, ends, pieces=draw(st.sampled_from([0, 0, 1, 7, 50])))
