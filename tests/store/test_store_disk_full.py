# A disk that takes no more: the answer is False, the file stays whole, and it goes on when there is room again.

import os
import resource
import subprocess
from contextlib import contextmanager

import pytest

from proxy.errors import StoreError


@contextmanager
def largest_file(size: int):
    """Every file of this process ends at `size`; a write beyond fails as one to a broken or full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small disk takes root")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


async def test_write_that_fails_is_false_then_stored_when_writing_works_again(path, stores, record):
    store = stores(path)
    await store.open()
    assert await store.save_provider(record(limit=1))
    with largest_file(path.with_name("state.db-wal").stat().st_size):
        assert not await store.save_provider(record(limit=2))
        assert not store.ok
        assert store.error is not None
        assert f"state {path} cannot be written: " in store.error
        assert (await stores(path).open()).providers["api.example.com"].limit == 1
    assert await store.save_star("w", True)
    assert store.ok
    await store.close()
    saved = await stores(path).open()
    assert (saved.providers["api.example.com"].limit, saved.stars) == (2, {"w"})


async def test_full_disk_loses_nothing_that_was_acknowledged(small_disk, stores, record, event):
    path = small_disk / "state.db"
    store = stores(path)
    await store.open()
    batch = [event(1_700_000_000_000, text="x" * 1000) for _ in range(10)]
    appended = 0
    while await store.append_events(batch):
        appended += 1
    assert store.error == (
        f"state {path} cannot be written: database or disk is full; "
        "free some space there, or set `state` to another path"
    )
    limit = 1
    while await store.save_provider(record(limit=limit)):  # a small change may still find room
        limit += 1
    assert len(await store.history(0)) == 10 * appended
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    assert await store.save_star("w", True)
    await store.close()
    store = stores(path)
    saved = await store.open()
    assert store.damaged is None
    assert (saved.providers["api.example.com"].limit, saved.stars) == (limit, {"w"})
    assert len(await store.history(0)) == 10 * appended
    await store.close()


async def test_start_on_a_full_disk_is_refused_with_advice(small_disk, stores):
    (small_disk / "filler").write_bytes(b"x" * 250 * 1024)
    with pytest.raises(StoreError, match=r"cannot be opened: .*free some space there"):
        await stores(small_disk / "state.db").open()
