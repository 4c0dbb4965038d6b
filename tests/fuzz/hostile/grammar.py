# Messages as a hostile peer makes them: mostly right, so that they get past the first check, and wrong in one place.
#
# Rule 1: everything is drawn from the Random that is given: the same seed gives the same bytes.
# Rule 2: the first of each list is the plainest, since that is what Hypothesis shrinks to.
# Rule 3: each message carries its name, in `X-Id` and in its body: whoever gets to see it can tell whose it is.

from random import Random

from hostile.mutation import chance, mutated, pick

METHODS = (
    b"GET",
    b"GET",
    b"POST",
    b"POST",
    b"HEAD",
    b"PUT",
    b"DELETE",
    b"OPTIONS",
    b"get",
    b"M-SEARCH",
    b"!",
    b"CONNECT",
)
_TARGETS = (b"", b"/", b"/v1/messages", b"//", b"/%2F", b"/%zz?a=b?c", b"?", b"/a;b+c", b"/../x", b"/\xff", b"#f")
_PREFIXES = (b"/up",) * 6 + (b"/absorbing", b"/~ws/up", b"http://elsewhere.test/up", b"/nowhere", b"*")
_VERSIONS = (b"HTTP/1.1",) * 24 + (b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.1 ", b"http/1.1")
_VALUES = (b"a", b"", b"a, b", b" a\t", b"caf\xc3\xa9", b"\xff", b"a\x00", b"a\x7f", b"a\r", b"a\n b", b"a\r\n b", b'"')
_REQUEST_LINES = (
    b"Accept: */*",
    b"accept: text/plain",
    b"Cookie: a=b; c=d",
    b"Connection: close",
    b"Connection: keep-alive, X-Listed",
    b"connection: content-length, host, transfer-encoding,,",
    b"X-Listed: a",
    b"Keep-Alive: timeout=5",
    b"TE: trailers, deflate;q=0.5",
    b"Upgrade: websocket",
    b"Connection: upgrade",
    b"Upgrade: websocket\r\nConnection: Upgrade",
    b"Expect: 100-continue",
    b"expect: else",
    b"X-Forwarded-For: 10.0.0.1",
    b"Forwarded: for=10.0.0.1",
    b"Proxy-Authorization: Basic x",
    b"Proxy-Connection: close",
    b"X-Slotgate-Workspace: w",
    b"x-slotgate-prompt-started-at: 1e400",
    b"x-codex-turn-metadata: {",
    b"Content-Encoding: gzip",
    b"Trailer: X-T",
    b"Host: second.test",
)
_ANSWER_LINES = (
    b"Content-Type: text/plain",
    b"content-type: text/event-stream",
    b"Set-Cookie: a=b",
    b"Connection: close",
    b"connection: keep-alive, X-Listed",
    b"X-Listed: a",
    b"Keep-Alive: timeout=5",
    b"Alt-Svc: h3=1",
    b"Proxy-Authenticate: Basic",
    b"Upgrade: h2c",
    b"Connection: Upgrade, a",
    b"TE: trailers",
    b"Retry-After: 0",
    b"retry-after: 99999999999999999999",
    b"x-ratelimit-remaining-requests: 0",
    b"anthropic-ratelimit-requests-reset: never",
    b"Content-Encoding: gzip",
    b"Content-Encoding: br, zstd",
    b"Trailer: X-T",
    b"X-Slotgate-Error: internal",
)
_STATUSES = (b"200 OK",) * 6 + (
    b"200",
    b"201 ",
    b"204 No Content",
    b"304 Not Modified",
    b"401 Unauthorized",
    b"426 Upgrade Required",
    b"429 Too Many Requests",
    b"503 Overloaded",
    b"500 \xff",
    b"999 \t",
    b"101 Switching Protocols",
    b"100 Continue",
    b"099 x",
    b"20 OK",
)
_LENGTHS = (
    b"%d",
    b"%d",
    b"%d",
    b"0%d",
    b"+%d",
    b"%d, %d",
    b"%d ",
    b"%d_0",
    b"-%d",
    b"0x%d",
    b" \t%d",
    b"0" * 5000 + b"%d",
)
_CODINGS = (b"chunked", b"chunked", b"chunked", b"Chunked", b"gzip, chunked", b"chunked, chunked", b"identity", b"")
_SIZES = (b"%x",) * 12 + (
    b"%X",
    b"000%x",
    b"%x;a=b",
    b'%x ;"\xff"',
    b"%x ",
    b" %x",
    b"+%x",
    b"0x%x",
    b"1%x",
    b"%x0",
    b"0" * 30 + b"%x",
)
_LAST_CHUNKS = (b"0\r\n\r\n",) * 4 + (b"000\r\n\r\n", b"0;last\r\n\r\n", b"0\r\nX-T: u\r\n\r\n", b"0\r\n", b"0\r\n\r")


def request(rng: Random, name: bytes) -> bytes:
    """A request to the upstream `up`, or nearly one."""
    start = b"%s %s%s?%s %s" % (
        pick(rng, METHODS),
        pick(rng, _PREFIXES),
        pick(rng, _TARGETS),
        name,
        pick(rng, _VERSIONS),
    )
    raw = _message(rng, name, start, [b"Host: here.test", *_some(rng, _REQUEST_LINES)], framed=chance(rng, 50))
    return mutated(rng, raw) if chance(rng, 40) else raw


def answer(rng: Random, name: bytes) -> bytes:
    """An answer to the request `name`, or nearly one, with interim answers before it and surplus behind it."""
    interims = [b"HTTP/1.1 %s\r\nX-Id: %s\r\n\r\n" % (pick(rng, (b"103 Early Hints", b"102 P", b"100 C")), name)]
    raw = b"".join(interims * rng.randint(1, 3)) if chance(rng, 20) else b""
    start = b"%s %s" % (pick(rng, _VERSIONS[:25]), pick(rng, _STATUSES))
    raw += _message(rng, name, start, _some(rng, _ANSWER_LINES), framed=not chance(rng, 15))
    if chance(rng, 40):
        raw = mutated(rng, raw)
    if chance(rng, 15):
        raw += pick(rng, (b"\r\n", b"x", _surplus(name)))
    return raw


def switch(rng: Random, name: bytes) -> bytes:
    """An agreement to another protocol, and the beginning of that."""
    head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Id: %s\r\n\r\n" % name
    return head + pick(rng, (b"", b"\x81\x00", marked(name), b"HTTP/1.1 200 OK\r\n\r\n", b"\0" * 70000))


def marked(name: bytes) -> bytes:
    """A body by which its message is known."""
    return b"<<%s>>" % name


def chunked(rng: Random, payload: bytes) -> bytes:
    """A chunked body, or nearly one."""
    raw, left = b"", payload
    while left:
        size = rng.randint(1, len(left))
        said = size - chance(rng, 3)
        raw += pick(rng, _SIZES) % said + b"\r\n" + left[:size] + b"\r\n"
        left = left[size:]
    return raw + pick(rng, _LAST_CHUNKS)


def _surplus(name: bytes) -> bytes:
    body = marked(name)
    return b"HTTP/1.1 200 Surplus\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def _message(rng: Random, name: bytes, start: bytes, lines: list[bytes], *, framed: bool) -> bytes:
    lines.insert(rng.randint(0, len(lines)), b"X-Id: " + name)
    body = b""
    if framed:
        framing, body = _framed(rng, marked(name) + b"." * pick(rng, (0, 1, 3, 70, 70000)))
        for line in framing:
            lines.insert(rng.randint(0, len(lines)), line)
    return b"\r\n".join([start, *lines, b"", body])


def _framed(rng: Random, payload: bytes) -> tuple[list[bytes], bytes]:
    """Framing lines and a body that mostly fits them."""
    how = rng.randrange(10)
    if how < 4:
        return [b"Content-Length: %d" % len(payload)], payload
    body = chunked(rng, payload)
    if how < 7:
        return [b"Transfer-Encoding: chunked"], body
    coding = pick(rng, (b"Transfer-Encoding: ", b"transfer-encoding:")) + pick(rng, _CODINGS)
    pattern = pick(rng, _LENGTHS)
    length = b"Content-Length: " + pattern % ((len(payload),) * pattern.count(b"%d"))
    if how == 7:
        return [length], payload
    if how == 8:
        return [coding], body
    return [length, coding], pick(rng, (payload, body))


def _some(rng: Random, lines: tuple[bytes, ...]) -> list[bytes]:
    chosen = [pick(rng, lines) for _ in range(rng.randrange(5))]
    if chance(rng, 20):
        chosen.append(
            b"X-%c%s%s" % (97 + rng.randrange(3), pick(rng, (b": ", b":", b" : ", b"", b"\t:")), pick(rng, _VALUES))
        )
    return chosen
