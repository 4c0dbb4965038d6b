# The request line behind any hop: method and target as they were written, through us and through HAProxy.

import pytest
from rawsides.hop import heard
from rawsides.message import request
from rawsides.targets import ODD_TARGETS

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

TARGETS = [*ODD_TARGETS, b"/", b'/<>"{}|^`[]', b"/?u=http://other.test/"]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "M-SEARCH", "get", "X-any"]

# What is sent → what the upstream's first line is behind us, and behind HAProxy; None: refused.
#   Octets above ASCII and fragments are no URI: we pass them on as they came, it refuses them.
#   An absolute target is cut to its path by us, never mind its authority (spec §4); it passes on only one that agrees
#   with Host, whole, with its authority rewritten as Host is.
#   `*` and CONNECT are nothing that an upstream of ours is asked for (spec §4); it knows them.
OTHERWISE = [
    (b"GET /caf\xc3\xa9/\xff HTTP/1.1", b"GET /caf\xc3\xa9/\xff HTTP/1.1", None),
    (b"GET /a#fragment HTTP/1.1", b"GET /a#fragment HTTP/1.1", None),
    (b"GET http://proxy.test/x?y HTTP/1.1", b"GET /x?y HTTP/1.1", b"GET http://UPSTREAM/x?y HTTP/1.1"),
    (b"GET http://proxy.test HTTP/1.1", b"GET / HTTP/1.1", b"GET http://UPSTREAM HTTP/1.1"),
    (b"GET http://evil.test:1/x?y HTTP/1.1", b"GET /x?y HTTP/1.1", None),
    (b"OPTIONS * HTTP/1.1", None, b"OPTIONS * HTTP/1.1"),
    (b"CONNECT proxy.test:443 HTTP/1.1", None, b"CONNECT UPSTREAM HTTP/1.1"),
    (b"CONNECT /x HTTP/1.1", None, None),
    (b"GET x HTTP/1.1", None, None),
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: repr(target[:40]))
async def test_target_arrives_as_it_was_written(hop, target):
    _, link = await hop.ask(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (await heard(link)).first == b"GET " + target + b" HTTP/1.1"


@pytest.mark.parametrize("method", METHODS)
async def test_method_arrives_as_it_was_written_and_without_a_framing(hop, method):
    _, link = await hop.ask(request(method, "/x"))
    head = await heard(link)
    assert head.first == f"{method} /x HTTP/1.1".encode()
    assert head.fields == [(b"host", hop.upstream.authority.encode())]


@pytest.mark.parametrize(("line", "ours", "theirs"), OTHERWISE, ids=lambda line: repr(line))
async def test_line_that_is_read_otherwise(hop, front, line, ours, theirs):
    client = await hop.client()
    await client.send(line + b"\r\nHost: proxy.test\r\n\r\n")
    if (wanted := ours if front == "slotgate" else theirs) is None:
        assert (await heard(client)).status in (400, 501)
        assert hop.upstream.was_left_alone()
    else:
        wanted = wanted.replace(b"UPSTREAM", hop.upstream.authority.encode())
        assert (await heard(await hop.upstream.link())).first == wanted
