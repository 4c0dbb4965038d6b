# Where clients come from: IPv6, a unix socket, several listeners at once. Requests are the same there, and so are ends,
# as far as the socket can tell them: a unix socket has no RST of its own.

import asyncio
import stat

import pytest
from rawsides.message import CHUNKED, answer, begun, chunk, get, post
from rawsides.places import Places
from rawsides.rig import becomes


@pytest.fixture
async def listening(rig, tmp_path):
    """A rig that listens at more places, and what connects to each of them."""
    places = await Places.open(rig, str(tmp_path / "s"))
    yield rig, places.connect
    await places.close()


KINDS = ["ipv6", "unix"]


@pytest.mark.parametrize("kind", KINDS)
async def test_requests_are_served_one_after_the_other(listening, kind):
    rig, connect = listening
    client = await connect(kind)
    await client.send(post("/up/1", b"{}", "X-A: b"))
    link = await rig.upstream.link()
    assert await link.until(b"{}") == (
        f"POST /1 HTTP/1.1\r\nHost: {rig.upstream.authority}\r\nX-A: b\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    )
    await link.send(answer(b"one"))
    assert await client.exactly(len(answer(b"one"))) == answer(b"one")
    await client.send(get("/up/2") + get("/up/3"))
    for target in (b"/2", b"/3"):
        assert (await link.head()).startswith(b"GET %s " % target)
        await link.send(answer(target))
        assert await client.exactly(len(answer(target))) == answer(target)


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("kind", KINDS)
async def test_client_that_leaves_is_noticed_at_once(listening, kind, how):
    rig, connect = listening
    client = await connect(kind)
    await client.send(post("/up/", b"{}"))
    link = await rig.upstream.link()
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + chunk(b"a"))
    await client.until(chunk(b"a"))
    getattr(client, how)()
    assert await link.ended() in ("fin", "rst")
    assert (await rig.record()).outcome == "abandoned"


@pytest.mark.parametrize("kind", KINDS)
async def test_waiting_client_that_leaves_is_out_of_the_queue(listening, kind):
    rig, connect = listening
    await rig.reconfigure({"limit": 1})
    _, link = await rig.ask(post("/up/1", b"{}"))
    await link.until(b"{}")
    client = await connect(kind)
    await client.send(post("/up/2", b"{}"))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    client.close()
    await becomes(lambda: len(rig.scheduler.waiting) == 0)


@pytest.mark.parametrize("kind", KINDS)
async def test_cut_answer_is_cut(listening, kind):
    rig, connect = listening
    client = await connect(kind)
    await client.send(get("/up/"))
    link = await rig.upstream.link()
    await link.head()
    sent = begun(CHUNKED) + chunk(b"a")
    await link.send(sent)
    assert await client.exactly(len(sent)) == sent
    link.close()
    assert await client.end() == (b"", "fin")
    assert (await rig.record()).outcome == "cut"


@pytest.mark.parametrize("kind", KINDS)
async def test_slow_client_is_served_to_the_end(listening, kind):
    rig, connect = listening
    client, size = await connect(kind), 4 * 1024 * 1024
    await client.send(get("/up/"))
    link = await rig.upstream.link()
    await link.head()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(link.send(answer(b"x" * size)))
        assert await client.head() == begun(f"Content-Length: {size}")
        assert await client.exactly(size) == b"x" * size


async def test_socket_file_is_for_its_owner_alone(listening, tmp_path):
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600


async def test_all_listeners_feed_one_queue(listening):
    rig, connect = listening
    await rig.reconfigure({"limit": 1})
    clients = []
    for number, kind in enumerate(["ipv4", "ipv6", "unix"]):
        clients.append(await connect(kind))
        await clients[-1].send(post(f"/up/{number}", b"{}"))
        await becomes(lambda number=number: len(rig.scheduler.waiting) == number)
    link = await rig.upstream.link()
    for number, client in enumerate(clients):
        assert (await link.until(b"{}")).startswith(b"POST /%d " % number)
        await link.send(answer(b"ok"))
        assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    assert rig.upstream.was_left_alone()
