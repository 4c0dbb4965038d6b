# Names and their addresses while connections are kept: a change is followed, without a restart, by new connections.

import socket

import pytest
from rawsides.message import answer, get
from rawsides.names import Names
from rawsides.peer import Peer
from rawsides.rig import becomes
from rawsides.tls_fixtures import UP, names
from rawsides.upstream import Upstream

__all__ = ["names"]

OLD, NEW = "127.0.0.2", "127.0.0.3"


class Elsewhere(Upstream):
    """Like an Upstream, at another address of this machine."""

    def __init__(self, host: str, port: int = 0) -> None:
        super().__init__()
        self._sock.close()
        self._sock = socket.create_server((host, port), backlog=512)
        self._sock.setblocking(False)
        self.port = self._sock.getsockname()[1]


@pytest.fixture
async def moving(start, names: Names):
    """A rig whose upstream is found at OLD, and the upstreams at OLD and at NEW, on one port."""
    old = Elsewhere(OLD)
    new = Elsewhere(NEW, old.port)
    names.table[UP] = [OLD]
    yield await start({"url": f"http://{UP}:{old.port}"}), old, new
    old.close()
    new.close()


async def exchange(client: Peer, link: Peer) -> None:
    await link.head()
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_new_address_is_used_as_soon_as_the_old_one_has_gone(moving, names):
    """NET-03: under steady load on a kept connection."""
    rig, old, new = moving
    client = await rig.client()
    await client.send(get("/up/"))
    link = await old.link()
    for number in range(5):
        if number == 3:
            names.table[UP] = [NEW]
        await exchange(client, link)
        await client.send(get("/up/"))
    await link.head()
    old.refuse()
    link.close()  # with a request on it, which is sent again on a fresh connection
    link = await new.link()
    await exchange(client, link)
    await client.send(get("/up/"))
    await exchange(client, link)


async def test_new_address_is_used_by_every_new_connection_while_the_old_one_still_serves(moving, names):
    rig, old, new = moving
    one, two = await rig.client(), await rig.client()
    await one.send(get("/up/1"))
    kept = await old.link()
    await kept.head()
    names.table[UP] = [NEW]
    await two.send(get("/up/2"))
    fresh = await new.link()
    assert (await fresh.head()).startswith(b"GET /2 ")
    await kept.send(answer(b"from the old one"))
    assert (await one.until(b"old one")).startswith(b"HTTP/1.1 200 ")


async def test_name_that_is_none_any_more_fails_new_connections_only(moving, names):
    rig, old, _ = moving
    one, two = await rig.client(), await rig.client()
    await one.send(get("/up/1"))
    link = await old.link()
    await exchange(one, link)
    names.table[UP] = []
    await one.send(get("/up/again"))
    assert (await link.head()).startswith(b"GET /again ")
    await two.send(get("/up/2"))  # the kept connection is in use
    head = await two.head()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert b"X-Slotgate-Error: upstream_unreachable\r\n" in head
    assert b"Name or service not known" in await two.until(b"}}")
    await link.send(answer(b"still here"))
    assert (await one.until(b"still here")).startswith(b"HTTP/1.1 200 ")
    await two.send(get("/up/3"))
    assert (await link.head()).startswith(b"GET /3 "), "the kept connection serves on"


async def test_name_that_comes_back_is_used_at_once(moving, names):
    """Nothing is remembered, failures neither."""
    rig, _, new = moving
    names.table[UP] = []
    client = await rig.client()
    await client.send(get("/up/1"))
    assert (await client.head()).startswith(b"HTTP/1.1 502 ")
    await client.until(b"}}")
    names.table[UP] = [NEW]
    await client.send(get("/up/2"))
    assert (await (await new.link()).head()).startswith(b"GET /2 ")


async def test_each_new_connection_asks_and_a_kept_one_does_not(moving, names):
    rig, old, _ = moving
    client = await rig.client()
    await client.send(get("/up/1"))
    link = await old.link()
    await exchange(client, link)
    await client.send(get("/up/2"))
    await link.head()
    await link.send(answer(b"closing", "Connection: close"))
    await client.until(b"closing")
    assert names.asked == [UP]
    await client.send(get("/up/3"))
    await old.link()
    await becomes(lambda: names.asked == [UP, UP])


async def test_name_server_that_hangs_is_a_504_after_connect_timeout_and_holds_up_no_kept_connection(moving, names):
    rig, old, _ = moving
    await rig.reconfigure({"connect_timeout": "250ms"})
    one, two = await rig.client(), await rig.client()
    await one.send(get("/up/1"))
    link = await old.link()
    await exchange(one, link)
    await one.send(get("/up/2"))
    names.answering.clear()
    await two.send(get("/up/3"))
    head = await two.head()
    assert head.startswith(b"HTTP/1.1 504 ")
    assert b"X-Slotgate-Error: upstream_timeout\r\n" in head
    await exchange(one, link)
    names.answering.set()
    await two.until(b"}}")
    await two.send(get("/up/4"))
    assert (await link.head()).startswith(b"GET /4 ")
