# What a real client is to the tests: how it is installed, configured and started, and what is known of its habits.
#
# Rule 1: a program runs as its users run it. Nothing of it is patched; what it is given is configuration, a home of its
#         own and a project of its own.
# Rule 2: facts that a test holds it to (its patience, whether it names its conversation) stand here as data.

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"


class Dialect(StrEnum):
    """Whose API a program speaks."""

    ANTHROPIC = "anthropic"
    CHAT = "chat"
    RESPONSES = "responses"
    GEMINI = "gemini"


@dataclass(frozen=True, slots=True, kw_only=True)
class Npm:
    """Packages with their versions, `@scope/name@1.2.3`. Programs with the same packages share a folder."""

    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pip:
    """Packages with their versions, `name==1.2.3`. `python` is the least version that they need, as in `3.12`."""

    packages: tuple[str, ...]
    python: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """What one run is given; made fresh for each."""

    installed: Path  # the folder of the install: node_modules/.bin or bin below it
    home: Path  # HOME, and XDG_* below it; empty at first
    project: Path  # a git repository, in which the program is started; NOTES has the marker
    base_url: str  # "http://127.0.0.1:PORT/prefix", without /v1 and without a slash at the end
    key: str  # the API key; made up, and another for each run

    def bin(self, name: str) -> str:
        """A command of the install."""
        npm = self.installed / "node_modules" / ".bin" / name
        return str(npm if npm.exists() else self.installed / "bin" / name)

    def script(self, name: str) -> str:
        """A file of tests/clients/scripts, where it finds the packages of the install."""
        folder = self.home / "scripts"
        folder.mkdir(exist_ok=True)
        modules = folder / "node_modules"
        if (self.installed / "node_modules").exists() and not modules.exists():
            modules.symlink_to(self.installed / "node_modules")
        return str(shutil.copy(SCRIPTS / name, folder / name))

    def write(self, path: str, text: str) -> Path:
        """A file below the home, with the folders that lead to it."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


NOTES = "notes.txt"
Tool = tuple[str, Mapping[str, object]]


def script_tool(_: Workplace) -> Tool:
    """The tool that the scripts define."""
    return "read_file", {"path": NOTES}


def prepared_by_nothing(_: Workplace) -> None:
    """For programs that need no configuration file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    name: str
    install: Npm | Pip
    dialect: Dialect
    # What the model asks for first: a tool of the program's own with its arguments, that reads NOTES; or a text, for a
    # program without tools that goes on by itself after it.
    tool: Callable[[Workplace], Tool | str] = script_tool
    finish: Callable[[str], Tool] | None = None  # for a program that ends by a tool alone: the last text → that tool
    prepare: Callable[[Workplace], None] = prepared_by_nothing  # writes its configuration
    command: Callable[[Workplace, str], list[str]]  # for one prompt, unattended, tools approved
    resume: Callable[[Workplace, str], list[str]] | None = None  # for one more prompt in the session before
    delegate: Callable[[str], Tool] | None = None  # a task → the tool that gives it to a sub-agent and waits for it
    environment: Callable[[Workplace], Mapping[str, str]]  # on top of PATH, HOME, XDG_*, TERM and LANG
    header_limit_s: float | None  # it gives up on silence after this, by its default settings
    keepalive: bool  # whether the proxy's 102 carries it beyond
    conversation: str  # "id": it names its conversation; "fp": it is known by a fingerprint
    fast: bool = False  # belongs to the few that every run of the tests includes
    websocket: bool = False  # asks over a WebSocket

    def __repr__(self) -> str:
        return f"<Program {self.name}>"
