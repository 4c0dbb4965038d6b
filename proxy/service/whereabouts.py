# The project that a process works on, by the folder it is in (Linux).
#
# Rule 1: blocking, and nothing raises.
# Rule 2: no name is better than a wrong one. A daemon serves whoever comes, wherever it was started: Codex and Cline
#         leave such ones behind (docs/clients.md), and what init or a service manager has in its care is one, too.
# Rule 3: of a process its arguments, its parents and its folder are looked at; never its environment, which has keys.

import os
import pwd
from pathlib import PurePosixPath

from proxy.wire.peer import PROC

NAME_CHARACTERS = 128  # as in a URL or a header
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"  # Unicode has them as letters and a symbol, but nothing is seen of them
_INIT = 1
_MANAGER = "systemd"  # also a user's own, which takes over what has lost its parent


def project_of(pid: int) -> str | None:
    """The name of the repository that the process is in, else of its folder; None where that says nothing."""
    try:
        if _is_daemon(pid):
            return None
        folder = PurePosixPath(os.readlink(f"{PROC}/{pid}/cwd"))
        home = _home(pid)
        root = f"{PROC}/{pid}/root"  # what it sees, also in a container
        if not os.path.samestat(os.stat(f"{PROC}/{pid}/cwd"), os.stat(f"{root}{folder}")):  # removed under it
            return None
        inside = [each for each in (folder, *folder.parents) if not home.is_relative_to(each)]
        repository = next((each for each in inside if os.path.lexists(f"{root}{each}/.git")), None)
    except (OSError, ValueError, KeyError, IndexError):
        return None
    return _name(repository or inside[0]) if inside else None


def _is_daemon(pid: int) -> bool:
    arguments = _read(pid, "cmdline").split("\0")
    if "--cline-hub-daemon" in arguments:
        return True
    if "app-server" in arguments and any("codex" in argument for argument in arguments):
        return True
    parent, session, terminal = _kinship(pid)
    if terminal or not parent:
        return False
    if parent != _INIT and _read(parent, "comm").strip() != _MANAGER:
        return False
    return _kinship(parent)[1] != session  # in a container init may be the script that has started it


def _kinship(pid: int) -> tuple[int, int, int]:
    """Parent, session and terminal (0: none), by proc_pid_stat(5); the name in front of them may have blanks."""
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]), int(fields[3]), int(fields[4])


def _home(pid: int) -> PurePosixPath:
    return PurePosixPath(pwd.getpwuid(os.stat(f"{PROC}/{pid}").st_uid).pw_dir)


def _read(pid: int, name: str) -> str:
    with open(f"{PROC}/{pid}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read()


def _name(folder: PurePosixPath) -> str | None:
    name = folder.name.strip()
    if not name.strip(_BLANKS):
        return None
    return name if name.isprintable() and 1 <= len(name) <= NAME_CHARACTERS else None
