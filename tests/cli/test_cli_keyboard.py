# Bytes of a terminal become keys, in whatever pieces they come.

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.cli.live.keyboard import Keyboard


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (b"jk", ["j", "k"]),
        (b"\x1b[A\x1b[B", ["up", "down"]),
        (b"\x1bOA\x1bOB", ["up", "down"]),  # application mode
        (b"\x1b[5~\x1b[6~\x1b[H\x1b[F", ["page up", "page down", "home", "end"]),
        (b"\x03\x04\r", ["ctrl-c", "ctrl-d", "enter"]),
        (b"\x1b[24~q", ["q"]),  # a key that has no name here is swallowed whole
        (b"\x1b[1;5Aq", ["q"]),
        (b"\x1bxq", ["q"]),  # with alt
        ("äq".encode(), ["q"]),
        (b"+-=?", ["+", "-", "=", "?"]),
    ],
)
def test_each_key_has_its_name(typed: bytes, keys: list[str]) -> None:
    assert Keyboard().feed(typed) == keys


def test_escape_is_a_key_only_when_nothing_follows() -> None:
    keyboard = Keyboard()
    assert keyboard.feed(b"\x1b") == []
    assert keyboard.pending
    assert keyboard.settle() == ["escape"]
    assert not keyboard.pending
    assert keyboard.settle() == []
    assert keyboard.feed(b"\x1b[") == []
    assert keyboard.settle() == []  # half a sequence is no key


@settings(deadline=None)
@given(st.binary(max_size=30), st.integers(0, 30))
def test_pieces_make_no_difference(typed: bytes, cut: int) -> None:
    keyboard = Keyboard()
    assert keyboard.feed(typed[:cut]) + keyboard.feed(typed[cut:]) == Keyboard().feed(typed)
