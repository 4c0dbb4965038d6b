# Header lines of answers: what passes as it came, and what goes no further.

from rawsides.message import answer, begun, get, post, request
from stage import Exchange, Stage

ASK = get("/up/x")
PASSED = {
    "none": [],
    "odd spelling": ["x-lower: 1", "X-UPPER: 2", "content-TYPE: a/b", "eTAG: c"],
    "odd names": ["!#$%&'*+-.^_`|~: 1", "x_y: 2", "0: 3", "-: 4"],
    "white space": ["X-A:1", "X-B:  2", "X-C:\t3", "X-D: 4 ", "X-E: 5\t \t", "X-F: a  b\t\tc"],
    "empty": ["X-A:", "X-B: ", "X-C:\t", "Set-Cookie:", "Server:"],
    "octets": [
        "X-A: " + bytes(range(0x80, 0x100)).decode("latin-1"),
        "X-B: \xe4\xbd\xa0",
        "X-C: " + bytes(range(0x21, 0x7F)).decode(),
    ],
    "long": ["X-A: " + "a" * (32 * 1024 - 5)],
    "as many as may be": [f"X-{number}: {number}" for number in range(199)],
    "seven that are long": [f"X-{number}: " + "a" * 32_000 for number in range(7)],
    "cookies": [
        "Set-Cookie: a=b; Path=/; Secure",
        "set-cookie: a=b; Domain=api.test",
        "Set-Cookie: c=d; Expires=Wed, 09 Jun 2021 10:18:14 GMT",
    ],
    "repeated": [
        "Link: <a>",
        "Vary: a",
        "Link: <b>",
        "vary: b",
        "WWW-Authenticate: Basic",
        "www-authenticate: Bearer",
        "X-A: 1",
        "X-A: 1",
    ],
    "places": [
        "Location: http://api.test/v1/x",
        "Content-Location: /v1/x",
        "Refresh: 0; url=/x",
        "Link: <http://api.test/>; rel=next",
    ],
    "who answers": [
        "Date: Thu, 01 Jan 1970 00:00:00 GMT",
        "Server: nginx",
        "Via: 1.1 varnish",
        "X-Powered-By: x",
        "CF-Ray: 1",
        "Age: 5",
    ],
    "dates": ["date: not one", "Date: another", "Expires: 0", "Last-Modified: x"],
    "security": [
        "Strict-Transport-Security: max-age=1",
        "Content-Security-Policy: a",
        "Access-Control-Allow-Origin: *",
        'Clear-Site-Data: "*"',
    ],
    "rate limits": [
        "retry-after: 0",
        "anthropic-ratelimit-requests-remaining: 5",
        "x-ratelimit-remaining-tokens: 0",
        "RateLimit: limit=1",
    ],
    "requests' names": [
        "Forwarded: for=1",
        "X-Forwarded-For: 1",
        "Expect: 100-continue",
        "Host: a",
        "Cookie: a",
        "X-Slotgate-Workspace: w",
    ],
    "ours": ["X-Slotgate-Error: queue_full"],
    "encodings": [
        "Content-Encoding: gzip",
        "Content-Encoding: br",
        "Content-MD5: x",
        "Digest: y",
        "Content-Digest: sha-256=:x:",
    ],
    "types": [
        "Content-Type: text/event-stream; charset=utf-8",
        "X-Accel-Buffering: no",
        "Cache-Control: no-transform",
        "Content-Range: bytes 0-1/2",
    ],
    "proxies' names that are not ours": ["Proxy-Authentication-Info: x", "Proxy-Status: a", "Proxy: b"],
}
REMOVED = {
    "Connection": ["Connection: keep-alive"],
    "Connection: close": ["connection: Close"],
    "Connections that list": ["Connection: X-One", "X-One: 1", "connection: x-two,,", "X-Two: 2", "x-one: 3"],
    "Connection that lists the framing": ["Connection: Content-Length, Transfer-Encoding, Set-Cookie", "Set-Cookie: a"],
    "Keep-Alive": ["Keep-Alive: timeout=5"],
    "the rest": ["Proxy-Connection: close", "Proxy-Authenticate: Basic", "proxy-authorization: x", "TE: gzip"],
    "Upgrade": ["Upgrade: h2,h2c", "Connection: upgrade"],
    "TE with trailers": ["TE:trailers", "te: gzip, trailers"],
    "Alt-Svc": ['Alt-Svc: h3=":443"; ma=86400', "alt-svc: clear"],
    "all at once": [
        "X-A: 1",
        "Connection: x-b",
        "X-B: 2",
        "Keep-Alive: 1",
        "X-C: 3",
        "Alt-Svc: a",
        "X-D: 4",
        "Upgrade: b",
        "X-E: 5",
    ],
}


async def test_every_line_that_passes(stage: Stage):
    await stage.shows_no_difference({name: Exchange(ASK, answer(b"ok", *lines)) for name, lines in PASSED.items()})


async def test_every_line_that_passes_with_an_error(stage: Stage):
    """Errors of counted requests are read for what they say of limits; and passed on all the same."""
    await stage.shows_no_difference(
        {
            f"{name}, {status}": Exchange(
                post("/up/x", b"{}"), answer(b'{"error":{"type":"x"}}', *lines, status=status)
            )
            for name, lines in PASSED.items()
            for status in ("429 Too Many Requests", "529 ", "400 Bad Request", "500 x", "401 Unauthorized")
        }
    )


async def test_every_line_that_goes_no_further(stage: Stage):
    await stage.shows_no_difference(
        {name: Exchange(ASK, answer(b"ok", "X-Before: 1", *lines, "X-After: 2")) for name, lines in REMOVED.items()}
    )


async def test_every_line_of_answers_without_a_body(stage: Stage):
    lines = (*PASSED.values(), *REMOVED.values())
    some = [lines for lines in lines if len(lines) < 150]
    heads = {
        "HEAD": (request("HEAD", "/up/"), "200 OK"),
        "204": (ASK, "204 No Content"),
        "304": (ASK, "304 Not Modified"),
    }
    await stage.shows_no_difference(
        {
            f"{name}, {part}": Exchange(asked, begun(*part, status=status))
            for name, (asked, status) in heads.items()
            for part in some
        }
    )


async def test_every_line_of_interim_answers(stage: Stage):
    lines = (*PASSED.items(), *REMOVED.items())
    await stage.shows_no_difference(
        {name: Exchange(ASK, begun(*part, status="103 Early Hints") + answer(b"ok")) for name, part in lines}
    )
