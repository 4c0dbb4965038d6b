# Records that do not decrypt, and alerts: the connection is over with them, and what came before them is not lost.

import ssl

import pytest
from rawsides.message import CHUNKED, answer, begun, chunk, get
from rawsides.tls_fixtures import UP, authority, names, start_tls, tls_rig
from rawsides.tls_peer import TlsPeer

__all__ = ["authority", "names", "start_tls", "tls_rig"]


def encrypted(link: TlsPeer, data: bytes) -> bytes:
    link.tls.write(data)
    return link._outgoing.read()


def damaged(link: TlsPeer, data: bytes) -> bytes:
    """A record of which one bit is another."""
    record = bytearray(encrypted(link, data))
    record[-1] ^= 1
    return bytes(record)


def fatal_alert(link: TlsPeer) -> bytes:
    """What a server sends that has understood nothing."""
    link._incoming.write(b"\x17\x03\x03\x00\x20" + b"?" * 32)
    with pytest.raises(ssl.SSLError):
        link.tls.read(1)
    return link._outgoing.read()


BROKEN = {"damaged": lambda link: damaged(link, chunk(b"never seen")), "alert": fatal_alert}
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@pytest.fixture(params=VERSIONS)
async def asked(request, start_tls, authority):
    """A rig, a client that has asked, and the upstream that was asked, in each version."""
    rig = await start_tls(served=authority.server(UP, of=VERSIONS[request.param]))
    client, link = await rig.ask(get("/up/"))
    await link.head()
    return rig, client, link


@pytest.mark.parametrize("kind", BROKEN)
async def test_broken_record_cuts_the_answer_behind_what_came_before_it(asked, kind):
    """In one segment with it: the last words count."""
    rig, client, link = asked
    sent = begun(CHUNKED) + chunk(b"a")
    records = encrypted(link, sent) + encrypted(link, chunk(b"b")) + BROKEN[kind](link)
    link.sock.send(records)
    assert await client.end() == (sent + chunk(b"b"), "fin")
    assert (await rig.record()).outcome == "cut"
    assert (await link._carrier.end())[1] in ("fin", "rst")


@pytest.mark.parametrize("kind", BROKEN)
async def test_answer_that_was_whole_before_a_broken_record_is_whole(asked, kind):
    rig, client, link = asked
    link.sock.send(encrypted(link, answer(b"ok")) + BROKEN[kind](link))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    assert (await rig.record()).outcome == "completed"
    await client.send(get("/up/2"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /2 "), "on another connection"


@pytest.mark.parametrize("kind", BROKEN)
async def test_broken_record_instead_of_an_answer_is_a_502(asked, kind):
    _, client, link = asked
    link.sock.send(BROKEN[kind](link))
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"X-Slotgate-Error: upstream_bad_response\r\n" in head


@pytest.mark.parametrize("kind", BROKEN)
async def test_broken_record_cuts_a_close_framed_answer_visibly(asked, kind):
    rig, client, link = asked
    link.sock.send(encrypted(link, begun() + b"a part") + BROKEN[kind](link))
    assert (await client.end())[1] == "rst"
    assert (await rig.record()).outcome == "cut"
