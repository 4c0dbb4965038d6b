# WebSockets to an upstream behind TLS, whose certificate is verified.

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import trustme
from blackbox import ws_aiohttp, ws_websockets
from blackbox.rig import Make, Options
from blackbox.ws import ABNORMAL, Ending, RefusedError
from blackbox.ws_plays import PLAYS, Play
from blackbox.ws_rig import Tunnels, tunnels_to

LARGE = bytes(range(256)) * 20_000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def module_tunnels(tmp_path_factory: pytest.TempPathFactory, make_proxy: Make) -> AsyncIterator[Tunnels]:
    """Both libraries behind TLS; to "stranger" nobody has given the proxy its authority."""
    directory = tmp_path_factory.mktemp("proxy")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(directory / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    servers = {
        "websockets": ws_websockets.Server(tls=context),
        "aiohttp": ws_aiohttp.Server(tls=context),
        "plain_websockets": ws_websockets.Server(),
        "plain_aiohttp": ws_aiohttp.Server(),
    }
    ca_file = str(directory / "ca.pem")
    upstreams: dict[str, Options] = {name: {} if "plain" in name else {"tls": {"ca_file": ca_file}} for name in servers}
    upstreams["stranger"] = {"server": "websockets"}
    async with tunnels_to(directory, servers, upstreams, make=make_proxy) as tunnels:
        yield tunnels


@pytest.mark.parametrize("library", ["websockets", "aiohttp"])
async def test_messages_and_endings_pass_both_ways(tunnels: Tunnels, library: str) -> None:
    client, server = await tunnels.pair(library, by=library)
    for source, target in ((client, server), (server, client)):
        await source.say("hello")
        assert await target.hear() == "hello"
        saying = asyncio.create_task(source.say(LARGE))
        is_whole = await target.hear() == LARGE
        await saying
        assert is_whole
    seen, _ = await asyncio.gather(server.ended(), client.close(4001, "größer"))
    assert seen == Ending(4001, "größer")
    client, server = await tunnels.pair(library, by=library)
    seen, _ = await asyncio.gather(client.ended(), server.close(1011, "failed"))
    assert seen == Ending(1011, "failed")
    await tunnels.rig.in_flight(0, library)


async def test_megabytes_that_are_heard_late_are_whole_and_in_order(tunnels: Tunnels) -> None:
    """More than the library keeps and the sockets hold, so that it waits on both sides of the encryption."""
    client, server = await tunnels.pair(compress=False)
    for source, target in ((client, server), (server, client)):
        saying = asyncio.gather(*(source.say(b"%02d" % number + LARGE[:1_000_000]) for number in range(40)))
        await asyncio.wait([saying], timeout=0.3)
        numbers = [(await target.hear())[:2] for _ in range(40)]
        await saying
        assert numbers == [b"%02d" % number for number in range(40)]


@pytest.mark.parametrize("client_library", ["websockets", "aiohttp"])
@pytest.mark.parametrize("server_library", ["websockets", "aiohttp"])
@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
async def test_both_ends_report_what_they_do_without_proxy_and_tls(
    tunnels: Tunnels, client_library: str, server_library: str, play: Play
) -> None:
    plain = f"plain_{server_library}"
    direct = await tunnels.connect_directly(plain, by=client_library)
    expected = await play(direct, await tunnels.door(plain).socket())
    assert await play(*await tunnels.pair(server_library, by=client_library)) == expected


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("dying", ["client", "server"])
async def test_death_of_one_side_is_seen_at_the_other(tunnels: Tunnels, dying: str, how: str) -> None:
    client, server = await tunnels.pair()
    dead, other = (client, server) if dying == "client" else (server, client)
    dead.leave(how)
    assert (await other.ended()).code == ABNORMAL
    await tunnels.rig.in_flight(0, "websockets")


async def test_upstream_that_is_not_trusted_gets_no_upgrade(tunnels: Tunnels) -> None:
    with pytest.raises(RefusedError) as caught:
        await tunnels.connect("stranger")
    assert (caught.value.status, caught.value.headers["x-slotgate-error"]) == (502, "upstream_unreachable")
    assert tunnels.door("stranger").names == []
