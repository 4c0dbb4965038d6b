# What is looked at again and again: held slots, the configuration file, freed memory, and what goes on.

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from proxy.errors import ConfigErrors
from proxy.service.admission import Admission
from proxy.service.heap import Heap
from proxy.service.runtime import Runtime

SLOTS_S = 30.0  # spec §9: held slots are checked at least this often
SLOTS_AT_ONCE = 50  # below a tenth of a millisecond to look at; to take all of them back is about one
CONFIG_S = 2.0  # spec §3.4
HEAP_S = 5.0
PATIENCE_S = 1.0


async def watch_slots(runtime: Runtime) -> None:
    """The watchdog: take back slots that are stuck, for ever."""
    while True:
        await asyncio.sleep(_interval_s(runtime))
        for admission in list(runtime.admissions.values()):
            await look_at_slots(admission)


async def look_at_slots(admission: Admission) -> None:
    """One look at every slot that is held now, a few in each turn of the loop: thousands would hold up everybody."""
    held = admission.holding()
    for first in range(0, len(held), SLOTS_AT_ONCE):
        admission.watch(held[first : first + SLOTS_AT_ONCE])
        await asyncio.sleep(0)


def _interval_s(runtime: Runtime) -> float:
    """Half of the shortest limit on a slot, so that none is exceeded by more than half."""
    policies = [admission.policy for admission in runtime.admissions.values()]
    limits = [limit for policy in policies for limit in (policy.slot_timeout_s, policy.max_hold_s) if limit is not None]
    tunnels = [up.tunnel_idle_s for up in runtime.settings.upstreams.values() if up.tunnel_idle_s is not None]
    return min([SLOTS_S, *(limit / 2 for limit in (*limits, *tunnels))])


async def watch_config(runtime: Runtime, find: Callable[[], Path | None]) -> None:
    """Reload when the file has changed, for ever: it, or which one it is. A file with errors is tried again when it
    changes again, one that cannot be read until it can. `find` says where it would be found now, None if nowhere."""
    seen = await asyncio.to_thread(_stamp, find)
    if seen is not None and seen[0] != runtime.settings.source:
        seen = None  # it came while we started
    while True:
        await asyncio.sleep(CONFIG_S)
        stamp = await asyncio.to_thread(_stamp, find)
        if stamp is None or stamp == seen:
            continue  # a file that is being replaced is away for a moment
        seen = stamp
        try:
            await runtime.reload()
        except ConfigErrors as error:  # reported by the runtime; the old configuration stays in force
            if any(problem.line is None and problem.file == str(stamp[0]) for problem in error.problems):
                seen = None  # it could not even be read (no descriptor free, a disk that stumbled): try again


def _stamp(find: Callable[[], Path | None]) -> tuple[Path, int, int, int] | None:
    path = find()
    try:
        found = None if path is None else os.stat(path)
    except OSError:
        return None
    return None if path is None or found is None else (path, found.st_mtime_ns, found.st_size, found.st_ino)


async def watch_heap(_: Runtime) -> None:
    """Give back freed memory, for ever."""
    heap = Heap()
    while True:
        await asyncio.sleep(HEAP_S)
        heap.look()


async def watch_history(runtime: Runtime) -> None:
    """Note what goes on, for ever."""
    while True:
        await asyncio.sleep(runtime.history.until_look_s)
        await runtime.refresh_busy()
        runtime.history.look()


async def watch_patience(runtime: Runtime) -> None:
    """Refuse who waits for a state that is away, for ever."""
    while True:
        await asyncio.sleep(PATIENCE_S)
        for admission in runtime.admissions.values():
            admission.give_up_late()
