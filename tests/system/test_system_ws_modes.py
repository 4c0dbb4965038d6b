# `websocket:` of an upstream says which upgrades become tunnels, and which are read for their answers; where they are
# refused it is by 426 at once, and the same connection goes on with plain HTTP, as Codex does (spec §10).

import pytest
from blackbox.ws import UPGRADE, RefusedError
from blackbox.ws_rig import Tunnels

TUNNELS = {
    mode: {"server": "aiohttp", **({} if mode == "default" else {"websocket": mode})}
    for mode in ("default", "auto", "tunnel", "refuse", "per_response")
}
CODEX = ("OpenAI-Beta", "responses_websockets=2026-02-06")
REALTIME = ("OpenAI-Beta", "realtime=v1")


@pytest.mark.parametrize("library", ["websockets", "aiohttp"])
@pytest.mark.parametrize("mode", ["default", "auto", "tunnel"])
async def test_ordinary_upgrade_becomes_a_tunnel(tunnels: Tunnels, mode: str, library: str) -> None:
    client, server = await tunnels.pair(mode, by=library, headers=[REALTIME])
    await client.say("hello")
    assert await server.hear() == "hello"
    assert (await tunnels.rig.status(mode))["inFlight"] == 1


@pytest.mark.parametrize("library", ["websockets", "aiohttp"])
@pytest.mark.parametrize(("mode", "beta"), [("default", CODEX), ("auto", CODEX), ("per_response", REALTIME)])
async def test_the_protocol_of_codex_takes_a_slot_for_each_answer(
    tunnels: Tunnels, mode: str, beta: tuple[str, str], library: str
) -> None:
    client, server = await tunnels.pair(mode, by=library, headers=[beta])
    assert (await tunnels.rig.status(mode))["inFlight"] == 0
    await client.say('{"type":"response.create"}')
    assert await server.hear() == '{"type":"response.create"}'
    assert (await tunnels.rig.status(mode))["inFlight"] == 1
    await server.say('{"type":"response.completed"}')
    assert await client.hear() == '{"type":"response.completed"}'
    await tunnels.rig.in_flight(0, mode)


async def test_the_protocol_of_codex_becomes_a_tunnel_where_that_is_asked_for(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("tunnel", headers=[CODEX])
    await client.say('{"type":"response.create"}')
    assert await server.hear() == '{"type":"response.create"}'


@pytest.mark.parametrize("library", ["websockets", "aiohttp"])
@pytest.mark.parametrize(
    ("mode", "beta"),
    [("refuse", CODEX), ("refuse", REALTIME)],
)
async def test_refused_sockets_are_426(tunnels: Tunnels, mode: str, beta: tuple[str, str], library: str) -> None:
    with pytest.raises(RefusedError) as caught:
        await tunnels.connect(mode, by=library, headers=[beta])
    told = caught.value
    assert (told.status, told.headers["x-slotgate-error"]) == (426, "websocket_refused")
    assert told.headers["upgrade"] == "websocket"
    assert tunnels.door(mode).names == []
    assert (await tunnels.rig.status(mode))["inFlight"] == 0


async def test_plain_http_goes_on_over_the_connection_that_was_refused(tunnels: Tunnels) -> None:
    client = await tunnels.rig.ask(method="GET", target="/refuse/v1/responses", headers=[*UPGRADE, CODEX])
    assert (await client.answer()).status == 426
    for _ in range(2):
        await client.request("POST", "/refuse/v1/responses", (), b"{}")
        answer = await client.answer()
        assert (answer.status, answer.code) == (405, None), "the upstream's own answer: it knows no POST"
