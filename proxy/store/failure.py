# Why a state file could not be used, in words, with what to do about it.
#
# Rule: damage and bad luck are told apart by the database's own result code. Only damage moves a file; a full disk, a
# lock or missing rights never do.

import errno
import sqlite3
from pathlib import Path

from proxy.errors import StoreError

_ACCESS = "let the user that runs slotgate write the file and its directory, or set `state` to another path"
_SPACE = "free some space there, or set `state` to another path"
_LOCKED = "another program holds it; end that one"
_ELSE = "look after the disk, or set `state` to another path or to memory"

_BY_ERRNO = {
    errno.EACCES: _ACCESS,
    errno.EPERM: _ACCESS,
    errno.EROFS: _ACCESS,
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
}
_BY_SQLITE = {
    sqlite3.SQLITE_PERM: _ACCESS,
    sqlite3.SQLITE_READONLY: _ACCESS,
    sqlite3.SQLITE_CANTOPEN: _ACCESS,
    sqlite3.SQLITE_FULL: _SPACE,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
}


class DamagedFileError(StoreError):
    """The file is not a database, or not a whole one."""


def is_damage(error: sqlite3.Error) -> bool:
    """True for an error at the opening that the file's own bytes are the cause of. SQLITE_ERROR is one: our statements
    are always the same, so "no such column" means that the schema is not what was written."""
    return _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def is_passing(error: sqlite3.Error) -> bool:
    """True if the same write may work later: it was not the value's fault, nor damage."""
    return isinstance(error, sqlite3.OperationalError)


def sentence(path: Path, doing: str, error: Exception) -> str:
    """`state /x/state.db cannot be written: database or disk is full; free some space there, or …`"""
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if isinstance(error, OSError) and error.filename is not None and str(error.filename) != str(path):
        why = f"{why} ({error.filename})"
    return f"state {path} cannot be {doing}: {why}; {_advice(error)}"


def _advice(error: Exception) -> str:
    if isinstance(error, OSError):
        return _BY_ERRNO.get(error.errno or 0, _ELSE)
    if isinstance(error, sqlite3.Error):
        return _BY_SQLITE.get(_primary_code(error), _ELSE)
    return "this value cannot be stored"


def _primary_code(error: sqlite3.Error) -> int:
    # Errors that the module raises by itself have no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
