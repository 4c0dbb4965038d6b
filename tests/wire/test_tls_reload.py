# Whom an upstream's entry trusts after a reload: connections from then on are made by it, and none that was kept is
# used.

import pytest
from rawsides.message import answer, get
from rawsides.tls_authority import Authority
from rawsides.tls_fixtures import UP, authority, names, start_tls, tls_rig

from proxy.errors import ConfigErrors

__all__ = ["authority", "names", "start_tls", "tls_rig"]


async def a_kept_connection(rig):
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"ok"))
    await client.exactly(len(answer(b"ok")))
    return client, link


@pytest.fixture
def another(tmp_path):
    """An authority that has nothing to do with the first one."""
    (tmp_path / "another").mkdir()
    return Authority(tmp_path / "another")


async def test_upstream_that_is_trusted_no_more_hears_nothing_more(tls_rig, another):
    client, link = await a_kept_connection(tls_rig)
    await tls_rig.reconfigure({"tls": {"ca_file": str(another.file)}})
    await client.send(get("/up/2"))
    with pytest.raises(OSError):
        await tls_rig.upstream.link()
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    assert await link.ended() in ("fin", "rst")


async def test_answer_under_way_goes_on_by_what_it_began_with(tls_rig, another):
    client, link = await tls_rig.ask(get("/up/1"))
    await link.head()
    await tls_rig.reconfigure({"tls": {"ca_file": str(another.file)}})
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_ca_file_is_read_again_though_its_name_is_the_same(tls_rig, authority, another):
    """Authorities are renewed in their place."""
    client, _ = await a_kept_connection(tls_rig)
    authority.file.write_bytes(another.file.read_bytes())
    await tls_rig.reconfigure({})
    tls_rig.upstream.context = another.server(UP)
    await client.send(get("/up/2"))
    assert (await (await tls_rig.upstream.link()).head()).startswith(b"GET /2 ")


async def test_ca_file_that_is_broken_now_leaves_the_old_one_in_force(tls_rig, authority):
    client, link = await a_kept_connection(tls_rig)
    authority.file.write_text("none")
    with pytest.raises(ConfigErrors, match="ca_file"):
        await tls_rig.reconfigure({"connect_timeout": "1s"})
    await client.send(get("/up/2"))
    assert (await link.head()).startswith(b"GET /2 ")
