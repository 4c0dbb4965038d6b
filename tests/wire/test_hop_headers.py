# Headers behind any hop: their order, duplicates and octets, in both directions; and what a hop keeps to itself.

import pytest
from rawsides.hop import folded, heard
from rawsides.message import answer, begun, get

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])


async def test_headers_of_a_request_arrive_with_their_order_duplicates_and_octets(hop):
    lines = (
        b"x-b: 1\r\nX-Title: \xe4\xbd\xa0\r\nX-L: caf\xe9\xff\r\nX-B: 2, 3\r\nX-Inner: a \t b\r\n"
        b'Cookie: a=b\r\ncookie: c=d\r\nX-Empty:\r\nX-Quoted: "a, b"\r\nX-Spaces: \t c \r\n!#$%&\'*+-.^_`|~0: token\r\n'
    )
    _, link = await hop.ask(b"GET /x HTTP/1.1\r\nX-First: 1\r\nHost: a\r\n" + lines + b"\r\n")
    host = hop.upstream.authority.encode()
    assert await heard(link) == folded(b"GET /x HTTP/1.1\r\nX-First: 1\r\nHost: %s\r\n%s\r\n" % (host, lines))


async def test_headers_of_an_answer_arrive_with_their_order_duplicates_and_octets(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    head = (
        b"HTTP/1.1 207 caf\xe9 \xff!\r\nServer: s\r\nDate: today\r\nVia: 1.1 v\r\nSet-Cookie: a=b; Path=/\r\n"
        b"set-cookie: b\r\nLink: <a>, <b>\r\nETag: x\r\nSET-COOKIE: \xff\r\nWWW-Authenticate: A\r\nX-Empty:\r\n"
        b"www-authenticate: B\r\nVary: *\r\nContent-Length: 0\r\nX-Last: \xc3\xa9\r\n\r\n"
    )
    await link.send(head)
    assert await heard(client) == folded(head)


@pytest.mark.parametrize("size", [8_000, 32_000])
async def test_long_header_passes_both_ways(hop, size):
    client, link = await hop.ask(get("/x", "X-Long: " + "a" * size))
    assert (await heard(link)).values(b"x-long") == [b"a" * size]
    await link.send(answer(b"", "X-Long: " + "b" * size))
    assert (await heard(client)).values(b"x-long") == [b"b" * size]


async def test_199_headers_and_a_host_pass_both_ways(hop):
    lines = [f"X-{number}: {number}" for number in range(199)]
    client, link = await hop.ask(get("/x", *lines))
    assert await heard(link) == folded(get("/x", *lines).replace(b"proxy.test", hop.upstream.authority.encode()))
    await link.send(answer(b"", *lines))
    assert await heard(client) == folded(answer(b"", *lines))


@pytest.mark.parametrize("word", ["close", "keep-alive", "Keep-Alive"])
async def test_what_a_client_says_about_its_own_connection_is_kept_from_the_upstream(hop, word):
    _, link = await hop.ask(get("/x", f"Connection: {word}", "X-A: b"))
    assert (await heard(link)).names() == {b"host", b"x-a"}


async def test_what_an_upstream_says_about_its_own_connection_is_kept_from_the_client(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(answer(b"", "Connection: close", "X-A: b"))
    assert await heard(client) == folded(answer(b"", "X-A: b"))


async def test_te_says_trailers_or_nothing(hop):
    _, link = await hop.ask(get("/x", "TE: gzip, trailers;q=0.5, deflate", "Connection: TE"))
    assert (await heard(link)).values(b"te") in ([b"trailers"], [])


# What HAProxy leaves to its configuration, and spec §10 removes: RFC 9110 7.6.1, and what would tell the upstream about
# the client's network.
OF_A_REQUEST = [
    "Connection: X-Mine",
    "X-Mine: 1",
    "Keep-Alive: timeout=3",
    "Proxy-Connection: keep-alive",
    "Proxy-Authorization: Basic abc",
    "Upgrade: h2c",
    "Forwarded: for=1.2.3.4",
    "X-Forwarded-For: 1.2.3.4",
    "X-Forwarded-Proto: http",
]
OF_AN_ANSWER = [
    "Connection: X-Mine",
    "X-Mine: 1",
    "Keep-Alive: timeout=3",
    "Proxy-Authenticate: Basic",
    "Alt-Svc: h3",
    "Upgrade: h2c",
]


async def test_only_we_remove_what_a_request_says_to_one_hop(hop, front):
    _, link = await hop.ask(get("/x", "X-First: 1", *OF_A_REQUEST, "X-Last: 2"))
    passed = OF_A_REQUEST if front == "haproxy" else []
    wanted = get("/x", "X-First: 1", *passed, "X-Last: 2").replace(b"proxy.test", hop.upstream.authority.encode())
    assert await heard(link) == folded(wanted)


async def test_only_we_remove_what_an_answer_says_to_one_hop(hop, front):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(begun("X-First: 1", *OF_AN_ANSWER, "Content-Length: 0", "X-Last: 2"))
    passed = OF_AN_ANSWER if front == "haproxy" else []
    assert await heard(client) == folded(begun("X-First: 1", *passed, "Content-Length: 0", "X-Last: 2"))
