# How replicas say that the shared state is away, and that it is back: /readyz, the metric and the log.

from typing import Any

from blackbox.rig import Rig
from blackbox.waiting import until

from replicas.fleet import TOLD, Fleet


async def away(fleet: Fleet, *numbers: int) -> None:
    """All replicas (or those of `numbers`) say that Redis is away."""
    for rig in [fleet[number] for number in numbers] or fleet.living:
        await until(lambda rig=rig: _says(rig, False), timeout=TOLD, what="/readyz and the metric to say away")
        await rig.proxy.logged(lambda line: line["event"] == "state.away")


async def back(fleet: Fleet, *numbers: int) -> None:
    """All replicas (or those of `numbers`) say that Redis is there, and that it was not."""
    for rig in [fleet[number] for number in numbers] or fleet.living:
        await until(lambda rig=rig: _says(rig, True), timeout=TOLD, what="/readyz and the metric to say back")
        await rig.proxy.logged(lambda line: line["event"] == "state.back")


async def _says(rig: Rig, ok: bool) -> bool:
    try:
        ready: dict[str, Any] = (await rig.admin.get("/readyz")).json
    except ConnectionRefusedError:
        return False  # it is about to start
    return bool(ready["state"]["ok"]) is ok and await rig.metric("slotgate_state_ok") == float(ok)
