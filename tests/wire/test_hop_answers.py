# Answers behind any hop: status and reason, those without a body, those that end with their connection.

import pytest
from rawsides.hop import Head, folded, heard
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, request

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

STATUS_LINES = [
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 201 Anything at all",
    b"HTTP/1.1 206 Partial Content",
    b"HTTP/1.1 299 ",
    b"HTTP/1.1 307 Temporary Redirect",
    b"HTTP/1.1 401 Unauthorized",
    b"HTTP/1.1 418 I'm a teapot",
    b"HTTP/1.1 429 Too Many Requests",
    b"HTTP/1.1 451 caf\xe9",
    b"HTTP/1.1 503 Service Unavailable",
    b"HTTP/1.1 529 \xc3\xbcberlastet\t!",
    b"HTTP/1.1 999 ?",
]


@pytest.mark.parametrize("line", STATUS_LINES, ids=repr)
async def test_status_line_arrives_as_it_was_written(hop, line):
    client, link = await hop.ask(get("/x"))
    await link.head()
    raw = line + b"\r\nLocation: http://other.test/\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\n"
    await link.send(raw + b"ok")
    assert await heard(client) == folded(raw)
    assert await client.exactly(2) == b"ok"


async def test_missing_reason_is_left_out_by_us_and_empty_behind_haproxy(hop, front):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n")
    assert (await heard(client)).first == {"slotgate": b"HTTP/1.1 200", "haproxy": b"HTTP/1.1 200 "}[front]


@pytest.mark.parametrize(
    ("method", "status", "line"),
    [
        ("HEAD", "200 OK", "Content-Length: 1000"),
        ("HEAD", "200 OK", CHUNKED),
        ("HEAD", "200 OK", "X-A: b"),
        ("HEAD", "404 Not Found", "Content-Length: 9"),
        ("GET", "204 No Content", "X-A: b"),
        ("DELETE", "204 No Content", "X-A: b"),
        ("GET", "304 Not Modified", "Content-Length: 1000"),
        ("GET", "304 Not Modified", CHUNKED),
        ("GET", "304 Not Modified", "ETag: x"),
    ],
)
async def test_answer_without_a_body_keeps_its_headers_and_the_connections(hop, method, status, line):
    client, link = await hop.ask(request(method, "/1"))
    await link.head()
    await link.send(begun(line, status=status))
    assert await heard(client) == folded(begun(line, status=status))
    await client.send(get("/2"))
    assert (await heard(link)).first == b"GET /2 HTTP/1.1"
    await link.send(answer(b"second"))
    assert await heard(client) == folded(begun("Content-Length: 6"))
    assert await client.exactly(6) == b"second"


async def test_length_of_a_204_passes_us_and_not_haproxy(hop, front):
    """Spec §10: a 204 keeps its headers. HAProxy takes this one away, since RFC 9110 8.6 forbids it to a sender."""
    client, link = await hop.ask(get("/1"))
    await link.head()
    await link.send(begun("Content-Length: 5", "X-A: b", status="204 No Content"))
    kept = ["Content-Length: 5"] * (front == "slotgate")
    assert await heard(client) == folded(begun(*kept, "X-A: b", status="204 No Content"))
    await client.send(get("/2"))
    assert (await heard(link)).first == b"GET /2 HTTP/1.1"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_close_framed_answer_ends_with_its_connection(hop, method):
    client, link = await hop.ask(request(method, "/x", body=b""))
    await link.head()
    await link.send(begun("X-A: b") + b"all ")
    assert await heard(client) == folded(begun("X-A: b", "Connection: close"))
    assert await client.exactly(4) == b"all "
    await link.send(b"of it")
    link.close()
    assert await client.end() == (b"of it", "fin")


async def test_answer_of_http_1_0_is_read_to_its_length(hop, front):
    """We speak HTTP/1.1 to the client whatever the upstream speaks; HAProxy passes the version on."""
    client, link = await hop.ask(get("/1"))
    await link.head()
    await link.send(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\nok")
    head = await heard(client)
    assert head.first == (b"HTTP/1.1 200 OK" if front == "slotgate" else b"HTTP/1.0 200 OK")
    assert (head.values(b"content-length"), head.values(b"x-a")) == ([b"2"], [b"b"])
    assert await client.exactly(2) == b"ok"
    await client.send(get("/2"))
    assert (await heard(await hop.upstream.link())).first == b"GET /2 HTTP/1.1"


# --- clients of HTTP/1.0 ---


async def test_request_of_http_1_0(hop, front):
    """The version is each hop's own (RFC 9110 6.2): we speak 1.1, and so need a Host; HAProxy speaks the client's."""
    _, link = await hop.ask(b"GET /x HTTP/1.0\r\nX-A: b\r\n\r\n")
    host = hop.upstream.authority.encode()
    assert (
        await heard(link)
        == {
            "slotgate": Head(b"GET /x HTTP/1.1", [(b"host", host), (b"x-a", b"b")]),
            "haproxy": Head(b"GET /x HTTP/1.0", [(b"x-a", b"b"), (b"connection", b"keep-alive")]),
        }[front]
    )


@pytest.mark.parametrize("raw", [answer(b"ok", "X-A: b"), begun("X-A: b") + b"ok"], ids=["length", "close"])
async def test_answer_to_http_1_0_ends_the_connection(hop, raw):
    client, link = await hop.ask(b"GET /x HTTP/1.0\r\nHost: a\r\n\r\n")
    await link.head()
    await link.send(raw)
    link.close()
    head = raw.partition(b"\r\n\r\n")[0] + b"\r\nConnection: close\r\n\r\n"
    assert await heard(client) == folded(head)
    assert await client.end() == (b"ok", "fin")


async def test_only_we_take_the_chunks_out_of_an_answer_to_http_1_0(hop, front):
    """RFC 9112 6.1: no Transfer-Encoding to a client of HTTP/1.0."""
    client, link = await hop.ask(b"GET /x HTTP/1.0\r\nHost: a\r\n\r\n")
    await link.head()
    await link.send(begun(CHUNKED) + chunk(b"abc") + LAST_CHUNK)
    framing, body = ([], b"abc") if front == "slotgate" else ([CHUNKED], chunk(b"abc") + LAST_CHUNK)
    assert await heard(client) == folded(begun(*framing, "Connection: close"))
    assert await client.end() == (body, "fin")


async def test_only_we_keep_interim_answers_from_http_1_0(hop, front):
    """RFC 9110 15.2: a server must not send one to a client of HTTP/1.0."""
    client, link = await hop.ask(b"GET /x HTTP/1.0\r\nHost: a\r\n\r\n")
    await link.head()
    await link.send(begun(status="103 Early Hints") + answer(b"ok"))
    if front == "haproxy":
        assert await client.head() == begun(status="103 Early Hints")
    assert await heard(client) == folded(begun("Content-Length: 2", "Connection: close"))
    assert await client.end() == (b"ok", "fin")
