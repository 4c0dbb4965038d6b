# Header lines of requests that go no further, or not as they came.

from rawsides.message import CHUNKED, LAST_CHUNK, answer, chunk, get, post, request
from stage import Exchange, Stage

OK = answer(b"ok")
REMOVED = {
    "Connection": ["Connection: keep-alive"],
    "Connection that is empty": ["Connection:", "CONNECTION: ,, ,"],
    "Connection that lists": ["X-One: 1", "Connection: X-One, x-tWO", "X-Two: 2", "x-one: 3", "X-Three: 4"],
    "Connections that list": ["connection: x-one", "X-One: 1", "X-Two: 2", "Connection:x-two ,\t", "X-Three: 3"],
    "Connection that lists what is not there": ["Connection: X-None, keep-alive"],
    "Connection that lists itself": ["Connection: connection, X-A", "X-A: 1"],
    "Connection that lists Host": ["Connection: Host"],
    "Connection that lists credentials": [
        "Connection: Cookie, authorization, X-Api-Key",
        "cookie: a",
        "Authorization: b",
        "x-api-key: c",
    ],
    "Connection that lists odd names": ["Connection: !#$%, a.b, 0", "!#$%: 1", "a.b: 2", "0: 3", "0a: 4"],
    "Keep-Alive": ["Keep-Alive: timeout=5, max=100", "keep-alive:"],
    "the rest": [
        "Proxy-Connection: keep-alive",
        "PROXY-connection: close",
        "Proxy-Authorization: Basic YTpi",
        "proxy-authenticate: Basic",
    ],
    "TE": ["TE: gzip, deflate;q=0.5", "te:"],
    "TE with trailers": ["TE: trailers", "Connection: TE"],
    "TE with trailers as it likes": ["TE:trailers", "te:  Trailers ", "TE:\ttrailers"],
    "Expect of others": ["Expect: 200-ok", "expect:", "Expect: 100-continues"],
    "TE with trailers and more": ["Te: deflate;q=0.5, trailers", "TE: gzip"],
    "Upgrade": ["Upgrade: h2c, HTTP/3", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: x"],
    "Upgrade that Connection does not list": ["Upgrade: websocket", "Sec-WebSocket-Key: x"],
    "what tells of the client": [
        "Forwarded: for=1",
        "forwarded: for=2",
        "X-Forwarded-For: 1",
        "x-forwarded-proto: https",
        "X-FORWARDED-HOST: a",
        "X-Forwarded-Anything: b",
        "X-Forwarded-: c",
    ],
    "what is ours": [
        "X-Slotgate-Workspace: w",
        "x-slotgate-conversation: c",
        "X-SLOTGATE-PROMPT-STARTED-AT: 1",
        "X-Slotgate-Workspace: v",
    ],
    "all at once": [
        "X-A: 1",
        "Connection: close, x-b",
        "X-B: 2",
        "Keep-Alive: 1",
        "X-C: 3",
        "TE: gzip",
        "Upgrade: a",
        "Forwarded: b",
        "X-D: 4",
        "X-Forwarded-For: c",
        "X-Slotgate-Workspace: d",
        "Proxy-Connection: e",
        "X-E: 5",
    ],
}
HOSTS = {
    "first": b"GET /up/ HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\n",
    "last": b"GET /up/ HTTP/1.1\r\nX-A: 1\r\nhost: a\r\n\r\n",
    "between": b"GET /up/ HTTP/1.1\r\nX-A: 1\r\nHOST:a:80\r\nX-B: 2\r\n\r\n",
    "empty": b"GET /up/ HTTP/1.1\r\nHost:\r\n\r\n",
    "with spaces": b"GET /up/ HTTP/1.1\r\nHost: \t a \t\r\n\r\n",
    "one of an attacker": b"GET /up/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
    "a literal": b"GET /up/ HTTP/1.1\r\nhOsT: [::1]:8787\r\n\r\n",
    "none in HTTP/1.0": b"GET /up/ HTTP/1.0\r\nX-A: 1\r\n\r\n",
    "one in HTTP/1.0": b"GET /up/ HTTP/1.0\r\nX-A: 1\r\nHost: a\r\n\r\n",
    "no line at all": b"GET /up/ HTTP/1.0\r\n\r\n",
}


async def test_every_line_that_goes_no_further(stage: Stage):
    await stage.shows_no_difference(
        {name: Exchange(get("/up/x", "X-Before: 1", *lines, "X-After: 2"), OK) for name, lines in REMOVED.items()}
        | {f"{name}, POST": Exchange(post("/up/x", b"{}", *lines, "X-After: 2"), OK) for name, lines in REMOVED.items()}
    )


async def test_host_is_the_upstreams(stage: Stage):
    await stage.shows_no_difference({name: Exchange(message, OK) for name, message in HOSTS.items()})


async def test_connection_does_not_reach_the_framing(stage: Stage):
    listed = "Connection: Content-Length, Transfer-Encoding, Host, X-A"
    await stage.shows_no_difference(
        {
            "length": Exchange(post("/up/x", b"body", listed, "X-A: 1"), OK),
            "chunked": Exchange(request("PUT", "/up/x", listed, CHUNKED, "X-A: 1") + chunk(b"body") + LAST_CHUNK, OK),
        }
    )
