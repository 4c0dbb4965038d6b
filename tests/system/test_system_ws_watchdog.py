# What may end a tunnel from the middle: `tunnel_idle`, `max_hold`, an operator; silence alone may not (spec §9, §10).
# Bug case WS-06.

import asyncio

import pytest
from blackbox.ws import ABNORMAL, RefusedError, Socket
from blackbox.ws_rig import Tunnels

TUNNELS = {
    "patient": {"server": "websockets", "limit": 1, "slot_timeout": "1s"},
    "idle": {"server": "websockets", "slot_timeout": "1s", "tunnel_idle": "2s"},
    "capped": {"server": "websockets", "slot_timeout": None, "max_hold": "1s"},
    "mute": {"server": None, "limit": 1, "slot_timeout": "1s"},
}
pytestmark = pytest.mark.slow


async def speaks(source: Socket, target: Socket, seconds: float) -> None:
    for number in range(int(seconds / 0.25)):
        await source.say(str(number))
        assert await target.hear() == str(number)
        await asyncio.sleep(0.25)


async def both_see_an_abnormal_end(client: Socket, server: Socket) -> None:
    endings = await asyncio.gather(client.ended(), server.ended())
    assert [ending.code for ending in endings] == [ABNORMAL, ABNORMAL]


async def test_silent_tunnel_outlives_the_slot_time_out(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("patient")
    await asyncio.sleep(2)
    await client.say("still here")
    assert await server.hear() == "still here"
    await server.say("me too")
    assert await client.hear() == "me too"


async def test_tunnel_on_which_nothing_moves_is_closed_after_tunnel_idle(tunnels: Tunnels) -> None:
    began_at = asyncio.get_running_loop().time()
    await both_see_an_abnormal_end(*await tunnels.pair("idle"))
    assert asyncio.get_running_loop().time() - began_at >= 1.9
    await tunnels.rig.in_flight(0, "idle")


async def test_tunnel_lives_while_one_side_speaks_whichever_it_is(tunnels: Tunnels) -> None:
    first_client, first_server = await tunnels.pair("idle")
    other_client, other_server = await tunnels.pair("idle")
    await asyncio.gather(
        speaks(first_client, first_server, seconds=3.5),
        speaks(other_server, other_client, seconds=3.5),
    )
    assert (await tunnels.rig.status("idle"))["held"] == 2


async def test_tunnel_is_not_held_longer_than_its_cap_even_while_it_speaks(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("capped")
    speaking = asyncio.create_task(speaks(client, server, seconds=20))
    await client.raw.wait_closed()
    await both_see_an_abnormal_end(client, server)
    await asyncio.gather(speaking, return_exceptions=True)
    await tunnels.rig.in_flight(0, "capped")
    assert await tunnels.rig.metric("slotgate_reclaimed_total", provider="capped") == 1


async def test_operator_cuts_a_tunnel_and_its_slot_goes_to_the_next(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("patient", name="first")
    (waiting,) = await tunnels.line_up("next", upstream="patient")
    (slot,) = (await tunnels.rig.slots("patient"))["slots"]
    assert (await tunnels.rig.admin.delete(f"/concurrency/slots/patient/{slot['id']}")).status == 204
    await both_see_an_abnormal_end(client, server)
    await waiting
    assert tunnels.door("patient").names == ["first", "next"]
    assert tunnels.door("patient").peak == 1
    await tunnels.rig.proxy.logged(lambda line: (line.get("status"), line.get("outcome")) == (101, "reclaimed"))


async def test_client_that_takes_nothing_of_what_comes_is_stuck(tunnels: Tunnels) -> None:
    """Bytes that wait for their reader longer than the time-out are no progress, in a tunnel as in an answer."""
    client, server = await tunnels.pair("patient", compress=False)
    client.raw.transport.pause_reading()
    saying = asyncio.create_task(say_for_ever(server))
    assert (await server.ended()).code == ABNORMAL
    await tunnels.rig.in_flight(0, "patient")
    client.raw.transport.resume_reading()
    assert isinstance(*await asyncio.gather(saying, return_exceptions=True), Exception)


async def say_for_ever(source: Socket) -> None:
    while True:
        await source.say(b"x" * 1_000_000)


async def test_upgrade_that_the_upstream_never_answers_is_504(tunnels: Tunnels) -> None:
    """Before the 101 it is a request like any other."""
    with pytest.raises(RefusedError) as caught:
        await tunnels.connect("mute")
    assert (caught.value.status, caught.value.headers["x-slotgate-error"]) == (504, "reclaimed")
