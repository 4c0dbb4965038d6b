# Text of others on a terminal: what may not get there, and how wide the rest is.

import pytest
import wcwidth
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from proxy.cli.text import fit, folded, printable, steady


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jx", "\\x1b[2Jx"),
        ("a\rb\n\x07", "a\\rb\\n\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("user\u202egnp.exe", "user\\u202egnp.exe"),  # would turn the rest of the line round
        ("a\u200bb", "a\\u200bb"),
        ("\u3164", "\\u3164"),  # is nothing to see
        ("\ud800", "\\ud800"),
        ("日本 é 👍", "日本 é 👍"),
    ],
)
def test_what_would_steer_a_terminal_or_hide_is_shown_as_python_writes_it(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("❤\ufe0f", "❤"),
        ("👍\U0001f3fd", "👍"),
        ("\U0001f1e9\U0001f1ea", "DE"),
        ("a" + "\u0301" * 50, "a\u0301\u0301"),
        ("\x1b", "\\x1b"),
    ],
)
def test_in_a_column_nothing_stays_about_whose_width_terminals_disagree(text: str, shown: str) -> None:
    assert steady(text) == shown


@settings(deadline=None)
@given(st.text())
def test_a_column_is_as_wide_on_a_terminal_as_it_was_made(text: str) -> None:
    shown = steady(text)
    assert cell_len(shown) == sum(wcwidth.wcwidth(char) for char in shown)
    assert all(wcwidth.wcwidth(char) >= 0 for char in shown)


@settings(deadline=None)
@given(st.text(), st.integers(0, 30))
def test_fitted_text_has_just_so_many_cells(text: str, width: int) -> None:
    assert cell_len(fit(steady(text), width)) == width
    assert cell_len(fit(steady(text), width, right=True)) == width


def test_what_does_not_fit_is_cut_off_visibly() -> None:
    assert fit("workspace", 5) == "work…"
    assert fit("日本語です", 6) == "日本 …"
    assert fit("ab", 4, right=True) == "  ab"


@settings(deadline=None)
@given(st.text(), st.integers(2, 30))
def test_folded_lines_are_no_wider_than_they_may_be(text: str, width: int) -> None:
    assert all(cell_len(line) <= width for line in folded(steady(text), width))


def test_lines_are_folded_between_words_and_lose_none() -> None:
    assert folded("one goes ahead alone", 10) == ["one goes", "ahead", "alone"]
    assert folded("", 10) == [""]
    assert folded("abcdefghijkl", 5) == ["abcde", "fghij", "kl"]
