# What is saved comes back after a restart, in the order of the calls, whoever stops waiting for it.

import asyncio
import sqlite3
import threading

import pytest

from proxy.errors import StoreError
from proxy.store import HISTORY_MS, open_store, rows, sqlite

NOW = 1_700_000_000_000


async def test_new_file_is_empty(path, stores):
    store = stores(path)
    saved = await store.open()
    assert (dict(saved.providers), saved.stars) == ({}, frozenset())
    assert (store.kind, store.ok, store.error, store.damaged) == ("sqlite", True, None, None)


async def test_cancelled_wait_does_not_cancel_the_write(path, stores, record):
    store = stores(path)
    await store.open()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")  # so that both writes are still to be done when their tasks are cancelled
    tasks = [asyncio.create_task(store.save_provider(record(f"p{number}"))) for number in range(2)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    assert all(
        isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*tasks, return_exceptions=True)
    )
    blocker.execute("ROLLBACK")
    blocker.close()
    await store.close()
    assert set((await stores(path).open()).providers) == {"p0", "p1"}


async def test_event_loop_runs_on_while_a_write_waits(path, stores, record):
    store = stores(path)
    await store.open()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    task = asyncio.create_task(store.save_provider(record()))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not task.done()
    blocker.execute("ROLLBACK")
    blocker.close()
    assert await task


async def test_close_leaves_no_thread_and_no_companion(path, stores):
    store = stores(path)
    await store.open()
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("slotgate-state")]
    await store.close()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()
    assert [each.name for each in path.parent.iterdir()] == ["state.db"]


async def test_locked_write_is_false_and_is_stored_with_the_next_one(path, stores, record, monkeypatch):
    monkeypatch.setattr("proxy.store.database.BUSY_S", 0.05)
    store = stores(path)
    await store.open()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    assert not await store.save_provider(record(limit=1))
    assert not await store.save_provider(record(limit=2))
    assert not store.ok
    assert store.error == f"state {path} cannot be written: database is locked; another program holds it; end that one"
    assert repr(store) == f"<SqliteStore {path} {store.error}>"
    blocker.execute("ROLLBACK")
    blocker.close()
    assert await store.save_star("w", True)
    assert (store.ok, store.error) == (True, None)
    await store.close()
    saved = await stores(path).open()
    assert (saved.providers["api.example.com"].limit, saved.stars) == (2, {"w"})


async def test_what_is_owed_is_stored_by_close(path, stores, record, monkeypatch):
    monkeypatch.setattr("proxy.store.database.BUSY_S", 0.05)
    store = stores(path)
    await store.open()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    assert not await store.save_provider(record(limit=7))
    blocker.close()
    await store.close()
    assert (await stores(path).open()).providers["api.example.com"].limit == 7


async def test_number_too_large_for_the_file_is_false(path, stores, record):
    store = stores(path)
    await store.open()
    assert not await store.save_provider(record(limit=2**63))
    assert await store.save_provider(record(limit=2))


async def test_events_older_than_seven_days_are_dropped_now_and_then(path, stores, event, monkeypatch):
    monkeypatch.setattr(sqlite, "PRUNE_EVERY", 3)
    store = stores(path)
    await store.open()
    late = NOW + HISTORY_MS
    counts = []
    for at in (NOW - 1, NOW, late, late, late):
        await store.append_events([event(at)])
        counts.append(len(await store.history(0)))
    assert counts == [1, 2, 3, 3, 4]  # the fourth batch prunes the event that is a millisecond too old


async def test_more_events_than_the_disk_should_hold_are_dropped(path, stores, event, monkeypatch):
    monkeypatch.setattr(sqlite, "PRUNE_EVERY", 1)
    monkeypatch.setattr(rows, "EVENTS_KEPT", 10)
    store = stores(path)
    await store.open()
    for number in range(5):
        await store.append_events([event(NOW + number, number=n) for n in range(4)])
    kept = await store.history(0)
    assert len(kept) == 10
    assert kept[-1] == event(NOW + 4, number=3)


async def test_event_that_does_not_decode_is_an_error_that_names_the_file(path, stores, event):
    store = stores(path)
    await store.open()
    await store.append_events([event(NOW)])
    with sqlite3.connect(path) as other:
        other.execute("UPDATE events SET data = '{'")
    other.close()
    with pytest.raises(StoreError, match=r"state\.db cannot be read"):
        await store.history(0)
    assert await store.save_star("w", True)


def test_unknown_kind_is_refused():
    with pytest.raises(StoreError, match="no store of kind 'etcd'"):
        open_store("etcd", "x")


def test_open_store_touches_nothing(path):
    store = open_store("sqlite", str(path))
    assert repr(store) == f"<SqliteStore {path} ok>"
    assert not path.exists()
