# What the proxy says to an upstream before anything is encrypted: whose name it asks for, and what it would speak.

import pytest
from rawsides.message import answer, get, request
from rawsides.peer import Peer
from rawsides.tls_fixtures import UP, authority, names, start_tls, tls_rig
from rawsides.tls_hello import TLS_1_2, TLS_1_3, Hello

__all__ = ["authority", "names", "start_tls", "tls_rig"]


async def hello(rig, message: bytes) -> Hello:
    """What the upstream hears first of a request, which then fails for want of an answer."""
    client = await rig.client()
    await client.send(message)
    link: Peer = await rig.upstream.bare_link()
    heard = await Hello.heard_by(link)
    link.close()
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    return heard


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "", UP.upper()])
async def test_name_is_the_configured_one_whatever_the_client_calls_it(tls_rig, host):
    """NET-02."""
    heard = await hello(tls_rig, f"GET /up/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert heard.names == (UP,)


async def test_name_is_the_configured_one_for_an_absolute_target_too(tls_rig):
    heard = await hello(tls_rig, request("GET", "http://evil.example/up/"))
    assert heard.names == (UP,)


@pytest.mark.parametrize("verify", [True, False])
async def test_name_is_said_verified_or_not(start_tls, verify):
    """Servers choose by it whom they are."""
    rig = await start_tls({"tls": {"verify": verify}})
    assert (await hello(rig, get("/up/"))).names == (UP,)


async def test_literal_address_is_no_name(start_tls):
    """RFC 6066 3."""
    rig = await start_tls(name="127.0.0.1")
    assert (await hello(rig, get("/up/"))).names == ()


async def test_only_http_1_1_is_offered(tls_rig):
    assert (await hello(tls_rig, get("/up/"))).protocols == (b"http/1.1",)


async def test_only_versions_that_are_not_broken_are_offered(tls_rig):
    """RFC 8996 has taken 1.0 and 1.1 away."""
    assert (await hello(tls_rig, get("/up/"))).versions == {TLS_1_2, TLS_1_3}


async def test_name_that_is_written_to_its_root_is_said_and_checked_without_the_dot(start_tls):
    """RFC 6066 3: in SNI, a name has no dot at its end; and no certificate has."""
    rig = await start_tls(name=f"{UP}.")
    client, link = await rig.ask(get("/up/"))
    assert f"Host: {UP}.:{rig.upstream.port}\r\n".encode() in await link.head()
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
