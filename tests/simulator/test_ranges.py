"""What options say."""

import argparse
from collections.abc import Callable

import pytest

from .options import parser, setup
from .ranges import Range, counts, duration, durations, share


def test_ranges_are_read() -> None:
    assert durations("600ms-900ms") == Range(0.6, 0.9)
    assert durations("0-300ms") == Range(0.0, 0.3)
    assert durations("2s") == Range(2.0, 2.0)
    assert counts("0-2") == Range(0, 2)
    assert share("2%") == 0.02
    assert duration("1.5h") == 5400.0


@pytest.mark.parametrize(
    ("read", "text"),
    [(durations, "5"), (durations, "2s-1s"), (durations, "-1s"), (counts, "2-"[::-1]), (share, "2"), (share, "101%")],
)
def test_nonsense_is_refused(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        read(text)


def test_options_become_a_run() -> None:
    words = (
        "run --agents 8 --limit auto --real-limit 3 --cooldown auto --gate 1s --lag 1s --quota large=5 --models large,"
    )
    made = setup(parser().parse_args(words.split()), "proxy")
    assert (made.terms.limit, made.terms.lag_s, made.terms.quota) == (3, Range(1.0, 1.0), {"large": 5})
    assert (made.queueing.limit, made.queueing.learn_limit, made.queueing.learn_cooldown) == (None, True, True)
    assert (made.load.agents, made.load.models) == (8, ("large", ""))
