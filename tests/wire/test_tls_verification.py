# Upstreams are who they say they are: one that cannot show it hears nothing of a request. TLS to upstreams, spec §3.1.

import json
import ssl

import pytest
from rawsides.message import answer, get, post
from rawsides.peer import Peer
from rawsides.tls_authority import Authority, self_signed
from rawsides.tls_fixtures import UP, authority, names, start_tls
from rawsides.tls_peer import TlsPeer

__all__ = ["authority", "names", "start_tls"]

SECRET = b"Bearer s3cret"


def doubtful(kind: str, authority: Authority, directory) -> ssl.SSLContext:
    """A server's context that nobody should trust, for the reason that `kind` names."""
    if kind == "unknown authority":
        (directory / "other").mkdir()
        return Authority(directory / "other").server(UP)
    if kind == "self-signed":
        return self_signed(directory)
    if kind == "another name":
        return authority.server("elsewhere.test")
    return authority.expired(UP) if kind == "expired" else authority.not_yet_valid(UP)


REASONS = {
    "unknown authority": "unable to get local issuer certificate",
    "self-signed": "self-signed certificate",
    "another name": f"Hostname mismatch, certificate is not valid for '{UP}'",
    "expired": "certificate has expired",
    "not yet valid": "certificate is not yet valid",
}


async def refused(client: Peer) -> str:
    """The message of an answer of our own that says the upstream could not be reached."""
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert b"X-Slotgate-Error: upstream_unreachable\r\n" in head
    message = json.loads(await client.until(b"}}"))["error"]["message"]
    assert isinstance(message, str)
    return message


async def turns_away(rig) -> None:
    """The proxy ends the handshake before the upstream could hear anything, and says why."""
    link = TlsPeer(await rig.upstream.bare_link(), rig.upstream.context)
    with pytest.raises(ssl.SSLError, match="alert"):
        await link.handshake()


@pytest.mark.parametrize("kind", REASONS)
async def test_doubtful_upstream_hears_nothing_and_the_client_hears_why(start_tls, authority, tmp_path, kind):
    rig = await start_tls({"limit": 1}, served=doubtful(kind, authority, tmp_path))
    client = await rig.client()
    await client.send(post("/up/", b"{}", f"Authorization: {SECRET.decode()}"))
    await turns_away(rig)
    message = await refused(client)
    assert f"certificate: {REASONS[kind]}" in message
    assert "upstream up" in message
    await rig.at_rest()
    assert rig.upstream.was_left_alone(), "not tried again: it would be no better"


async def test_authorities_of_the_system_are_asked_without_a_ca_file(start_tls):
    """Ours is none of them."""
    rig = await start_tls({"tls": {}})
    client = await rig.client()
    await client.send(get("/up/"))
    await turns_away(rig)
    assert "certificate: " in await refused(client)


@pytest.mark.parametrize("kind", REASONS)
async def test_whoever_turns_verification_off_gets_an_answer(start_tls, authority, tmp_path, kind):
    rig = await start_tls({"tls": {"verify": False}}, served=doubtful(kind, authority, tmp_path))
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_literal_address_is_verified_as_such(start_tls, authority):
    rig = await start_tls(name="127.0.0.1", served=authority.server("127.0.0.1"))
    client, link = await rig.ask(get("/up/"))
    assert f"Host: {rig.upstream.authority}\r\n".encode() in await link.head()
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_name_of_a_literal_address_is_not_enough(start_tls, authority):
    rig = await start_tls(name="127.0.0.1", served=authority.server("localhost"))
    client = await rig.client()
    await client.send(get("/up/"))
    await turns_away(rig)
    assert "IP address mismatch" in await refused(client)


async def test_upstream_that_speaks_no_tls_is_refused(start_tls):
    rig = await start_tls()
    client = await rig.client()
    await client.send(get("/up/", f"Authorization: {SECRET.decode()}"))
    link = await rig.upstream.bare_link()
    await link.send(answer(b"in the clear", status="400 Bad Request"))
    await refused(client)
    assert SECRET not in (await link.end())[0]


async def test_certificate_is_not_asked_for_again_on_a_kept_connection_but_on_each_new_one(start_tls, authority):
    """A change of the upstream's certificate shows with the next connection."""
    rig = await start_tls({"reuse": False})
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"one"))
    await client.exactly(len(answer(b"one")))
    rig.upstream.context = authority.expired(UP)
    await client.send(get("/up/2"))
    await turns_away(rig)
    assert "expired" in await refused(client)
