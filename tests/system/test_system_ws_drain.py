# The end of the process: tunnels get the grace and are then cut; nobody new comes in (spec §17). A reload, though its
# upstream be gone from the file, does not touch them (spec §3.4).

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from blackbox.rig import Make
from blackbox.waiting import until
from blackbox.ws import ABNORMAL, Ending, RefusedError
from blackbox.ws_rig import Tunnels, tunnels_to
from blackbox.ws_websockets import Server
from websockets.exceptions import InvalidHandshake

CODEX = ("OpenAI-Beta", "responses_websockets=2026-02-06")
GOING_AWAY = 1001


@pytest_asyncio.fixture(loop_scope="session")
async def draining(tmp_path: Path, request: pytest.FixtureRequest, make_proxy: Make) -> AsyncIterator[Tunnels]:
    """A process of the test's own; its parameter is the grace."""
    servers, upstreams, grace = {"websockets": Server()}, {"websockets": {"limit": 1}}, {"grace": request.param}
    async with tunnels_to(tmp_path, servers, upstreams, make=make_proxy, shutdown=grace) as found:
        yield found


async def stopping(tunnels: Tunnels) -> None:
    """Until the process has said that it stops."""
    tunnels.rig.proxy.signal(signal.SIGTERM)
    await tunnels.rig.proxy.logged(lambda line: line.get("event") == "proxy.stopping")


@pytest.mark.parametrize("draining", ["20s"], indirect=True)
async def test_tunnel_goes_on_through_the_grace_and_ends_the_process_by_its_own_end(draining: Tunnels) -> None:
    client, server = await draining.pair()
    await stopping(draining)
    for source, target in ((client, server), (server, client)):
        await source.say("still passing")
        assert await target.hear() == "still passing"
    assert not draining.rig.proxy.over()
    seen, _ = await asyncio.gather(server.ended(), client.close(4001, "done"))
    assert seen == Ending(4001, "done")
    assert await draining.rig.proxy.ended() == 0


@pytest.mark.parametrize("draining", ["1s"], indirect=True)
async def test_at_the_end_of_the_grace_a_tunnel_is_cut_and_a_waiting_upgrade_told(draining: Tunnels) -> None:
    client, server = await draining.pair(name="first")
    (waiting,) = await draining.line_up("waiter")
    await stopping(draining)
    with pytest.raises(RefusedError) as caught:
        await waiting
    assert (caught.value.status, caught.value.headers["x-slotgate-error"]) == (503, "draining")
    endings = await asyncio.gather(client.ended(), server.ended())
    assert [ending.code for ending in endings] == [ABNORMAL, ABNORMAL]
    assert await draining.rig.proxy.ended() == 0
    assert draining.door().names == ["first"]


@pytest.mark.parametrize("draining", ["10m"], indirect=True)
async def test_second_signal_cuts_a_tunnel_at_once(draining: Tunnels) -> None:
    client, server = await draining.pair()
    await stopping(draining)
    draining.rig.proxy.signal(signal.SIGTERM)
    endings = await asyncio.gather(client.ended(), server.ended())
    assert [ending.code for ending in endings] == [ABNORMAL, ABNORMAL]
    assert await draining.rig.proxy.ended() == 0


@pytest.mark.parametrize("draining", ["5m"], indirect=True)
async def test_sockets_of_answers_end_the_process_as_soon_as_nothing_is_under_way_in_them(draining: Tunnels) -> None:
    idle, at_idle = await draining.pair(headers=[CODEX])
    client, server = await draining.pair(headers=[CODEX])
    await client.say('{"type":"response.create"}')
    assert await server.hear() == '{"type":"response.create"}'
    await stopping(draining)
    endings = await asyncio.gather(idle.ended(), at_idle.ended())
    assert [ending.code for ending in endings] == [GOING_AWAY, GOING_AWAY]
    for said in ('{"type":"response.created"}', '{"type":"response.completed"}'):
        await server.say(said)
        assert await client.hear() == said
    endings = await asyncio.gather(client.ended(), server.ended())
    assert [ending.code for ending in endings] == [GOING_AWAY, GOING_AWAY]
    assert await draining.rig.proxy.ended() == 0


@pytest.mark.parametrize("draining", ["20s"], indirect=True)
async def test_nobody_new_comes_in_while_a_tunnel_drains(draining: Tunnels) -> None:
    client, _ = await draining.pair()
    await stopping(draining)

    async def is_refused() -> bool:
        try:
            await draining.connect()
        except (OSError, InvalidHandshake):
            return True
        return False

    await until(is_refused, every=0.05)
    await client.close()
    assert await draining.rig.proxy.ended() == 0


@pytest.mark.parametrize("draining", ["1s"], indirect=True)
async def test_reload_that_takes_its_upstream_away_leaves_a_tunnel_alone(draining: Tunnels) -> None:
    client, server = await draining.pair()
    draining.rig.proxy.write({"upstreams": {"other": {"url": "http://127.0.0.1:9"}}})
    assert (await draining.rig.admin.post("/reload")).status == 200
    with pytest.raises(RefusedError) as caught:
        await draining.connect()
    assert caught.value.status == 404
    for source, target in ((client, server), (server, client)):
        await source.say("still passing")
        assert await target.hear() == "still passing"
    seen, _ = await asyncio.gather(server.ended(), client.close(4001, "done"))
    assert seen == Ending(4001, "done")
