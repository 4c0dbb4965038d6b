# Between a mapping of the file and a frozen dataclass: the fields of the class are the keys of the mapping.
#
# Rule 1: a key is declared once, as a field: its form, its default and its place in the class.
# Rule 2: a key that cannot be read leaves its default, so that the rest is still looked at.

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any

from .forms import BAD, SKIP, Form
from .report import Path, Report

Found = tuple[str, str, str]  # the key, what was found, what is allowed
Check = Callable[[Any], Iterable[Found]]


def key(
    form: Form, *, default: Any = MISSING, factory: Any = MISSING, name: str | None = None, hidden: bool = False
) -> Any:
    """A field that the file may set under `name` (its own name where none is given); without a default or a factory
    for one it must. A hidden one stays out of the repr. Two fields may read the same key; SKIP keeps one of them from
    showing it."""
    made: Any = field(default=default, default_factory=factory, repr=not hidden, metadata={"form": form, "key": name})
    return made


def keys_of(cls: type) -> tuple[str, ...]:
    """The file's names of the class's keys, in order."""
    return tuple(dict.fromkeys(_name(each) for each in _keyed(cls)))


@dataclass(frozen=True, slots=True)
class Block:
    """The form of a mapping. Keys in `others` are known but read elsewhere. `check` gives what is wrong with values
    that are right each by itself and wrong together."""

    cls: type
    others: tuple[str, ...] = ()
    check: Check = lambda made: ()

    @property
    def allowed(self) -> str:
        return f"a mapping with the keys {', '.join([*keys_of(self.cls), *self.others])}"

    def read(self, value: object, at: Path, report: Report, **given: object) -> Any:
        """The class's instance; `given` are its fields that are no keys."""
        if value is BAD:
            report.narrow(at, self.allowed)
            return BAD
        if value is None:
            value = {}
        if not isinstance(value, dict):
            report.wrong(at, value, self.allowed)
            return BAD
        known = (*keys_of(self.cls), *self.others)
        for name in value:
            if name not in known:
                report.unknown((*at, name), known)
        before = len(report.problems)
        read = self._fields(value, at, report)
        if read is None:
            return BAD
        made = self.cls(**given, **read)
        if len(report.problems) == before:
            for name, found, allowed in self.check(made):
                report.add((*at, name), found, allowed)
        return made

    def _fields(self, value: dict[str, object], at: Path, report: Report) -> dict[str, object] | None:
        """What the fields get; None when one that needs a value got none."""
        read: dict[str, object] = {}
        for each in _keyed(self.cls):
            name, form = _name(each), each.metadata["form"]
            if name in value:
                read[each.name] = form.read(value[name], (*at, name), report)
            elif _needed(each):
                report.add((*at, name), "found nothing", f"allowed: {form.allowed}")
                read[each.name] = BAD
        bad = [each for each in _keyed(self.cls) if read.get(each.name) is BAD]
        if any(_needed(each) for each in bad):
            return None
        return {name: item for name, item in read.items() if item is not BAD}

    def show(self, made: Any) -> dict[str, object]:
        """The mapping that reads back to the same."""
        shown = {}
        for each in _keyed(self.cls):
            value = each.metadata["form"].show(getattr(made, each.name))
            if value is not SKIP:
                shown[_name(each)] = value
        return shown


def _keyed(cls: Any) -> list[Field[Any]]:
    return [each for each in fields(cls) if "form" in each.metadata]


def _name(each: Field[Any]) -> str:
    return each.metadata["key"] or each.name


def _needed(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING
