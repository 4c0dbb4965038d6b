# How one value stands in the file: what it may be, how it is read, how it is shown again.
#
# Rule 1: `read` reports everything that is wrong with the value and then returns BAD; it never guesses.
# Rule 2: what `show` gives, `read` takes back, but for a Secret, which only the comparing of two files sees.
# Rule 3: BAD goes in where the YAML itself was refused: it was reported there and is passed on; only what may stand
#         there is said anew.

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from .report import Path, Report

BAD = object()
SKIP = object()  # shown by a field that adds nothing to its key


class Secret(str):
    """A shown value that people must not see; `masked` is what they get instead."""

    __slots__ = ("masked",)
    masked: str

    def __new__(cls, text: str, masked: str = "***") -> "Secret":
        made = super().__new__(cls, text)
        made.masked = masked
        return made


class Form(Protocol):
    """One way to write a value. `allowed` is the phrase that an error names."""

    @property
    def allowed(self) -> str: ...

    def read(self, value: object, at: Path, report: Report) -> Any: ...

    def show(self, value: Any) -> object: ...


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value: `parse` returns it or raises ValueError with the reason, which may be empty. A hidden one is
    not shown, even when it is wrong."""

    allowed: str
    parse: Callable[[object], Any]
    show: Callable[[Any], object] = lambda value: value
    hidden: bool = False

    def read(self, value: object, at: Path, report: Report) -> Any:
        if value is BAD:
            report.narrow(at, self.allowed)
            return BAD
        try:
            return self.parse(value)
        except ValueError as error:
            if self.hidden:
                report.add(at, "found a value that is not shown", f"allowed: {self.allowed}")
            else:
                report.wrong(at, value, self.allowed, str(error))
            return BAD


@dataclass(frozen=True, slots=True)
class Maybe:
    """A form or null; `meaning` says what null stands for."""

    form: Form
    meaning: str

    @property
    def allowed(self) -> str:
        return f"{self.form.allowed}, or null for {self.meaning}"

    def read(self, value: object, at: Path, report: Report) -> Any:
        if value is None:
            return None
        form = replace(self.form, allowed=self.allowed) if isinstance(self.form, Leaf) else self.form
        return form.read(value, at, report)

    def show(self, value: Any) -> object:
        return None if value is None else self.form.show(value)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of values of one form, as a tuple or what else `make` gives. With `bare`, one value needs no list."""

    form: Leaf
    bare: bool = False
    make: Callable[[list[Any]], Any] = tuple

    @property
    def allowed(self) -> str:
        one = self.form.allowed
        return f"{one}, or a list of them" if self.bare else f"a list like [a, b], each item {one}"

    def read(self, value: object, at: Path, report: Report) -> Any:
        if value is BAD:
            report.narrow(at, self.allowed)
            return BAD
        if self.bare and not isinstance(value, list):
            one = replace(self.form, allowed=self.allowed).read(value, at, report)
            return BAD if one is BAD else self.make([one])
        if not isinstance(value, list):
            report.wrong(at, value, self.allowed)
            return BAD
        items = [self.form.read(item, (*at, index), report) for index, item in enumerate(value)]
        return BAD if any(item is BAD for item in items) else self.make(items)

    def show(self, value: Any) -> object:
        items = [self.form.show(item) for item in (sorted(value) if isinstance(value, frozenset) else value)]
        return items[0] if self.bare and len(items) == 1 else items


@dataclass(frozen=True, slots=True)
class WordOrList:
    """One of a few words, or a list."""

    words: Leaf
    items: ListOf

    @property
    def allowed(self) -> str:
        return f"{self.words.allowed}, or {self.items.allowed}"

    def read(self, value: object, at: Path, report: Report) -> Any:
        if isinstance(value, list):
            return self.items.read(value, at, report)
        return replace(self.words, allowed=self.allowed).read(value, at, report)

    def show(self, value: Any) -> object:
        return value if isinstance(value, str) else self.items.show(value)


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping of free names to values, both with a form of their own; null is the empty mapping."""

    name: Leaf
    value: Leaf

    @property
    def allowed(self) -> str:
        return f"a mapping of {self.name.allowed} to {self.value.allowed}"

    def read(self, value: object, at: Path, report: Report) -> Any:
        if value is None:
            return {}
        if value is BAD:
            report.narrow(at, self.allowed)
            return BAD
        if not isinstance(value, dict):
            if self.value.hidden and not isinstance(value, list):
                report.add(at, "found a value that is not shown", f"allowed: {self.allowed}")
            else:
                report.wrong(at, value, self.allowed)
            return BAD
        read = {
            self._named(name, at, report): self.value.read(item, (*at, name), report) for name, item in value.items()
        }
        if any(part is BAD for pair in read.items() for part in pair):
            return BAD
        if len(read) < len(value):
            report.add(at, "found a name twice, in different spellings", f"allowed: each of {', '.join(read)} once")
        return read

    def _named(self, name: str, at: Path, report: Report) -> Any:
        """A name beside a hidden value is hidden where it is wrong: a colon at the wrong place puts the value there."""
        if not self.value.hidden:
            return self.name.read(name, (*at, name), report)
        try:
            return self.name.parse(name)
        except ValueError:
            _, line = report.places.get((*at, name), ("", None))
            report.add(at, "found a name that is not shown", f"allowed: {self.name.allowed}", line=line)
            return BAD

    def show(self, value: Any) -> object:
        return {name: self.value.show(item) for name, item in value.items()}
