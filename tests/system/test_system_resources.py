# What the machine lends is not used up: as many connections as the limit allows, no more descriptors than there are,
# and no memory for everybody who ever asked (bug cases RES-01, RES-04, RES-05).

import asyncio
import resource

import pytest
from blackbox.call import Call
from blackbox.client import RawClient
from blackbox.footprint import Footprint
from blackbox.rig import MESSAGES, Rig, Starter
from blackbox.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
MANY = 150
DESCRIPTORS = 256
SESSIONS = 10_500  # in a round, of two: the turn tracker keeps 10,000 conversations
AT_ONCE = 16
LEFT_OVER = 4 * 1024**2  # bytes by which two rounds may differ; 10,500 sessions that are kept take more


async def test_as_many_upstream_connections_as_the_limit_allows(start: Starter) -> None:
    """RES-01: a pool with a cap of its own would hold requests back that have a slot."""
    rig = await start({"up": {"limit": MANY, "cooldown": "0s"}})
    clients = [await rig.ask(str(number)) for number in range(MANY)]
    calls = await rig.up.take(MANY)
    for call in calls:
        call.begin()
        call.event("one")
    for client in clients:
        await client.until(b"one\n\n")
    assert len({id(call.connection) for call in calls}) == MANY
    entry = await rig.status()
    assert (entry["inFlight"], entry["queued"]) == (MANY, 0)


async def keeps_quiet(rig: Rig, held: Footprint) -> None:
    """The process neither spins nor fills its log, for as long as it is looked at: one second."""
    lines, spent = rig.proxy.output.count("\n"), held.processor_s
    await asyncio.sleep(1)
    assert rig.proxy.output.count("\n") - lines < 20, rig.proxy.tail()
    assert held.processor_s - spent < 0.5


@pytest.mark.one_process(reason="takes descriptors from the process")
async def test_more_clients_than_descriptors_harm_nobody_for_long(start: Starter) -> None:
    """RES-04: accepting goes on when descriptors are free again; nothing spins, no slot is lost meanwhile."""
    rig = await start()
    held = Footprint(rig.proxy.pid)
    resource.prlimit(rig.proxy.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    operator = await RawClient.connect(rig.proxy.admin_address)
    crowd = [await rig.client() for _ in range(300)]
    for client in crowd:
        await client.send(b"POST /up/v1/messages HTTP/1.1\r\n")
    await until(lambda: held.descriptors().total() >= DESCRIPTORS - 8, what="nearly every descriptor to be in use")
    await keeps_quiet(rig, held)

    await crowd[0].send(b"Host: proxy.test\r\nContent-Length: 2\r\n\r\n{}")
    answer = await crowd[0].answer()
    assert (answer.status, answer.code) == (502, "upstream_unreachable")
    await operator.request("GET", "/concurrency/status", [("Host", "127.0.0.1")])
    assert [entry["inFlight"] for entry in (await operator.answer()).json["providers"]] == [0]
    operator.close()

    for client in crowd[1:200]:
        client.close()
    await until(lambda: held.descriptors().total() < DESCRIPTORS - 100, what="descriptors to be free again")
    assert (await rig.admin.get("/readyz")).status == 200
    good = await rig.ask("good")
    call = await rig.up.call()
    await rig.finish(call, good)
    assert call.name == "good"
    await rig.at_rest()


async def answer_and_forget(call: Call) -> None:
    """An upstream that looks at all calls it remembers would be slow after the first thousands."""
    await call.answer()
    call.connection.calls.remove(call)
    call.upstream.calls.remove(call)


async def ask_as(rig: Rig, who: range) -> None:
    """One request for each number of `who`, from a workspace, a session and with a key of its own."""
    numbers = iter(who)

    async def one_after_the_other() -> None:
        client = await rig.client()
        for number in numbers:
            own = [
                ("X-Slotgate-Workspace", f"{number:0>100}"),
                ("X-Claude-Code-Session-Id", f"{number:0>200}"),
                ("Authorization", f"Bearer {number:0>100}"),
            ]
            await client.request("POST", MESSAGES, own, b"{}")
            assert (await client.answer()).status == 200

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(one_after_the_other())
    rig.leave()
    await rig.at_rest()


async def sizes(rig: Rig) -> dict[str, int]:
    """How long the admin's answers about everything are."""
    paths = ("/concurrency/status?all=1", f"/concurrency/slots/{rig.provider}", "/concurrency/workspaces", "/metrics")
    return {path: len((await rig.admin.get(path)).body) for path in paths}


@pytest.mark.one_process(reason="measures the memory of the process")
async def test_everybody_who_ever_asked_is_not_remembered(start: Starter) -> None:
    """RES-05: maps by workspace, session or key that only grow."""
    rig = await start({"up": {"limit": AT_ONCE, "cooldown": "0s"}})
    rig.up.behaviour = answer_and_forget
    held = Footprint(rig.proxy.pid)
    await ask_as(rig, range(50))
    before = await sizes(rig)
    await ask_as(rig, range(50, SESSIONS))
    memory = held.memory
    await ask_as(rig, range(SESSIONS, 2 * SESSIONS))
    assert held.memory - memory <= LEFT_OVER
    for path, size in (await sizes(rig)).items():
        assert size <= before[path] + 2000, path
