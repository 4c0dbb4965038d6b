# The state file and its companions on the disk: made private, moved aside when damaged.
#
# Rule 1: only the owner may read them; SQLite gives a companion that it makes the mode of the file.
# Rule 2: what is set aside keeps every byte and never replaces anything.

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from proxy.errors import StoreError

COMPANIONS = ("-wal", "-shm", "-journal")
PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700


def companion(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def make(path: Path) -> None:
    """Makes the file, and missing directories above it, if it is not there. OSError: it cannot be made, or not be
    written; StoreError: it is something else than a file."""
    if path.exists() and not path.is_file():
        raise StoreError(f"state {path} is not a regular file; set `state` to the path of one, or to memory")
    for directory in reversed(path.parents):
        directory.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE))


def make_private(path: Path) -> None:
    """Takes everybody else's access to the file and its companions away, where that is possible."""
    for each in (path, *(companion(path, suffix) for suffix in COMPANIONS)):
        # Not ours to change (a shared volume, a file system without modes): no reason to refuse the service.
        with suppress(FileNotFoundError, PermissionError):
            if each.stat().st_mode & 0o777 != PRIVATE_FILE:
                each.chmod(PRIVATE_FILE)


def set_aside(path: Path, now: datetime) -> Path:
    """Moves the file and its companions to a new name beside it, under which SQLite still finds them together."""
    stamp = f"damaged-{now:%Y%m%dT%H%M%SZ}"
    aside = _reserve(path, stamp)
    path.rename(aside)
    for suffix in COMPANIONS:
        with suppress(FileNotFoundError):
            companion(path, suffix).rename(companion(aside, suffix))
    return aside


def _reserve(path: Path, stamp: str) -> Path:
    """A name that nobody had, taken by an empty file: a rename replaces what is there without asking."""
    attempt = 1
    while True:
        name = f"{path.name}.{stamp}" if attempt == 1 else f"{path.name}.{stamp}-{attempt}"
        try:
            os.close(os.open(path.with_name(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))
        except FileExistsError:
            attempt += 1
        else:
            return path.with_name(name)
