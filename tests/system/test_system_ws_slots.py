# A tunnel holds one slot for its life; upgrades wait in the same queue as requests (spec §10; bug case WS-09).

import asyncio

import pytest
from blackbox.waiting import until
from blackbox.ws import UPGRADE
from blackbox.ws_rig import Tunnels

TUNNELS = {
    "websockets": {"limit": 2},
    "mixed": {"limit": 2, "server": "aiohttp"},  # whose server answers plain requests too
}


async def test_six_at_once_are_never_more_than_two_at_the_upstream_and_keep_their_order(tunnels: Tunnels) -> None:
    door = tunnels.door()
    first, second = [(await tunnels.pair(name=name))[0] for name in ("1", "2")]
    waiting = await tunnels.line_up("3", "4", "5", "6")
    assert door.names == ["1", "2"]
    open_ones = [first, second]
    for task in waiting:
        await open_ones.pop(0).close()
        open_ones.append(await task)
        await (await door.socket()).say("welcome")
        assert await open_ones[-1].hear() == "welcome"
    assert door.names == ["1", "2", "3", "4", "5", "6"]
    assert door.peak == 2


async def test_twenty_at_once_all_get_their_turn(tunnels: Tunnels) -> None:
    door = tunnels.door()

    async def visit(number: int) -> str:
        client = await tunnels.connect(name=str(number))
        heard = await client.hear()
        await client.close()
        assert isinstance(heard, str)
        return heard

    async def welcome() -> None:
        for _ in range(20):
            await (await door.socket()).say("welcome")

    heard = await asyncio.gather(welcome(), *(visit(number) for number in range(20)))
    assert heard[1:] == ["welcome"] * 20
    assert door.peak == 2
    assert sorted(door.names, key=str) == sorted(map(str, range(20)))


@pytest.mark.parametrize("end", ["closed by the client", "closed by the server", "client dies", "server dies"])
async def test_each_end_of_a_tunnel_gives_its_slot_to_the_next(tunnels: Tunnels, end: str) -> None:
    await tunnels.rig.limit(1, "websockets")
    client, server = await tunnels.pair(name="first")
    (waiting,) = await tunnels.line_up("next")
    if end == "client dies":
        client.leave("fin")
    elif end == "server dies":
        server.leave("rst")
    else:
        await (client if end == "closed by the client" else server).close()
    await waiting
    await (await tunnels.door().socket()).say("yours")
    assert tunnels.door().peak == 1


async def test_slot_of_a_tunnel_rests_like_any_other(tunnels: Tunnels) -> None:
    await tunnels.rig.limit(1, "websockets")
    await tunnels.rig.cooldown(700, "websockets")
    client, server = await tunnels.pair()
    (waiting,) = await tunnels.line_up("next")
    began_at = asyncio.get_running_loop().time()
    await asyncio.gather(client.close(), server.ended())
    await waiting
    assert asyncio.get_running_loop().time() - began_at >= 0.69
    assert tunnels.door().peak == 1


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_upgrade_whose_client_leaves_the_queue_never_reaches_the_upstream(tunnels: Tunnels, how: str) -> None:
    holders = [await tunnels.pair(name=name) for name in ("1", "2")]
    leaving = await tunnels.rig.ask("leaver", method="GET", target="/websockets/v1/realtime", headers=UPGRADE)
    await tunnels.rig.queued(1, "websockets")
    (stays,) = await tunnels.line_up("stays")
    leaving.leave(how)
    await tunnels.rig.queued(1, "websockets")
    await holders[0][0].close()
    await stays
    assert tunnels.door().names == ["1", "2", "stays"]


async def test_tunnels_and_requests_share_one_limit_and_one_order(tunnels: Tunnels) -> None:
    held = [await tunnels.pair("mixed", name=name) for name in ("1", "2")]
    request = await tunnels.rig.ask(target="/mixed/v1/messages")
    await tunnels.rig.queued(1, "mixed")
    (tunnel,) = await tunnels.line_up("3", upstream="mixed")
    status = await tunnels.rig.status("mixed")
    assert (status["inFlight"], status["held"], status["queued"]) == (2, 2, 2)

    async def shown() -> bool:  # who does not hold it knows its phase some seconds later
        slots = (await tunnels.rig.slots("mixed"))["slots"]
        return [(slot["phase"], slot["path"]) for slot in slots] == [("streaming", "/v1/realtime")] * 2

    await until(shown)
    await asyncio.gather(held[0][0].close(), held[0][1].ended())
    assert (await request.answer()).status == 405, "the answer of a server that knows GET alone"
    await tunnel
    assert tunnels.door("mixed").peak == 2


async def test_starred_workspaces_upgrade_goes_first(tunnels: Tunnels) -> None:
    held = [(await tunnels.pair(name=name))[0] for name in ("1", "2")]
    (plain,) = await tunnels.line_up("plain")
    (starred,) = await tunnels.line_up("star", headers=[("X-Slotgate-Workspace", "vip")])
    await tunnels.rig.star("vip")
    await held[0].close()
    await starred
    assert tunnels.door().names == ["1", "2", "star"]
    await held[1].close()
    await plain
    await tunnels.rig.star("vip", False)
