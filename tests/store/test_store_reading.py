# Reading a week of history, while there is something to write, and while the proxy ends.

import asyncio
import sqlite3
import threading

import pytest

from proxy.errors import StoreError
from proxy.store import sqlite

LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"  # without end
EVER = {"since_ms": 0, "until_ms": 2**62}


async def test_write_does_not_wait_for_who_reads(path, stores, minute, monkeypatch):
    reads, goes_on = threading.Event(), threading.Event()

    def read(file, *_):
        found = file.execute("SELECT count(*) FROM minutes").fetchone()
        reads.set()
        assert goes_on.wait(60)
        return found

    monkeypatch.setattr(sqlite, "read_minutes", read)
    store = stores(path)
    await store.open()
    reading = asyncio.create_task(store.minutes("api.example.com", **EVER))
    try:
        assert await asyncio.to_thread(reads.wait, 60)
        async with asyncio.timeout(30):
            assert await store.append_minutes([minute()])
            assert await store.save_star("dear", True)
    finally:
        goes_on.set()
    assert await reading == (0,)


async def test_end_does_not_wait_for_who_reads(path, stores, monkeypatch):
    reads = threading.Event()

    def read(file, *_):
        rows = file.execute(LONG)
        next(rows)
        reads.set()
        for _ in rows:
            pass

    monkeypatch.setattr(sqlite, "read_minutes", read)
    store = stores(path)
    await store.open()
    reading = [asyncio.create_task(store.minutes("api.example.com", **EVER)) for _ in range(3)]
    assert await asyncio.to_thread(reads.wait, 60)
    async with asyncio.timeout(30):
        await store.close()
        ended = await asyncio.gather(*reading, return_exceptions=True)
    assert [type(each) for each in ended] == [StoreError] * 3


async def test_who_reads_cannot_write(path, stores, monkeypatch):
    monkeypatch.setattr(sqlite, "read_minutes", lambda file, *_: file.execute("DELETE FROM minutes"))
    store = stores(path)
    await store.open()
    with pytest.raises(StoreError, match="readonly"):
        await store.minutes("api.example.com", **EVER)


async def test_reader_sees_what_was_written_just_now(path, stores, minute):
    store = stores(path)
    await store.open()
    for number in range(20):
        await store.append_minutes([minute(60_000 * number)])
        assert len(await store.minutes("api.example.com", **EVER)) == number + 1
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM minutes").fetchone() == (20,)
    file.close()
