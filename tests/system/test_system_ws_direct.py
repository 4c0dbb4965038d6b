# What a client's library reports is the same with and without the proxy: nothing of it is visible (WS-01 … WS-08).
#
# Rule 1: one conversation is played twice, directly and through the proxy; only the reports are compared.


import pytest
from blackbox.ws import Refusal, RefusedError
from blackbox.ws_plays import PLAYS, Play
from blackbox.ws_rig import PAIRS, Tunnels

each_pair = pytest.mark.parametrize(("client_library", "server_library"), PAIRS)


@each_pair
@pytest.mark.parametrize("offered", [["a", "b"], ["a"], []], ids=str)
@pytest.mark.parametrize("compress", [True, False], ids=["compressed", "plain"])
async def test_both_ends_agree_on_the_same(
    tunnels: Tunnels, client_library: str, server_library: str, offered: list[str], compress: bool
) -> None:
    reports = []
    for connect in (tunnels.connect_directly, tunnels.connect):
        client = await connect(server_library, by=client_library, subprotocols=offered, compress=compress)
        server = await tunnels.door(server_library).socket()
        reports.append([(end.subprotocol, end.extensions) for end in (client, server)])
    assert reports[0] == reports[1]


@each_pair
@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
async def test_both_ends_report_the_same(
    tunnels: Tunnels, client_library: str, server_library: str, play: Play
) -> None:
    reports = []
    for connect in (tunnels.connect_directly, tunnels.connect):
        client = await connect(server_library, by=client_library)
        reports.append(await play(client, await tunnels.door(server_library).socket()))
    assert reports[0] == reports[1]


@each_pair
@pytest.mark.parametrize("status", [401, 404, 429])
async def test_refusal_reads_the_same(tunnels: Tunnels, client_library: str, server_library: str, status: int) -> None:
    changing = ("date", "connection")
    headers = (("x-twice", "1"), ("Retry-After", "7"), ("Content-Type", "text/plain; charset=utf-8"))
    tunnels.door(server_library).refusal = Refusal(status, "größer".encode(), headers)
    reports = []
    for connect in (tunnels.connect_directly, tunnels.connect):
        with pytest.raises(RefusedError) as caught:
            await connect(server_library, by=client_library)
        told = caught.value
        lines = [(name, value) for name, value in told.headers.items() if name.lower() not in changing]
        reports.append((told.status, told.body, lines))
    assert reports[0] == reports[1]


@each_pair
async def test_upgrade_reads_the_same_to_the_server(tunnels: Tunnels, client_library: str, server_library: str) -> None:
    sent = [("X-B", "1"), ("x-a", "zwölf"), ("Cookie", "a=b"), ("Authorization", "Bearer key")]
    reports = []
    for connect in (tunnels.connect_directly, tunnels.connect):
        await connect(server_library, by=client_library, headers=sent)
        await tunnels.door(server_library).socket()
        path, headers = tunnels.door(server_library).upgrades.pop()
        changing = ("sec-websocket-key", "connection")  # a nonce; and where among the headers that one stands
        reports.append((path, [pair for pair in headers if pair[0].lower() not in changing]))
    assert reports[0] == reports[1]
