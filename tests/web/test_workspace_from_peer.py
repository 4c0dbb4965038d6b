# A client that says no workspace belongs to the project of its process, if the configuration wants that (opt-in).

import asyncio
import subprocess
import sys
import threading
from contextlib import asynccontextmanager

import pytest
from rawsides.frames import SWITCHED, create, event, hear
from rawsides.message import answer, get, post
from rawsides.rig import becomes

from proxy.service import peers
from proxy.service.peers import REMEMBERED, Peers
from proxy.wire.peer import can_be_known

pytestmark = pytest.mark.skipif(not can_be_known(), reason="this system does not tell")

FRESH = {"reuse": False}
WANTED = {"identity": {"workspace_from_peer": True}}
# Sends what it is told, one message a line, and says so when an answer has come.
CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s:
    for line in sys.stdin:
        s.sendall(bytes.fromhex(line))
        print("sent", flush=True)
"""


class Agent:
    """A process with a connection to the proxy."""

    def __init__(self, process, rig):
        self._process = process
        self._rig = rig

    def says(self, data):
        self._process.stdin.write(data.hex().encode() + b"\n")

    async def asks(self, message=None):
        """Has one request answered; the workspace that its record names."""
        self.says(message or post("/up/", b"{}"))
        link = await self._rig.upstream.link()
        await link.head()
        await link.send(answer(b"ok"))
        return (await self._rig.record(len(self._rig.records) + 1)).workspace


@asynccontextmanager
async def agent(rig, folder):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CLIENT, rig.address[0], str(rig.address[1])),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield Agent(process, rig)
    finally:
        process.stdin.close()
        await process.wait()


@pytest.fixture
def project(tmp_path):
    top = tmp_path / "my project"
    subprocess.run(["git", "init", "--quiet", str(top)], check=True)
    (top / "src").mkdir()
    return top


@pytest.mark.plain
async def test_client_belongs_to_the_repository_in_which_its_process_works(start, project, monkeypatch):
    monkeypatch.setattr(peers, "WAIT_S", 10.0)  # a busy machine may take its time
    rig = await start(FRESH, **WANTED)
    async with agent(rig, project / "src") as client:
        assert await client.asks() == "my project"


@pytest.mark.plain
async def test_two_clients_belong_to_a_project_each(start, project, tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "WAIT_S", 10.0)
    rig = await start(FRESH, **WANTED)
    (tmp_path / "other").mkdir()
    async with agent(rig, project) as one, agent(rig, tmp_path / "other") as two:
        assert [await one.asks(), await two.asks()] == ["my project", "other"]


@pytest.mark.plain
async def test_each_answer_of_a_socket_belongs_to_the_repository_too(start, project, monkeypatch):
    monkeypatch.setattr(peers, "WAIT_S", 10.0)
    rig = await start(FRESH, **WANTED)
    async with agent(rig, project) as client:
        client.says(get("/up/v1/responses", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: abc"))
        link = await rig.upstream.link()
        await link.head()
        await link.send(SWITCHED)
        for said, workspace in (({}, "my project"), ({"client_metadata": {"x-workspace-id": "said"}}, "said")):
            client.says(create(**said))
            await hear(link)
            assert [slot.ticket.workspace for slot in rig.scheduler.slots()] == [workspace]
            await link.send(event("completed", workspace))
            await becomes(lambda: not rig.scheduler.held, "answered")


@pytest.mark.plain
@pytest.mark.parametrize(
    ("message", "workspace"),
    [
        (post("/up/", b"{}", "X-Slotgate-Workspace: said"), "said"),
        (post("/up/", b"{}", "X-Workspace-Id: said"), "said"),
        (post("/~in%20path/up/", b"{}"), "in path"),
    ],
)
async def test_whatever_else_says_a_workspace_comes_first(start, project, message, workspace, monkeypatch):
    rig = await start(FRESH, **WANTED)
    monkeypatch.setattr(peers, "whose", None)  # nobody asks
    async with agent(rig, project) as client:
        assert await client.asks(message) == workspace


@pytest.mark.plain
@pytest.mark.parametrize(("options", "message"), [({}, post("/up/", b"{}")), (WANTED, get("/up/"))])
async def test_nobody_asks_unless_it_is_wanted_and_the_request_is_counted(
    start, project, options, message, monkeypatch
):
    monkeypatch.setattr(peers, "whose", None)
    rig = await start(FRESH, **options)
    async with agent(rig, project) as client:
        assert await client.asks(message) in ("default", None)


@pytest.mark.plain
async def test_connection_is_asked_about_once(start, project, monkeypatch):
    asked = []
    monkeypatch.setattr(peers, "WAIT_S", 10.0)
    monkeypatch.setattr(peers, "whose", lambda sock, really=peers.whose: asked.append(1) or really(sock))
    rig = await start(FRESH, **WANTED)
    async with agent(rig, project) as client:
        assert [await client.asks() for _ in range(3)] == ["my project"] * 3
    assert len(asked) == 1


@pytest.mark.plain
async def test_search_that_takes_long_holds_up_nobody_and_helps_the_next_request(start, project, monkeypatch):
    monkeypatch.setattr(peers, "WAIT_S", 0.01)
    rig = await start(FRESH, **WANTED)
    found = threading.Event()
    rig.runtime.peers = Peers(lambda pid: "late" if found.wait(30) else None)
    async with agent(rig, project) as client:
        assert await client.asks() == "default"
        (connection,) = rig.listener.connections
        found.set()
        await becomes(connection.workspace.done)
        assert await client.asks() == "late"
    rig.runtime.peers.close()


@pytest.mark.plain
async def test_client_that_leaves_during_the_search_is_gone(start, project, monkeypatch):
    monkeypatch.setattr(peers, "WAIT_S", 10.0)
    rig = await start(FRESH, **WANTED)
    found, searching = threading.Event(), threading.Event()
    rig.runtime.peers = Peers(lambda pid: searching.set() or (found.wait(30) and None))
    client = await rig.client()
    await client.send(post("/up/", b"{}"))
    await becomes(searching.is_set)
    client.reset()
    assert (await rig.record()).outcome == "abandoned"
    assert rig.upstream.was_left_alone()
    found.set()
    rig.runtime.peers.close()


def test_only_so_many_processes_are_remembered():
    mine = Peers(lambda pid: str(pid))
    for pid in range(1, REMEMBERED + 10):
        assert mine._find(peers.Whose(pid=pid)) == str(pid)
    assert len(mine._recent) == REMEMBERED
    assert REMEMBERED + 9 in mine._recent
