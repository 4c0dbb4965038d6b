# What outlives the process: no acknowledged write is lost, who acted last wins, damage is set aside and told
# (spec §13; bug cases STA-01 and STA-04).

import asyncio
import random
import resource
import stat

import pytest
from blackbox.admin import part
from blackbox.rig import Rig, Starter
from blackbox.waiting import until


async def again(rig: Rig) -> None:
    await rig.proxy.kill()
    await rig.proxy.restart()


async def test_what_was_set_by_hand_survives_a_kill(start: Starter) -> None:
    rig = await start({"up": {"limit": 2}, "free": {}})
    await rig.limit(5)
    await rig.cooldown(1234)
    await rig.star("work space")
    await rig.pause(600_000)
    await rig.admin.put("/concurrency/limits/not-yet.example", {"limit": 3})
    before = await rig.status()
    await again(rig)
    entry = await rig.status()
    assert (entry["limit"], entry["cooldownMs"], entry["paused"]) == (5, 1234, True)
    assert abs(entry["pausedUntil"] - before["pausedUntil"]) < 2000
    assert (await rig.admin.get("/concurrency/limits/not-yet.example")).json["limit"] == 3
    workspaces = (await rig.admin.get("/concurrency/workspaces")).json["workspaces"]
    assert {w["workspaceId"]: w["starred"] for w in workspaces}["work space"] is True
    await rig.ask("a")
    await rig.queued(1)
    await rig.resume()
    await rig.up.call()


async def test_removed_limit_stays_removed_and_a_file_that_changes_wins(start: Starter) -> None:
    rig = await start({"up": {"limit": 2}})
    await rig.admin.delete(f"/concurrency/limits/{part(rig.provider)}")
    await again(rig)
    assert (await rig.status())["limit"] is None, "a DELETE was forgotten"
    await rig.proxy.kill()
    rig.proxy.config["upstreams"]["up"]["limit"] = 3
    await rig.proxy.restart()
    assert (await rig.status())["limit"] == 3, "the file's own change is the latest act"
    await rig.limit(9)
    await again(rig)
    assert (await rig.status())["limit"] == 9
    await rig.admin.put("/concurrency/workspaces/x", {"starred": True})
    await rig.star("x", False)
    await again(rig)
    listed = (await rig.admin.get("/concurrency/workspaces")).json["workspaces"]
    assert not [w for w in listed if w["starred"]]


@pytest.mark.slow
async def test_no_acknowledged_write_is_lost_to_a_kill(start: Starter) -> None:
    """STA-01: SIGKILL at a random moment of a run of writes; the next start knows the last acknowledged one."""
    rig = await start({"up": {"limit": 1}})
    chance = random.Random(7)
    for _ in range(3):
        acknowledged = sent = 0

        async def write() -> None:
            nonlocal acknowledged, sent
            for limit in range(1, 100_000):
                sent = limit
                reply = await rig.admin.put(f"/concurrency/limits/{part(rig.provider)}", {"limit": limit})
                assert reply.json.get("persisted") is not False
                acknowledged = limit

        writing = asyncio.create_task(write())
        await asyncio.sleep(chance.uniform(0.05, 0.4))
        await rig.proxy.kill()
        await asyncio.gather(writing, return_exceptions=True)
        await rig.proxy.restart()
        assert (await rig.status())["limit"] in range(acknowledged, sent + 1)


@pytest.mark.sqlite(reason="damages the file")
@pytest.mark.parametrize("damage", ["garbage", "cut", "zeroes"])
async def test_damaged_file_is_set_aside_and_the_proxy_starts(start: Starter, damage: str) -> None:
    rig = await start({"up": {"limit": 2}})
    for limit in range(3, 30):
        await rig.limit(limit)
    await rig.proxy.stop()
    whole = rig.proxy.state.read_bytes()
    broken = {
        "garbage": b"this was never a database" * 100,
        "cut": whole[: len(whole) // 2 + 100],
        "zeroes": whole[:1000] + bytes(len(whole) - 1000),
    }[damage]
    rig.proxy.state.write_bytes(broken)
    await rig.proxy.restart()
    everything = rig.proxy.directory.glob("state.db.damaged-*")
    (aside,) = [path for path in everything if not path.name.endswith(("-wal", "-shm"))]
    assert aside.read_bytes() == broken
    await rig.proxy.logged(lambda line: "damaged" in str(line))
    assert (await rig.status())["limit"] == 2
    await rig.limit(4)
    await again(rig)
    assert (await rig.status())["limit"] == 4


@pytest.mark.sqlite(reason="writes into the file")
async def test_file_of_a_newer_version_is_refused_and_left_alone(start: Starter) -> None:
    import sqlite3

    rig = await start()
    await rig.proxy.stop()
    with sqlite3.connect(rig.proxy.state) as database:
        database.execute("PRAGMA user_version = 9999")
    database.close()
    before = rig.proxy.state.read_bytes()
    await rig.proxy.spawn()
    assert await rig.proxy.ended() != 0
    assert "9999" in rig.proxy.output
    assert rig.proxy.state.read_bytes() == before
    assert not list(rig.proxy.directory.glob("*damaged*"))


@pytest.mark.sqlite(reason="looks at the file")
async def test_state_file_is_for_its_owner_only(start: Starter) -> None:
    rig = await start()
    await rig.limit(3)
    files = list(rig.proxy.directory.glob("state.db*"))
    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


@pytest.mark.sqlite(reason="the process may write to no file")
async def test_full_disk_is_told_and_traffic_goes_on(start: Starter) -> None:
    """STA-04: nothing can be stored, everything holds in memory, and the answer says so."""
    rig = await start({"up": {"limit": 1, "cooldown": "0s"}})
    await rig.limit(2)
    old = resource.prlimit(rig.proxy.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(rig.proxy.pid, resource.RLIMIT_FSIZE, (0, old[1]))
    reply = await rig.admin.put(f"/concurrency/limits/{part(rig.provider)}", {"limit": 3})
    assert (reply.status, reply.json["limit"], reply.json["persisted"]) == (200, 3, False)
    assert (await rig.admin.get("/status")).json["state"]["ok"] is False
    for name in "abc":
        await rig.ask(name)
    for call in await rig.up.take(3):
        await call.answer()
    await rig.at_rest()
    resource.prlimit(rig.proxy.pid, resource.RLIMIT_FSIZE, old)
    reply = await rig.admin.put(f"/concurrency/limits/{part(rig.provider)}", {"limit": 4})
    assert reply.json == {"providerId": rig.provider, "limit": 4}
    status = (await rig.admin.get("/status")).json["state"]
    assert (status["kind"], status["ok"]) == ("sqlite", True)
    await again(rig)
    assert (await rig.status())["limit"] == 4


@pytest.mark.one_process(reason="its memory is its own")
async def test_state_in_memory_is_forgotten(start: Starter) -> None:
    rig = await start({"up": {"limit": 2}}, state="memory")
    assert (await rig.admin.get("/status")).json["state"] == {"kind": "memory", "ok": True}
    await rig.limit(5)
    await again(rig)
    assert (await rig.status())["limit"] == 2
    assert not rig.proxy.state.exists()


async def test_pause_that_ended_meanwhile_is_over(start: Starter) -> None:
    rig = await start()
    await rig.pause(700)
    await rig.proxy.kill()
    await asyncio.sleep(0.7)
    await rig.proxy.restart()
    assert (await rig.status())["paused"] is False
    client = await rig.ask("a")
    await rig.finish(await rig.up.call(), client)


@pytest.mark.sqlite(reason="what a killed replica held stays counted for its lease")
async def test_counts_start_at_nothing_after_a_kill(start: Starter) -> None:
    """LEAK-12, second half: what was in flight died with the process and is not kept as in flight."""
    rig = await start()
    await rig.ask("a")
    call = await rig.up.call()
    await rig.line_up("b")
    await rig.proxy.kill()
    await call.stopped()
    await rig.proxy.restart()
    entry = await rig.status()
    assert (entry["inFlight"], entry["queued"]) == (0, 0)
    await rig.ask("c")
    await until(lambda: "c" in rig.up.names)
