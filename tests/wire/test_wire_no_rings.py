# Whatever way a request ends, nothing of it stays: no task, and nothing in a ring of references. Python looks for rings
# by the number of new objects, not by their size: sixty bodies of 64 MiB that sit in rings are too few for it to look.
#
# Rule 1: the collector is off from before the request until nothing of it may be left; what it then finds, it must not.

import asyncio
import contextlib
import gc
from collections import Counter
from collections.abc import Iterator

import pytest
from rawsides.endings import ENDINGS, Ending
from rawsides.rig import Rig, Start, becomes


@contextlib.contextmanager
def rings_of_ours() -> Iterator[Counter[str]]:
    """Counts, at its end, the objects of the package that only the collector could have freed."""
    found: Counter[str] = Counter()
    gc.collect()
    gc.freeze()  # what was there before is not looked at again, which makes it fast
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.update(type(one).__qualname__ for one in gc.garbage if type(one).__module__.startswith("proxy."))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.unfreeze()


async def all_have_gone(rig: Rig) -> None:
    for client in rig._clients:
        client.close()
    await rig.at_rest()
    await becomes(lambda: not rig.listener.connections, "every client connection to be closed")
    for _ in range(5):  # what was scheduled in the last moment
        await asyncio.sleep(0)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.__name__)
async def test_nothing_is_left_of_a_request(start: Start, ending: Ending) -> None:
    rig = await start({"limit": 1, "slot_timeout": "1h"})
    tasks = asyncio.all_tasks()
    with rings_of_ours() as found:
        await ending(rig)
        await all_have_gone(rig)
    assert found == Counter()
    assert asyncio.all_tasks() == tasks
