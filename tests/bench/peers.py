# The load and the upstream as one process that never sleeps. A sleeper on another core is woken by whoever writes to
# it, which takes some 10 µs on a virtual machine; and the faster a front, the more rarely it meets one. Without this a
# slow front would pay for being slow.
#
# Rule 1: how long it had nothing to do is told, so that a load that holds up a front is still seen.

import asyncio
import time
from collections.abc import Mapping

from . import load, upstream
from .child import Command, serve

CALIBRATE_S = 0.2


class Awake:
    """Turns of the event loop without a pause."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._turns = 0
        self._empty_ns = 0.0  # what one takes that has nothing to do

    async def stay_awake(self) -> None:
        """From now on; while it begins there must be nothing to do."""
        self._turn()
        before, began_ns = self._turns, time.process_time_ns()
        await asyncio.sleep(CALIBRATE_S)
        self._empty_ns = (time.process_time_ns() - began_ns) / (self._turns - before)

    async def idle_ns(self) -> int:
        """How long it has had nothing to do, about."""
        return int(self._turns * self._empty_ns)

    def _turn(self) -> None:
        self._turns += 1
        self._loop.call_soon(self._turn)


async def commands() -> Mapping[str, Command]:
    awake = Awake()
    own = {"stay_awake": awake.stay_awake, "idle_ns": awake.idle_ns}
    return {**await load.commands(), **await upstream.commands(), **own}


if __name__ == "__main__":
    serve(commands)
