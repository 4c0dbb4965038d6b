# What is counted is what Python executes, and what is told of it is right.

import os
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from .figures import Figures, cheaper, figures, grown
from .meter import Counts, Meter

HERE = __name__


def figures_of(opcodes: float = 1000, calls: float = 100, writes: float = 4, **functions: float) -> Figures:
    return Figures(opcodes=opcodes, calls=calls, writes=writes, functions=functions)


# --- the meter ---


def nothing() -> None:
    return None


def looped(times: int) -> int:
    total = 0
    for _ in range(times):
        total += len("four")
    return total


def counted(*work: Callable[[], object]) -> Counts:
    """What `work` costs, each of them in a counted thread. Done twice: 3.13 tells only of functions that it has traced
    before."""
    meter = Meter()
    before = sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile()
    try:
        meter.install()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    try:
        for _ in range(2):
            with meter.unit() as counts:
                for target in work:
                    thread = threading.Thread(target=target)
                    thread.start()
                    thread.join()
    finally:
        threading.settrace(before[2])
        threading.setprofile(before[3])
    return counts


def test_opcodes_are_counted_by_function() -> None:
    once, twice = counted(nothing), counted(nothing, nothing)
    name = f"{HERE}.nothing"
    assert twice.opcodes[name] == 2 * once.opcodes[name] > 0
    assert (once.calls[name], twice.calls[name]) == (1, 2)


def test_a_loop_costs_more_the_longer_it_is() -> None:
    ten, twenty = (counted(lambda n=n: looped(n)).opcodes[f"{HERE}.looped"] for n in (10, 20))
    assert twenty - ten == pytest.approx(ten, rel=0.2)


def test_calls_of_c_functions_are_their_callers() -> None:
    assert counted(lambda: looped(10)).calls[f"{HERE}.looped"] == 1 + 10


def test_writes_are_counted_whatever_they_go_to(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb", buffering=0) as file:
        assert counted(lambda: file.write(b"a"), lambda: file.write(b"b")).writes == 2
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert counted(lambda: ours.send(b"a")).writes == 0
        assert counted(lambda: os.write(ours.fileno(), b"a")).writes == 1


def test_nothing_is_counted_outside_a_unit() -> None:
    meter = Meter()
    with meter.unit() as counts:
        pass
    meter._called(sys._getframe(), "call", None)
    assert meter._began(sys._getframe(), "call", None) is None
    assert counts == Counts()


# --- the figures ---


def test_one_unit_that_cost_more_is_no_figure() -> None:
    units = [Counts(Counter(a=90, b=10 + more), Counter(a=5), 3 + more) for more in (0, 0, 5000)]
    assert figures(units) == Figures(opcodes=100, calls=5, writes=3, functions={"a": 90, "b": 10})


def test_functions_with_next_to_nothing_are_not_kept() -> None:
    assert figures([Counts(Counter(a=1000, b=9))]).functions == {"a": 1000}


@pytest.mark.parametrize(
    ("now", "told"),
    [((1149, 114, 4), ""), ((1160, 100, 4), "opcodes"), ((1000, 116, 4), "calls"), ((1000, 100, 5), "writes")],
)
def test_more_than_fifteen_percent_is_told(now: tuple[float, ...], told: str) -> None:
    said = grown(figures_of(*now), figures_of())
    assert told in said
    assert bool(said) is bool(told)


def test_functions_that_grew_are_named_with_what_they_were() -> None:
    said = grown(figures_of(1300, head=500, queue=290, log=50), figures_of(1000, head=300, queue=300)).splitlines()
    assert said == [
        "1,000 → 1,300 opcodes (+30%; 15% are allowed)",
        "Opcodes of the functions that grew most:",
        "    +200  head (300 → 500)",
        "     +40  log (at most 10 → 50)",
    ]


def test_cheaper_work_is_good_news() -> None:
    assert cheaper(figures_of(800, 100), figures_of()) == "1,000 → 800 opcodes"
    assert cheaper(figures_of(900, 90), figures_of()) == ""
