# Endurance: thousands of connections that vanish at every phase, at an upstream that misbehaves in every way.
# Afterwards the process is what it was before: no slot, waiter, descriptor, thread or byte is missing or left over.
#
# Rule 1: every round has the same clients, by SOAK_SEED; the first only warms up: pools, caches and tables fill.
# Rule 2: LEFT_OVER over CLIENTS is the leak that shows, 1.7 KB a connection: a request with its connection
#         and task is more. Smaller ones are for tests/wire/test_wire_no_rings.py, which counts objects.

import os
import signal

import pytest
from blackbox.footprint import Footprint
from blackbox.rig import Rig, Starter
from blackbox.rough import as_asked, nobody_accepts
from blackbox.storm import as_many_as_the_limit_go_at_once
from blackbox.vanishing import PHASES, Crowd
from blackbox.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.one_process(reason="measures the memory and the descriptors of the process"),
]
SEED = int(os.environ.get("SOAK_SEED", "1"))
CLIENTS = int(os.environ.get("SOAK_CLIENTS", "2500"))  # in a round, of three
AT_ONCE = 32
LIMIT = 12
LEFT_OVER = 4 * 1024**2  # bytes that one round may take more than the round before; rounds alone differ by half of it


async def rest(rig: Rig) -> None:
    """Nothing is in flight or queued, and the upstream has no connection left: kept ones go within seconds."""
    await rig.at_rest()
    try:
        await until(lambda: rig.up.open == 0 and all(connection.closed for connection in rig.up.connections))
    except AssertionError:
        left = [connection.calls[-1:] for connection in rig.up.connections if not connection.closed]
        raise AssertionError(f"{rig.up.open} calls and {len(left)} connections are open, last used by {left}") from None
    rig.up.connections.clear()
    rig.up.calls.clear()


async def round_of(rig: Rig) -> Crowd:
    crowd = Crowd(rig, SEED)
    await crowd.come_and_go(clients=CLIENTS, at_once=AT_ONCE)
    await rest(rig)
    return crowd


async def test_nothing_is_left_of_thousands_of_clients_that_vanish(start: Starter) -> None:
    print(f"SOAK_SEED={SEED} SOAK_CLIENTS={CLIENTS}")
    with nobody_accepts() as port:
        rig = await start(
            {
                "up": {"limit": LIMIT, "cooldown": "0s"},
                "narrow": {"limit": 1, "cooldown": "0s"},
                "hanging": {"url": f"http://127.0.0.1:{port}", "limit": 4, "connect_timeout": "200ms"},
                "absent": {"url": "http://127.0.0.1:1", "limit": 4, "cooldown": "0s"},
            }
        )
        narrow = rig.upstreams["narrow"]
        rig.up.limit, narrow.limit = LIMIT, 1
        rig.up.behaviour = narrow.behaviour = as_asked
        held = Footprint(rig.proxy.pid)
        await round_of(rig)
        descriptors, threads = held.descriptors(), held.threads
        await round_of(rig)
        memory = held.memory
        crowd = await round_of(rig)

    assert rig.up.violations == narrow.violations == []
    assert 1 < rig.up.peak <= LIMIT
    assert {phase for phase in PHASES if crowd.reached[phase] < CLIENTS / 100} == set(), crowd.reached
    await until(lambda: not held.descriptors() - descriptors, what=f"no more descriptors than {descriptors}")
    assert held.threads == threads
    assert held.memory <= memory + LEFT_OVER, f"{(held.memory - memory) / CLIENTS:.0f} bytes for each client"
    assert [line for line in rig.proxy.log if line.get("level") in ("error", "critical")] == []
    assert "Traceback" not in rig.proxy.output
    await as_many_as_the_limit_go_at_once(rig, LIMIT)
    rig.leave()
    await rest(rig)
    rig.proxy.signal(signal.SIGTERM)
    assert await rig.proxy.ended() == 0
    assert (await rig.proxy.logged(lambda line: line["event"] == "proxy.stopped"))["cut"] == 0
