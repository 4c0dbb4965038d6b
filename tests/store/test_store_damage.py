# A torn or broken file: the old or the new state, or the file kept aside, reported, and a service that starts.

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.store import ProviderRecord
from proxy.store.sqlite import SqliteStore

PAGE = 4096
NAMES = [f"provider-{number}.example.com" for number in range(12)]


def offsets(size: int, step: int) -> list[int]:
    """Some bytes of the header, both sides of each page, and some of all others."""
    edges = {page + near for page in range(0, size + 1, PAGE) for near in (-2, -1, 0, 1, 2)}
    return sorted(each for each in {*range(1, 110, 9), *edges, *range(1, size, step)} if 0 < each < size)


def asides(directory: Path) -> list[Path]:
    """Files set aside there, without their companions."""
    return [each for each in directory.iterdir() if ".damaged-" in each.name and each.name.endswith("Z")]


async def fill(store: SqliteStore, records: list[ProviderRecord]) -> None:
    for each in records:
        assert await store.save_provider(each)
        assert await store.save_star(each.provider_id, True)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where there is such a place: what a power cut does to a disk is not tested here, and these are many."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        yield Path(name)


@pytest.fixture
async def whole(tmp_path, stores, record, event) -> tuple[Path, list[ProviderRecord]]:
    """A closed file of several pages, and what it holds."""
    path = tmp_path / "whole" / "state.db"
    records = [record(name, number + 1) for number, name in enumerate(NAMES)]
    store = stores(path)
    await store.open()
    await fill(store, records)
    await store.append_events([event(1_700_000_000_000 + n, text="x" * 60) for n in range(60)])
    await store.close()
    assert path.stat().st_size >= 6 * PAGE
    return path, records


async def test_file_truncated_anywhere_is_read_whole_or_set_aside(tmp_path, stores, whole):
    source, records = whole
    content = source.read_bytes()
    for at in offsets(len(content), 997):
        path = tmp_path / str(at) / "state.db"
        path.parent.mkdir()
        path.write_bytes(content[:at])
        store = stores(path)
        saved = await store.open()
        assert store.damaged is not None, at
        assert store.damaged.read_bytes() == content[:at], at
        assert (dict(saved.providers), saved.stars) == ({}, frozenset()), at
        assert await store.save_provider(records[0])
        await store.close()
        assert set((await stores(path).open()).providers) == {NAMES[0]}
        assert asides(path.parent) == [store.damaged]


async def test_companion_truncated_anywhere_gives_an_older_state(tmp_path, stores, record):
    path = tmp_path / "live" / "state.db"
    store = stores(path)
    await store.open()
    await fill(store, [record("kept")])
    await store.close()
    store = stores(path)
    await store.open()
    for limit in range(10, 20):
        await store.save_provider(record("kept", limit))
    content = path.with_name("state.db-wal").read_bytes()
    seen = set()
    for at in [0, *offsets(len(content), 499)]:
        copy = tmp_path / str(at) / "state.db"
        copy.parent.mkdir()
        shutil.copy(path, copy)
        copy.with_name("state.db-wal").write_bytes(content[:at])
        restarted = stores(copy)
        saved = await restarted.open()
        assert restarted.damaged is None
        assert saved.stars == {"kept"}
        seen.add(saved.providers["kept"].limit)
        await restarted.close()
    assert seen == {4, *range(10, 19)}


async def test_companion_lost_after_a_start_costs_only_what_was_written_since(tmp_path, stores, record):
    path, copy = tmp_path / "live" / "state.db", tmp_path / "copy" / "state.db"
    copy.parent.mkdir()
    killed = stores(path)
    await killed.open()
    await fill(killed, [record("before")])
    for suffix in ("", "-wal"):
        shutil.copy(path.with_name(path.name + suffix), copy.with_name(copy.name + suffix))
    await stores(copy).open()
    alone = tmp_path / "alone.db"
    shutil.copy(copy, alone)
    assert set((await stores(alone).open()).providers) == {"before"}


async def test_file_truncated_beside_a_whole_companion_is_read_whole_or_set_aside(tmp_path, stores, whole, record):
    source, records = whole
    store = stores(source)
    await store.open()
    await store.save_provider(record("new", 1))
    content, wal = source.read_bytes(), source.with_name("state.db-wal").read_bytes()
    everything = {each.provider_id for each in records} | {"new"}
    for at in [0, *offsets(len(content), 1999)]:
        path = tmp_path / str(at) / "state.db"
        path.parent.mkdir()
        path.write_bytes(content[:at])
        path.with_name("state.db-wal").write_bytes(wal)
        restarted = stores(path)
        saved = await restarted.open()
        await restarted.close()
        if restarted.damaged is None:
            assert set(saved.providers) == everything, at
        else:
            assert not saved.providers
            assert restarted.damaged.with_name(restarted.damaged.name + "-wal").read_bytes() == wal, at


async def test_bytes_overwritten_in_any_page_lose_nothing_in_silence(tmp_path, stores, whole):
    source, _ = whole
    content = source.read_bytes()
    for page in range(0, len(content), PAGE):
        path = tmp_path / str(page) / "state.db"
        path.parent.mkdir()
        broken = content[:page] + b"\xa5" * PAGE + content[page + PAGE :]
        path.write_bytes(broken)
        store = stores(path)
        await store.open()
        assert store.damaged is not None, page
        assert store.damaged.read_bytes() == broken
        await store.close()


async def test_report_says_what_was_wrong_and_where_it_is_kept(path, stores):
    path.write_text("upstreams: {}\n" * 1000)
    store = stores(path)
    await store.open()
    assert store.ok
    assert store.damaged is not None
    assert store.damage == (
        f"state {path} was damaged (file is not a database); it is kept as {store.damaged}, and the state begins empty"
    )


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (b"cooldown_by TEXT", b"cooldown_bX TEXT", "no such column: cooldown_by"),
        (b"CREATE TABLE stars", b"CREATE TABLE sta!s", "malformed database schema"),
        (b"[[1700000000000", b"[[170000000000}", "a row cannot be read: Expecting ',' delimiter"),
        (b"important", b"imp\xffrtant", "a row cannot be read: 'utf-8' codec can't decode"),
        (b"concurrency", b"con\x00urrency", "a row cannot be read: Invalid control character"),
    ],
)
async def test_bytes_changed_in_the_schema_or_a_row_are_damage(path, stores, before, after, why, reduced):
    store = stores(path)
    await store.open()
    await store.save_provider(reduced)
    await store.save_star("important", True)
    await store.close()
    content = path.read_bytes()
    assert content.count(before) == 1
    path.write_bytes(content.replace(before, after))
    store = stores(path)
    saved = await store.open()
    assert (dict(saved.providers), saved.stars) == ({}, frozenset())
    assert store.damage is not None
    assert why in store.damage
    assert await store.save_provider(reduced)


@pytest.mark.parametrize("change", ["evidence = '[[1, 2]]'", "\"limit\" = 'many'", "cooldown_s = x'00'"])
async def test_row_of_another_shape_is_damage(path, stores, change, reduced):
    store = stores(path)
    await store.open()
    await store.save_provider(reduced)
    await store.close()
    with sqlite3.connect(path) as other:
        other.execute(f"UPDATE providers SET {change}")
    other.close()
    store = stores(path)
    assert not (await store.open()).providers
    assert store.damage is not None
    assert "a row cannot be read" in store.damage


async def test_file_damaged_again_and_again_is_kept_each_time(path, stores):
    for number in range(3):
        path.write_bytes(b"%d is not a database" % number * 100)
        store = stores(path)
        await store.open()
        await store.close()
    kept = [each.read_bytes()[:1] for each in path.parent.glob("state.db.damaged-*")]
    assert sorted(kept) == [b"0", b"1", b"2"]


async def test_empty_file_is_new(path, stores, record):
    path.touch()
    store = stores(path)
    assert not (await store.open()).providers
    assert store.damaged is None
    assert await store.save_provider(record())
    assert asides(path.parent) == []


async def test_empty_file_beside_a_companion_is_damaged(path, stores):
    path.touch()
    path.with_name("state.db-wal").write_bytes(b"frames of a file that is gone")
    store = stores(path)
    await store.open()
    assert store.damaged is not None
    assert store.damaged.with_name(store.damaged.name + "-wal").read_bytes() == b"frames of a file that is gone"


async def test_missing_file_beside_a_companion_is_damaged_too(path, stores):
    path.with_name("state.db-wal").write_bytes(b"frames of a file that is gone")
    store = stores(path)
    await store.open()
    assert store.damaged is not None
