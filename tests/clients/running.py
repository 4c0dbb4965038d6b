# One run of a program: its folders, its process, its end.
#
# Rule 1: a clean environment: what this machine's user has set reaches no program.
# Rule 2: whatever a program leaves behind is ended with the run, daemons in sessions of their own too: they are known
#         by a variable that only this run's processes have.

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from clients.program import NOTES, Program, Workplace

LIMIT_S = 240.0  # for a whole run: the slowest starts in ten on a machine that does nothing else
_MARK = "SLOTGATE_CLIENTS_RUN"
_SHOWN = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A workplace and what belongs to it. `marker` is what the program has to find."""

    folder: Path
    workplace: Workplace
    marker: str

    @classmethod
    def make(cls, program: Program, installed: Path, base_url: str) -> "Place":
        # Not in pytest's folder: its long names leave no room for the sockets that some put below their home.
        folder = Path(tempfile.mkdtemp(prefix="sg-"))
        home, project, marker = folder / "home", folder / f"{program.name}-project", f"MARKER-{secrets.token_hex(6)}"
        for made in (home, project, folder / "tmp"):
            made.mkdir()
        (home / ".gitconfig").write_text("[user]\n name = Tester\n email = tester@example.com\n")
        (project / NOTES).write_text(f"Notes of a test.\nmarker: {marker}\n")
        for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Notes"]):
            subprocess.run(["git", *command], cwd=project, env={**os.environ, "HOME": str(home)}, check=True)
        key = f"sk-{program.name}-{secrets.token_hex(12)}"
        workplace = Workplace(installed=installed, home=home, project=project, base_url=base_url, key=key)
        return cls(folder=folder, workplace=workplace, marker=marker)

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Running:
    """A started program. `key` and `marker` tell its requests and its success."""

    def __init__(self, program: Program, place: Place, process: asyncio.subprocess.Process, mark: str) -> None:
        self.program, self.place = program, place
        self._process, self._mark = process, mark
        self._output = bytearray()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, program: Program, place: Place, prompt: str, *, resumes: bool = False) -> "Running":
        work, mark = place.workplace, secrets.token_hex(8)
        program.prepare(work)
        xdg = {"CONFIG": ".config", "CACHE": ".cache", "DATA": ".local/share", "STATE": ".local/state"}
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(work.home),
            **{f"XDG_{name}_HOME": str(work.home / path) for name, path in xdg.items()},
            "TMPDIR": str(place.folder / "tmp"),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            _MARK: mark,
            **program.environment(work),
        }
        command = program.resume if resumes else program.command
        assert command is not None
        process = await asyncio.create_subprocess_exec(
            *command(work, prompt),
            cwd=work.project,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        return cls(program, place, process, mark)

    @property
    def key(self) -> str:
        return self.place.workplace.key

    @property
    def output(self) -> str:
        return self._output.decode(errors="replace")

    @property
    def over(self) -> bool:
        return self._process.returncode is not None

    def __repr__(self) -> str:
        return f"<Running {self.program.name}, status {self._process.returncode}>\n{self.output[-_SHOWN:]}"

    async def ended(self, *, limit_s: float = LIMIT_S) -> int:
        """Its exit status."""
        try:
            async with asyncio.timeout(limit_s):
                return await self._process.wait()
        except TimeoutError:
            raise AssertionError(f"not over after {limit_s:.0f} s: {self!r}") from None

    async def succeeds(self, *, limit_s: float = LIMIT_S) -> None:
        """Waits for its end; it has found the marker."""
        status = await self.ended(limit_s=limit_s)
        assert status == 0, repr(self)
        async with asyncio.timeout(limit_s):
            while self.place.marker not in self.output:  # its last words may still be on their way
                assert not self._reading.done(), f"without the marker {self.place.marker}: {self!r}"
                await asyncio.sleep(0.01)

    def interrupt(self) -> None:
        """Ctrl-C in its terminal."""
        self._signal(signal.SIGINT)

    async def discard(self) -> None:
        """Makes sure that it is gone, and all that it started."""
        self._signal(signal.SIGKILL)
        for pid in _marked(self._mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await self._process.wait()
        await self._reading
        self.place.clear()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while more := await self._process.stdout.read(65536):
            self._output += more


def _marked(mark: str) -> list[int]:
    """The processes that have the mark in their environment."""
    wanted, found = f"{_MARK}={mark}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found
