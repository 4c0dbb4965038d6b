# The store that keeps nothing: it answers like one that works.

from proxy.store import HISTORY_MS, memory, open_store

NOW = 1_700_000_000_000


async def test_memory_accepts_everything_and_starts_empty_again(record):
    store = open_store("memory", "")
    await store.open()
    assert await store.save_provider(record())
    assert await store.save_star("w", True)
    assert (store.kind, store.ok, store.error, store.damaged, store.damage) == ("memory", True, None, None, None)
    await store.close()
    saved = await store.open()
    assert (dict(saved.providers), saved.stars) == ({}, frozenset())


async def test_memory_has_the_history_of_its_own_run_for_seven_days(event):
    store = open_store("memory", "")
    await store.append_events([event(NOW), event(NOW + 1)])
    assert await store.history(NOW + 1) == [event(NOW + 1)]
    await store.append_events([event(NOW + 1 + HISTORY_MS)])
    assert await store.history(0) == [event(NOW + 1), event(NOW + 1 + HISTORY_MS)]


async def test_memory_history_is_bounded(event):
    store = open_store("memory", "")
    await store.append_events([event(NOW + number) for number in range(memory.EVENTS_KEPT + 5)])
    assert len(await store.history(0)) == memory.EVENTS_KEPT
