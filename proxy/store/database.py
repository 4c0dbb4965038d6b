# Opens the state file: sound, ours, migrated, and ready for durable writes; or sets it aside and begins a new one.
#
# Rule 1: a file is checked before anything is written to it, and loaded before anybody relies on it.
# Rule 2: an old file never becomes an empty one in silence: it is read, or refused, or set aside and reported.

import os
import sqlite3
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from proxy.errors import StoreError
from proxy.store.failure import DamagedFileError, is_damage, sentence
from proxy.store.file import companion, make, make_private, set_aside
from proxy.store.records import Saved
from proxy.store.rows import read_saved
from proxy.store.schema import migrate, refuse_foreign

BUSY_S = 5.0  # how long a lock of another process is waited for; a restart hands the file over within that

SMALLEST_PAGE = 512  # bytes; SQLite takes a file of 0 or 1 byte for a new one, and deletes the -wal beside it


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An open database, used from one thread only, and what it held. `damaged` and `damage` tell which file was set
    aside and why."""

    connection: sqlite3.Connection
    saved: Saved
    damaged: Path | None = None
    damage: str | None = None


def open_database(path: Path, now: datetime) -> Opened:
    """Opens or makes the state file; `now` (UTC) names a damaged one. Blocks. StoreError as `Store.open` says."""
    # SQLite follows symbolic links too, so a companion lies beside the real file, and that is what must be moved.
    place = Path(os.path.realpath(path))
    try:
        try:
            connection, saved = _open(place, now)
        except _SetAsideError as moved:
            connection, saved = _open(place, now)
            return Opened(connection=connection, saved=saved, damaged=moved.aside, damage=str(moved))
    except (OSError, sqlite3.Error) as error:
        raise StoreError(sentence(path, "opened", error)) from error
    return Opened(connection=connection, saved=saved)


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection of another thread to the same file, which only reads: writes go on meanwhile. sqlite3.Error."""
    place = Path(os.path.realpath(path))
    connection = sqlite3.connect(
        f"{place.as_uri()}?mode=ro", uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    connection.text_factory = bytes.decode
    return connection


class _SetAsideError(DamagedFileError):
    def __init__(self, path: Path, aside: Path, why: str) -> None:
        super().__init__(f"state {path} was damaged ({why}); it is kept as {aside}, and the state begins empty")
        self.aside = aside


def _open(place: Path, now: datetime) -> tuple[sqlite3.Connection, Saved]:
    make(place)
    with ExitStack() as undo:
        connection = sqlite3.connect(place, timeout=BUSY_S, isolation_level=None)
        undo.callback(connection.close)
        connection.text_factory = bytes.decode  # broken text is then a ValueError; by default it looks like bad luck
        try:
            saved = _check_and_load(connection, place)
        except DamagedFileError as damage:
            # Moved before it is closed: closing merges the companions into the file and deletes them.
            raise _SetAsideError(place, set_aside(place, now), str(damage)) from damage
        undo.pop_all()
    return connection, saved


def _check_and_load(connection: sqlite3.Connection, place: Path) -> Saved:
    try:
        _refuse_torn(connection, place)
        refuse_foreign(connection, place)
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise DamagedFileError(verdict)
        make_private(place)
        # A file system without shared memory keeps the old journal: slower, and no less durable.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # NORMAL may lose the last commits with the power
        migrate(connection)
        # What earlier runs left in the -wal goes into the file: losing a companion then costs only this run's writes.
        with suppress(sqlite3.OperationalError):  # a full disk: nothing is lost by leaving it there
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return read_saved(connection)
    except (ValueError, TypeError) as error:
        raise DamagedFileError(f"a row cannot be read: {error}") from error
    except sqlite3.Error as error:
        if is_damage(error):
            raise DamagedFileError(str(error)) from error
        raise


def _refuse_torn(connection: sqlite3.Connection, place: Path) -> None:
    """DamagedFileError for what SQLite itself would repair with zeros, or by deleting what is left."""
    size, wal = place.stat().st_size, companion(place, "-wal")
    if size < SMALLEST_PAGE and wal.exists() and wal.stat().st_size > 0:
        raise DamagedFileError(f"the file has {size} bytes, but its -wal is not empty")
    connection.execute("PRAGMA user_version")  # reads the header, and so the page size
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    if size % page_size:
        raise DamagedFileError(f"its size, {size}, is not a whole number of pages of {page_size}")
