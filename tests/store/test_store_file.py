# Who may read the state, and what happens where it cannot be made.

import os
import sqlite3
import stat
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proxy.errors import StoreError
from proxy.store.file import set_aside

NOBODY = 65534


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def loose_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def public_directory():
    """A directory that everybody may enter: pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory
        directory.chmod(0o755)


@contextmanager
def unprivileged():
    """Root may write anywhere; nobody may not."""
    euid = os.geteuid()
    if euid == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(euid)


@pytest.mark.usefixtures("loose_umask")
async def test_only_the_owner_may_read_the_file_and_its_companions(path, stores, record):
    store = stores(path)
    await store.open()
    await store.save_provider(record())
    found = {each.name: mode(each) for each in path.parent.iterdir()}
    assert found == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}


@pytest.mark.usefixtures("loose_umask")
async def test_directories_made_for_it_are_private_and_others_stay_as_they_are(tmp_path, stores):
    tmp_path.chmod(0o755)
    await stores(tmp_path / "a" / "b" / "state.db").open()
    assert [mode(each) for each in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")] == [0o755, 0o700, 0o700]


async def test_access_of_others_is_taken_away_from_an_older_file(path, stores, record):
    store = stores(path)
    await store.open()
    await store.save_provider(record())
    await store.close()
    path.chmod(0o644)
    store = stores(path)
    assert set((await store.open()).providers) == {"api.example.com"}
    await store.save_star("w", True)
    assert {mode(each) for each in path.parent.iterdir()} == {0o600}


async def test_symbolic_link_keeps_pointing_at_the_state(tmp_path, stores):
    real, link = tmp_path / "real", tmp_path / "state.db"
    real.mkdir()
    (real / "s.db").write_bytes(b"not a database, by far" * 100)
    link.symlink_to(real / "s.db")
    store = stores(link)
    await store.open()
    assert link.is_symlink()
    assert store.damaged is not None
    assert store.damaged.parent == real


async def test_directory_without_write_access_is_refused_with_advice(public_directory, stores):
    target = public_directory / "state.db"
    public_directory.chmod(0o555)
    with unprivileged(), pytest.raises(StoreError) as refusal:
        await stores(target).open()
    assert str(refusal.value) == (
        f"state {target} cannot be opened: Permission denied; let the user that runs slotgate write the file and its "
        "directory, or set `state` to another path"
    )


async def test_file_without_write_access_is_refused_and_stays_as_it_is(public_directory, stores):
    target = public_directory / "state.db"
    first = stores(target)
    await first.open()
    await first.save_star("w", True)
    await first.close()
    target.chmod(0o444)
    before = target.read_bytes()
    with unprivileged(), pytest.raises(StoreError, match="Permission denied"):
        await stores(target).open()
    assert target.read_bytes() == before
    assert [each.name for each in public_directory.iterdir()] == ["state.db"]


async def test_path_below_a_file_is_refused(tmp_path, stores):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be opened: .*file\)"):
        await stores(tmp_path / "file" / "state.db").open()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
async def test_other_things_than_a_file_are_refused(path, stores, make):
    make(path)
    before = path.stat()
    with pytest.raises(
        StoreError, match=r"state\.db is not a regular file; set `state` to the path of one, or to memory"
    ):
        await stores(path).open()
    assert path.stat() == before


async def test_locked_file_is_refused_not_set_aside(path, stores, monkeypatch):
    monkeypatch.setattr("proxy.store.database.BUSY_S", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("CREATE TABLE t (x)")
    with pytest.raises(StoreError, match="database is locked; another program holds it"):
        await stores(path).open()
    other.close()
    assert [each.name for each in path.parent.iterdir()] == ["state.db"]


def test_set_aside_keeps_every_companion_and_never_replaces_anything(path):
    now = datetime(2026, 5, 9, 7, 35, 25, tzinfo=UTC)
    asides = []
    for content in (b"first", b"second", b"third"):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).write_bytes(content + suffix.encode())
        asides.append(set_aside(path, now))
    first = "state.db.damaged-20260509T073525Z"
    assert [each.name for each in asides] == [first, f"{first}-2", f"{first}-3"]
    for aside, content in zip(asides, (b"first", b"second", b"third"), strict=True):
        for suffix in ("", "-wal", "-shm"):
            assert aside.with_name(aside.name + suffix).read_bytes() == content + suffix.encode()
    assert len(list(path.parent.iterdir())) == 9
