# The cache of installed programs: one folder for each set of packages with their versions, outside the checkout.
#
# Rule 1: installed once, under a lock: workers and runs beside each other wait for one another.
# Rule 2: a folder counts only once its stamp is in it; one that an install left half done is begun anew.
# Rule 3: what cannot be installed skips its tests and says why. It is tried again in a later run, not in this one.

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from clients.program import Npm, Pip

LIMIT_S = 600.0
REASON_LINES = 5
_VERSION = re.compile(r"(?<=.)(==|@)[^@=]+\Z")
NEWEST = "SLOTGATE_CLIENTS_NEWEST"  # set: the newest versions instead of the pinned ones


class NotInstalledError(Exception):
    """Why, in a line or a few."""


class Cache:
    """`run` names this run of the tests: what failed in it once is not tried again in it. `make` installs into an
    empty folder."""

    def __init__(self, folder: Path, run: str, make: Callable[[Path, Npm | Pip], None]) -> None:
        self._folder, self._run, self._make = folder, run, make

    def get(self, wanted: Npm | Pip) -> Path:
        """The folder with these packages."""
        newest = bool(os.environ.get(NEWEST))
        if newest:
            wanted = replace(wanted, packages=tuple(_VERSION.sub("", package) for package in wanted.packages))
        name = _name(wanted)
        folder, failed = self._folder / name, self._folder / f"{name}.failed"
        stamp = folder / "installed"
        with _locked(self._folder / f"{name}.lock"):
            if stamp.exists() and (not newest or stamp.read_text() == self._run):
                return folder
            if failed.exists() and (said := failed.read_text().split("\n", 1))[0] == self._run:
                raise NotInstalledError(said[1])
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            try:
                self._make(folder, wanted)
            except NotInstalledError as error:
                failed.write_text(f"{self._run}\n{error}")
                raise
            stamp.write_text(self._run)
        return folder


def cache_folder() -> Path:
    """Outside the checkout, so that it outlives it."""
    named = os.environ.get("SLOTGATE_CLIENTS")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slotgate-clients"


def _name(wanted: Npm | Pip) -> str:
    """For people by its first package, for us by all of it."""
    first = re.sub(r"[^A-Za-z0-9.]+", "-", wanted.packages[0]).strip("-")
    return f"{first}-{hashlib.sha256(repr(wanted).encode()).hexdigest()[:8]}"


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(folder: Path, wanted: Npm | Pip) -> None:
    """With npm, or with pip into a venv."""
    if isinstance(wanted, Npm):
        npm = shutil.which("npm")
        if npm is None or shutil.which("node") is None:
            raise NotInstalledError("node and npm are not there")
        quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
        _run([npm, "install", "--prefix", str(folder), *quiet, *wanted.packages])
        return
    python = _python(wanted.python)
    # Without pip in it, which would be most of a venv: ours installs into it.
    _run([python, "-m", "venv", "--without-pip", str(folder)])
    ours = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python"]
    # Most of what is installed is never imported: compiling it all takes longer than all else.
    _run([*ours, str(folder / "bin" / "python"), "install", "--no-compile", *wanted.packages])


def _python(least: str | None) -> str:
    if least is None:
        return sys.executable
    wanted = tuple(map(int, least.split(".")))
    if sys.version_info[:2] >= wanted:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(wanted[1], wanted[1] + 5)]
    found = [path for name in names if (path := shutil.which(name))]
    found += sorted(str(path) for name in names for path in Path.home().glob(f".pyenv/versions/*/bin/{name}"))
    for path in found:
        # A shim may stand for a version that is not there.
        if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    raise NotInstalledError(f"Python {least} is not there")


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"{Path(command[0]).name} took over {LIMIT_S:.0f} s") from None
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-REASON_LINES:]
        raise NotInstalledError("\n".join(last) or f"{Path(command[0]).name} ended with {done.returncode}")
