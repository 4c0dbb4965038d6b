# Both versions of TLS that are left carry the same bytes, whatever else the server can.

import ssl

import pytest
from rawsides.message import answer, post
from rawsides.tls_fixtures import UP, authority, names, start_tls

__all__ = ["authority", "names", "start_tls"]

BODY = bytes(range(256)) * 300  # several records of 16 KiB each way
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@pytest.mark.parametrize("version", VERSIONS)
async def test_bytes_pass_unchanged_in_either_version(start_tls, authority, version):
    rig = await start_tls(served=authority.server(UP, of=VERSIONS[version]))
    client, link = await rig.ask(post("/up/v1", BODY, "X-A: b"))
    assert link.tls.version() == version
    assert await link.head() == (
        f"POST /v1 HTTP/1.1\r\nHost: {rig.upstream.authority}\r\nX-A: b\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()
    )
    assert await link.exactly(len(BODY)) == BODY
    await link.send(answer(BODY, "X-C: d"))
    whole = answer(BODY, "X-C: d")
    assert await client.exactly(len(whole)) == whole


@pytest.mark.parametrize(
    ("protocols", "chosen"), [(["h2", "http/1.1"], "http/1.1"), (["http/1.1"], "http/1.1"), (["h2"], None), ([], None)]
)
async def test_http_1_1_is_spoken_whatever_the_server_prefers(start_tls, authority, protocols, chosen):
    context = authority.server(UP)
    if protocols:
        context.set_alpn_protocols(protocols)
    rig = await start_tls(served=context)
    client, link = await rig.ask(post("/up/", b"{}"))
    assert link.tls.selected_alpn_protocol() == chosen
    assert (await link.head()).startswith(b"POST / HTTP/1.1\r\n")
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
