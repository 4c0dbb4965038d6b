# Whatever a file holds, the answer is settings or ConfigErrors, never another exception.

from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.config import Settings, effective, load
from proxy.errors import ConfigErrors

HOME = {"HOME": "/home/somebody"}
EXAMPLE = yaml.safe_load((Path(__file__).parents[2] / "config" / "slotgate.yaml").read_text())

TEXTS = ("", "x", "off", "${X}", "5", "1s", "/", "~", "http://[", "a:b", "\0", "é" * 200)
BLOCKS: tuple[object, ...] = ([], [None], [[]], ["x", "x"], {}, {"x": None}, {"url": {}}, {"": ""})
ODD = st.sampled_from([None, True, False, 0, -1, 1.5, 10**17, *TEXTS, *BLOCKS])


def outcome(text: str) -> Settings | ConfigErrors:
    try:
        return load(Path("f"), env=HOME, text=text)
    except ConfigErrors as error:
        return error


def paths(value: object, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, item in below for path in paths(item, (*at, key)))]


def with_value(value: Any, at: tuple[Any, ...], odd: object) -> Any:
    if not at:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = with_value(value[at[0]], at[1:], odd)
    return copy


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    result = outcome(text)
    assert isinstance(result, Settings) or result.problems


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(paths(EXAMPLE)), ODD)
def test_any_value_anywhere_is_read_or_refused_in_its_place(at: tuple[Any, ...], odd: object) -> None:
    result = outcome(yaml.safe_dump(with_value(EXAMPLE, at, odd)))
    if isinstance(result, Settings):
        effective(result)
    else:
        top = str(at[0]) if at else ""
        assert all(problem.path.startswith((top, "admin.listen", "default_upstream")) for problem in result.problems)
