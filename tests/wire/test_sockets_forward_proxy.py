# A plain upstream behind a forward proxy: the proxy is asked with absolute targets (RFC 9112 3.2.2), with its own
# credentials, and it alone looks the upstream up. The environment says nothing; only the configuration does.

import json

import pytest
from rawsides.message import answer, begun, get, post
from rawsides.names import Names
from rawsides.peer import Peer
from rawsides.rig import Rig, Start
from rawsides.tls_fixtures import names
from rawsides.upstream import Upstream

from proxy.config import load

__all__ = ["names"]

BASIC = "Basic dXNlcjpzM2NyZXQ="  # user:s3cret


@pytest.fixture
async def behind(names: Names):
    """Makes rigs whose upstream is `url`, behind a forward proxy, for which rig.upstream stands."""
    rigs: list[Rig] = []

    async def begin(url: str = "http://far.test:8080/base", userinfo: str = "user:s3cret@", **entry: object) -> Rig:
        forward = Upstream()
        rigs.append(Rig(forward, {"url": url, "proxy": f"http://{userinfo}{forward.authority}", **entry}, {}))
        await rigs[-1].start()
        return rigs[-1]

    yield begin
    for rig in rigs:
        await rig.close()


async def exchange(client: Peer, link: Peer) -> bytes:
    """The head that the forward proxy heard of a request that it then answers."""
    head = await link.head()
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    return head


async def test_target_is_absolute_and_credentials_are_the_proxys(behind: Start, names: Names):
    rig = await behind()
    client, link = await rig.ask(get("/up/a%2Fb?c=%zz", "Proxy-Authorization: Basic Y2xpZW50", "X-A: b"))
    assert await exchange(client, link) == (
        b"GET http://far.test:8080/base/a%2Fb?c=%zz HTTP/1.1\r\nHost: far.test:8080\r\nX-A: b\r\n"
        + f"Proxy-Authorization: {BASIC}\r\n\r\n".encode()
    )
    assert names.asked == [], "whoever connects looks the name up"


@pytest.mark.parametrize(
    ("url", "target", "host"),
    [
        ("http://far.test", "http://far.test/x?y", "far.test"),
        ("http://[::1]:81", "http://[::1]:81/x?y", "[::1]:81"),
        ("http://far.test:80/", "http://far.test/x?y", "far.test"),
    ],
)
async def test_each_kind_of_url_is_asked_for_as_it_is_written(behind: Start, url, target, host):
    rig = await behind(url, "")
    client, link = await rig.ask(get("/up/x?y"))
    assert await exchange(client, link) == f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


async def test_target_without_a_path_is_asked_for_with_one(behind: Start):
    rig = await behind("http://far.test", "")
    client, link = await rig.ask(get("/up?q"))
    assert (await exchange(client, link)).startswith(b"GET http://far.test/?q HTTP/1.1\r\n")


async def test_connection_to_the_proxy_is_kept(behind: Start):
    rig = await behind()
    client, link = await rig.ask(get("/up/1"))
    await exchange(client, link)
    await client.send(post("/up/2", b""))
    head = await exchange(client, link)
    assert head.startswith(b"POST http://far.test:8080/base/2 HTTP/1.1\r\n")
    assert BASIC.encode() in head


@pytest.mark.parametrize("status", ["407 Proxy Authentication Required", "403 Forbidden", "502 Bad Gateway"])
async def test_refusal_of_the_proxy_is_passed_on_without_what_is_between_it_and_us(behind: Start, status):
    """It looks like any answer of the upstream. A challenge is for whoever has the proxy's credentials (RFC 9110)."""
    rig = await behind()
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(answer(b"no", 'Proxy-Authenticate: Basic realm="x"', "X-A: b", status=status))
    assert await client.head() == begun("X-A: b", "Content-Length: 2", status=status)
    assert await client.exactly(2) == b"no"


async def test_proxy_that_is_not_there_is_a_502(behind: Start):
    rig = await behind()
    rig.upstream.refuse()
    client = await rig.client()
    await client.send(get("/up/"))
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"X-Slotgate-Error: upstream_unreachable\r\n" in head
    message = await client.until(b"}}")
    assert b"Connection refused" in message
    assert b"s3cret" not in message


@pytest.mark.parametrize("upper", [True, False])
async def test_environment_says_nothing(start: Start, monkeypatch, upper):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name if upper else name.lower(), "http://127.0.0.1:1")
    rig = await start()
    client, link = await rig.ask(get("/up/x"))
    assert (await exchange(client, link)).startswith(b"GET /x HTTP/1.1\r\n")


def test_configuration_may_ask_the_environment():
    """And then NO_PROXY is no more heard than before."""
    entry = {"url": "http://far.test", "proxy": "${HTTPS_PROXY}"}
    text = json.dumps({"presets": False, "state": "memory", "upstreams": {"up": entry}})
    env = {"HTTPS_PROXY": "http://user:s3cret@127.0.0.1:3128", "NO_PROXY": "*"}
    proxy = load(None, env=env, text=text).upstreams["up"].proxy
    assert proxy is not None
    assert (str(proxy), proxy.userinfo) == ("http://127.0.0.1:3128", "user:s3cret")
