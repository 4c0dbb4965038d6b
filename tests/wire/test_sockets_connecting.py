# Connecting: an address that swallows everything, one that refuses, several of which some are bad, IPv6.

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import aiohappyeyeballs
import pytest
from rawsides.message import answer, get, post
from rawsides.names import Names
from rawsides.peer import Peer
from rawsides.rig import Rig
from rawsides.tls_fixtures import UP, names
from rawsides.upstream import Upstream

__all__ = ["names"]


@contextlib.contextmanager
def black_hole(host: str, port: int = 0) -> Iterator[int]:
    """A port of which nobody hears anything: its backlog is full, so that the kernel drops who knocks."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket(family))
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket(family))
            filler.setblocking(False)
            filler.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]


class V6Upstream(Upstream):
    """Like an Upstream, but at ::1."""

    def __init__(self) -> None:
        super().__init__()
        self._sock.close()
        self._sock = socket.create_server(("::1", 0), family=socket.AF_INET6, backlog=512)
        self._sock.setblocking(False)
        self.port = self._sock.getsockname()[1]

    @property
    def authority(self) -> str:
        return f"[::1]:{self.port}"


async def served(client: Peer, link: Peer, target: bytes) -> None:
    assert (await link.head()).startswith(b"GET %s " % target)
    await link.send(answer(target))
    assert await client.exactly(len(answer(target))) == answer(target)


async def test_address_that_swallows_everything_is_a_504_after_connect_timeout(start):
    with black_hole("127.0.0.1") as port:
        rig = await start(
            {"url": f"http://127.0.0.1:{port}", "connect_timeout": "100ms", "limit": 1, "cooldown": "10m"}
        )
        for _ in range(2):  # the slot skips its rest: nothing was sent
            client = await rig.client()
            await client.send(post("/up/", b"{}"))
            head = await client.head()
            assert head.startswith(b"HTTP/1.1 504 Gateway Timeout\r\n")
            assert b"X-Slotgate-Error: upstream_timeout\r\n" in head
            assert b"no connection within 0.1 s" in await client.until(b"}}")


async def test_client_that_leaves_while_nothing_answers_leaves_nothing_behind(start):
    with black_hole("127.0.0.1") as port:
        rig = await start({"url": f"http://127.0.0.1:{port}", "limit": 1})
        client = await rig.client()
        await client.send(post("/up/", b"{}"))
        await asyncio.sleep(0)
        client.close()
        assert (await rig.record()).outcome == "abandoned"
        await rig.at_rest()


async def test_fifty_requests_to_a_port_that_refuses_are_fifty_refusals_and_no_storm(start, monkeypatch):
    """RTY-02: connecting may be tried once more (spec §10), not for ever."""
    tries = []
    start_connection = aiohappyeyeballs.start_connection

    async def counted(infos, *args, **options):
        tries.append(infos)
        return await start_connection(infos, *args, **options)

    monkeypatch.setattr(aiohappyeyeballs, "start_connection", counted)
    rig = await start({"limit": 4, "cooldown": "10m"})
    rig.upstream.refuse()
    clients = [await rig.client() for _ in range(50)]
    for client in clients:
        await client.send(post("/up/", b"{}"))
    for client in clients:
        head = await client.head()
        assert head.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
        assert b"X-Slotgate-Error: upstream_unreachable\r\n" in head
        assert b"Connection refused" in await client.until(b"}}")
    await rig.at_rest()
    assert 50 <= len(tries) <= 100
    assert [record.outcome for record in rig.records] == ["failed"] * 50


@pytest.mark.parametrize("worse", ["::1", "127.0.0.3"])
async def test_second_address_is_used_when_the_first_one_swallows_everything(names: Names, worse):
    """NET-04: in about a quarter of a second, not after connect_timeout."""
    upstream = Upstream()
    names.table[UP] = [worse, "127.0.0.1"]
    rig = Rig(upstream, {"url": f"http://{UP}:{upstream.port}", "connect_timeout": "1m"}, {})
    with black_hole(worse, upstream.port):
        await rig.start()
        began_at = asyncio.get_running_loop().time()
        client, link = await rig.ask(get("/up/x"))
        assert asyncio.get_running_loop().time() - began_at < 5
        await served(client, link, b"/x")
    await rig.close()


async def test_second_address_is_used_at_once_when_the_first_one_refuses(names: Names):
    upstream = Upstream()
    names.table[UP] = ["::1", "127.0.0.1"]
    rig = Rig(upstream, {"url": f"http://{UP}:{upstream.port}"}, {})
    await rig.start()
    client, link = await rig.ask(get("/up/x"))
    await served(client, link, b"/x")
    await rig.close()


async def test_literal_ipv6_address_is_reached_and_named_in_brackets():
    upstream = V6Upstream()
    rig = Rig(upstream, {}, {})
    await rig.start()
    client, link = await rig.ask(get("/up/x"))
    assert await link.head() == f"GET /x HTTP/1.1\r\nHost: [::1]:{upstream.port}\r\n\r\n".encode()
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    await rig.close()
