# What is wrong with a configuration, collected while it is read, and where each key stands.
#
# Rule 1: reading goes on after a problem, so that everything is reported at once.
# Rule 2: no problem shows a secret: values from the environment stay `${NAME}`, credentials in URLs are masked.

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import replace

from proxy.errors import ConfigErrors, Problem

Path = tuple[str | int, ...]

COMMAND_LINE = "command line"
_QUERY = re.compile(r"(//[^?]*)\?.+", re.DOTALL)  # may hold a key
_SHOWN = 80  # characters of a wrong value that are shown


class FromEnv(str):
    """A string into which environment variables were put; `written` is how it stands in the file."""

    __slots__ = ("written",)
    written: str

    def __new__(cls, text: str, written: str) -> "FromEnv":
        made = super().__new__(cls, text)
        made.written = written
        return made


class Report:
    """The problems so far. `places` maps a key's path to its file and line; a key without a place has its parent's."""

    def __init__(self, file: str) -> None:
        self.problems: list[Problem] = []
        self.places: dict[Path, tuple[str, int | None]] = {(): (file, None)}
        self._bent: dict[Path, int] = {}  # keys whose value YAML has bent, with the number of their problem

    def add(self, at: Path, found: str, allowed: str, *, line: int | None = None) -> None:
        """One problem; its line is the key's, unless it is known better."""
        known = at
        while known not in self.places:
            known = known[:-1]
        file, key_line = self.places[known]
        line = key_line if line is None else line
        self.problems.append(Problem(file=file, line=line, path=dotted(at), found=found, allowed=allowed))

    def bent(self, at: Path, found: str, allowed: str) -> None:
        """A value that YAML makes something else of; what may stand there is told better by `narrow`."""
        self._bent[at] = len(self.problems)
        self.add(at, found, allowed)

    def narrow(self, at: Path, allowed: str) -> None:
        """Say what is allowed at a key with a bent value, now that it is known which key it is."""
        number = self._bent.pop(at, None)
        if number is not None:
            self.problems[number] = replace(self.problems[number], allowed=f"allowed: {allowed}")

    def clean(self, *paths: Path) -> bool:
        """Whether nothing was found wrong at these keys or below them."""
        bad = [problem.path for problem in self.problems]
        return not any(
            path == dotted(at) or path.startswith((f"{dotted(at)}.", f"{dotted(at)}[")) for at in paths for path in bad
        )

    def wrong(self, at: Path, value: object, allowed: str, why: str = "") -> None:
        """A value that cannot stand here."""
        self.add(at, f"found {described(value)}" + (f" ({why})" if why else ""), f"allowed: {allowed}")

    def unknown(self, at: Path, known: Iterable[str]) -> None:
        """A key that nobody reads."""
        names = sorted(known)
        self.add(at, "found an unknown key", f"{nearest(str(at[-1]), names)}known here: {', '.join(names)}")

    def raise_if_any(self) -> None:
        """ConfigErrors with every problem, in the order of the file."""
        if self.problems:
            raise ConfigErrors(sorted(self.problems, key=lambda problem: (problem.file, problem.line or 0)))


def dotted(at: Path) -> str:
    """`upstreams.umans.limit`, `listen[1]`."""
    at = tuple(part if isinstance(part, int) or part.isprintable() else json.dumps(part) for part in at)
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at).removeprefix(".")


def nearest(word: str, known: Iterable[str]) -> str:
    """A question with the known word that is closest, or nothing when none is close."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f'did you mean "{close[0]}"? ' if close else ""


def without_credentials(text: str) -> str:
    """The URL, or what was meant to be one, with user, password and query masked."""
    # All before the last @, whatever else is wrong there: a scheme that is missing, a space in a password.
    scheme, slashes, rest = text.partition("//")
    if not scheme.endswith(":"):
        scheme, slashes, rest = "", "", text
    masked = f"***@{rest.rpartition('@')[2]}" if "@" in rest else rest
    return _QUERY.sub(r"\1?***", f"{scheme}{slashes}{masked}")


def described(value: object) -> str:
    """A wrong value as a person may see it."""
    match value:
        case FromEnv():
            return f"{json.dumps(without_credentials(value.written))} (its value is not shown)"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            text = without_credentials(value)
            return json.dumps(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…", ensure_ascii=False)
        case _:
            return json.dumps(value)
