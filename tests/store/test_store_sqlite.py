# What is saved comes back after a restart, in the order of the calls, whoever stops waiting for it.

import asyncio
import sqlite3
import threading

import pytest

from proxy.errors import StoreError
from proxy.store import HISTORY_MS, SavedEvent, open_store, rows, sqlite

NOW = 1_700_000_000_000


async def test_new_file_is_empty(path, stores):
    store = stores(path)
    saved = await store.open()
    assert (dict(saved.providers), saved.stars) == ({}, frozenset())
    assert (store.kind, store.ok, store.error, store.damaged) == ("sqlite", True, None, None)


async def test_record_with_every_field_survives_a_restart(path, stores, reduced, record):
    store = stores(path)
    await store.open()
    unlimited = record("other.example.com", None, file_limit=None, file_cooldown_s=None, cooldown_s=0.0)
    assert await store.save_provider(reduced)
    assert await store.save_provider(unlimited)
    await store.close()
    saved = await stores(path).open()
    assert saved.providers == {reduced.provider_id: reduced, "other.example.com": unlimited}


async def test_later_record_replaces_the_earlier_one(path, stores, record):
    store = stores(path)
    await store.open()
    for limit in (1, 2, 3):
        await store.save_provider(record(limit=limit))
    await store.close()
    assert (await stores(path).open()).providers["api.example.com"].limit == 3


async def test_star_survives_and_unstarring_deletes_it(path, stores):
    store = stores(path)
    await store.open()
    names = ("plain", "größer/名前 \N{PILE OF POO}", "nul\0inside", "x" * 128)
    for name in names:
        assert await store.save_star(name, True)
        assert await store.save_star(name, True)  # twice is once
    assert await store.save_star("plain", False)
    assert await store.save_star("never starred", False)
    await store.close()
    assert (await stores(path).open()).stars == frozenset(names) - {"plain"}


async def test_writes_are_done_in_the_order_of_the_calls(path, stores, record):
    store = stores(path)
    await store.open()
    done: list[int] = []

    async def save(limit: int) -> None:
        assert await store.save_provider(record(limit=limit))
        done.append(limit)

    await asyncio.gather(*(save(limit) for limit in range(1, 101)))
    assert done == list(range(1, 101))
    await store.close()
    assert (await stores(path).open()).providers["api.example.com"].limit == 100


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


async def test_close_waits_for_the_writes_asked_for_before(path, stores, record):
    store = stores(path)
    await store.open()
    tasks = [asyncio.create_task(store.save_provider(record(f"p{number}"))) for number in range(50)]
    await asyncio.sleep(0)
    await store.close()
    assert all(await asyncio.gather(*tasks))
    assert len((await stores(path).open()).providers) == 50


async def test_closed_store_answers_false_and_closes_again(path, stores, record, event):
    store = stores(path)
    await store.open()
    await store.close()
    await store.close()
    assert not await store.save_provider(record())
    assert not await store.append_events([event(NOW)])
    assert not store.ok
    with pytest.raises(StoreError, match="closed"):
        await store.history(0)


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


@pytest.mark.parametrize("name", ["lone surrogate \udc80", "x" * 129])
async def test_name_that_cannot_be_stored_does_not_stand_in_the_way_of_others(path, stores, name):
    store = stores(path)
    await store.open()
    assert not await store.save_star(name, True)
    assert not store.ok
    assert await store.save_star("fine", True)
    assert store.ok
    await store.close()
    assert (await stores(path).open()).stars == {"fine"}


async def test_number_too_large_for_the_file_is_false(path, stores, record):
    store = stores(path)
    await store.open()
    assert not await store.save_provider(record(limit=2**63))
    assert await store.save_provider(record(limit=2))


async def test_history_gives_the_events_since_a_moment_in_their_order(path, stores, event):
    store = stores(path)
    await store.open()
    batches = [[event(NOW + 2, "queued", id=1), event(NOW + 1, "granted", id=1, nested={"a": [1, None]})], [event(NOW)]]
    for batch in batches:
        assert await store.append_events(batch)
    assert await store.append_events([])
    await store.close()
    store = stores(path)
    await store.open()
    assert await store.history(NOW) == [*batches[0], *batches[1]]
    assert await store.history(NOW + 1) == batches[0]
    assert await store.history(NOW + 3) == []


async def test_event_without_provider_is_kept_as_such(path, stores):
    store = stores(path)
    await store.open()
    reloaded = SavedEvent(at=NOW, name="reloaded", provider_id=None, data={"changed": ["upstreams.x.limit"]})
    assert await store.append_events([reloaded])
    assert await store.history(0) == [reloaded]


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


async def test_second_store_may_hold_the_file_while_the_first_hands_over(path, stores, record):
    first, second = stores(path), stores(path)
    await first.open()
    await first.save_provider(record("a"))
    saved = await second.open()
    assert set(saved.providers) == {"a"}
    assert await first.save_provider(record("b"))
    assert await second.save_provider(record("c"))
    await first.close()
    assert await second.save_provider(record("d"))
    await second.close()
    assert set((await stores(path).open()).providers) == {"a", "b", "c", "d"}


def test_redis_is_refused_without_showing_its_password():
    with pytest.raises(StoreError, match="several replicas") as refusal:
        open_store("redis", "redis://user:secret@db.example.com:6379/0")
    assert "db.example.com" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_unknown_kind_is_refused():
    with pytest.raises(StoreError, match="no store of kind 'etcd'"):
        open_store("etcd", "x")


def test_open_store_touches_nothing(path):
    store = open_store("sqlite", str(path))
    assert repr(store) == f"<SqliteStore {path} ok>"
    assert not path.exists()
