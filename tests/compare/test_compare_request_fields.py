# Header lines of requests: what passes as it came, and what goes no further.

from rawsides.message import answer, get, post
from stage import Exchange, Stage

OK = answer(b"ok")
SPELLING = {
    "none but Host": [],
    "odd spelling": ["x-lower: 1", "X-UPPER: 2", "x-MiXeD: 3", "ACCEPT: a", "user-agent: b", "uSER-aGENT: c"],
    "odd names": ["!#$%&'*+-.^_`|~: 1", "x_y: 2", "0: 3", "-: 4", "X--Y: 5", "a.b: 6"],
    "duplicates apart": ["X-A: 1", "X-B: 2", "x-a: 3", "X-A: 1", "X-B: 2"],
    "no space, spaces, tabs": ["X-A:1", "X-B:  2", "X-C:\t3", "X-D: 4 ", "X-E: 5\t \t", "X-F: \t 6 \t", "X-G:7  "],
    "white space within": ["X-A: a  b\t\tc", "X-B: , ,,", "X-C: a ;  b"],
    "empty": ["X-A:", "X-B: ", "X-C:\t", "X-D:  \t ", "Accept:", "Cookie:"],
    "every octet from 80 to ff": ["X-A: " + bytes(range(0x80, 0x100)).decode("latin-1"), "X-B:\xff", "X-C: \x80"],
    "every visible one": ["X-A: " + bytes(range(0x21, 0x7F)).decode(), "X-B: :", "X-C: ::a: b:"],
    "UTF-8": ["X-A: \xe4\xbd\xa0\xe5\xa5\xbd", "X-B: caf\xc3\xa9", "X-C: \xef\xbb\xbfx"],
    "quoted": ['X-A: "a, b\\"c"', 'X-B: "', "X-C: 'x'", "X-D: (comment (nested)", 'X-E: a=b; c="d"'],
    "long": ["X-A: " + "a" * (32 * 1024 - 5), "X-B: b"],
    "long name": ["X-" + "a" * 10_000 + ": 1"],
    "as many as may be": [f"X-{number}: {number}" for number in range(199)],
    "as many of one name": ["X-A: 1"] * 199,
    "seven that are long": [f"X-{number}: " + "a" * 32_000 for number in range(7)],
    "reserved for us, nearly": [
        "X-Slotgate: 1",
        "X-Slotgate-Workspaces: 2",
        "X-SlotgateWorkspace: 3",
        "X-Slotgate-Error: 4",
    ],
}
KNOWN = {
    "an Anthropic client": [
        "x-api-key: sk-ant-1",
        "anthropic-version: 2023-06-01",
        "anthropic-beta: a,b",
        "anthropic-beta: c",
        "User-Agent: claude-cli/2.0 (external, cli)",
        "x-app: cli",
        "Accept: application/json",
        "Accept-Encoding: gzip, deflate, br, zstd",
        "X-Stainless-Runtime: node",
        "x-stainless-retry-count: 0",
        "X-Claude-Code-Session-Id: s",
        "content-type: application/json",
    ],
    "who asks": [
        "X-Workspace-Id: w",
        "X-Conversation-Id: c",
        "X-Prompt-Started-At: 1",
        "session_id: s",
        "session-id: t",
        "x-codex-turn-metadata: {}",
        "x-session-affinity: a",
        "x-parent-session-id: p",
        "x-initiator: user",
    ],
    "cookies": ["Cookie: a=b; c=d", "cookie: e=f", "COOKIE: g", "Cookie2: $Version=1"],
    "credentials": ["Authorization: Bearer k", "authorization: Basic YTpi", "x-goog-api-key: k", "api-key: k"],
    "what a browser sends": [
        "Origin: http://a",
        "Referer: http://a/b?c",
        "Sec-Fetch-Site: cross-site",
        "DNT: 1",
        'Sec-CH-UA: "x";v="1"',
    ],
    "encodings": ["Accept-Encoding: identity", "Accept-Encoding: *;q=0", "accept-encoding: gzip;q=1.0, br"],
    "no encodings": ["Accept-Encoding:"],
    "ranges and conditions": [
        "Range: bytes=0-1,5-",
        'If-Range: "x"',
        'If-None-Match: W/"a", *',
        "If-Modified-Since: x",
        "If-Match: *",
    ],
    "what proxies like to touch": [
        "Via: 1.1 a",
        "Max-Forwards: 0",
        "Cache-Control: no-cache",
        "Pragma: no-cache",
        "Date: never",
        "X-Real-IP: 1.2.3.4",
        "Client-IP: 1",
        "True-Client-IP: 1",
        "CF-Connecting-IP: 1",
        "X-Forwarded: 1",
        "X-Request-Id: r",
        "traceparent: 00-a-b-01",
        "Early-Data: 1",
        "X-Original-URL: /",
        "X-HTTP-Method-Override: DELETE",
    ],
    "answers' names": [
        "Alt-Svc: h3",
        "Set-Cookie: a",
        "Server: s",
        "Location: /",
        "Retry-After: 1",
        "WWW-Authenticate: Basic",
        "ETag: x",
    ],
    "trailers' names": ["Trailer: X-T", "trailer: X-U"],
    "names of HTTP/2": ["HTTP2-Settings: x", "Priority: u=1, i"],
    "proxies' names that are not ours": ["Proxy-Authentication-Info: x", "Proxy: http://evil", "Proxy-Status: x"],
}


async def test_every_line_that_passes(stage: Stage):
    await stage.shows_no_difference(
        {name: Exchange(get("/up/x", *lines), OK) for name, lines in (SPELLING | KNOWN).items()}
    )


async def test_every_line_that_passes_with_a_counted_request(stage: Stage):
    table = {name: lines for name, lines in (SPELLING | KNOWN).items() if len(lines) < 199}
    await stage.shows_no_difference({name: Exchange(post("/up/x", b"{}", *lines), OK) for name, lines in table.items()})
