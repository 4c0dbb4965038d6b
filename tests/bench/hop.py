# Processor time of a front for one short POST, and for one chunk of a stream.
#
# Rule 1: a chunk costs less where several are there at once, so their pace is the same for all fronts and evenly
#         spread; over A_SECOND in all one core has no room for the slowest front, and each stream gets fewer.
# Rule 2: nobody sleeps whom a front would have to wake (peers.py).

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from .bench import Bench, Window, in_turn
from .figures import IN_KERNEL, Row, Watched
from .front import Front
from .fronts import HOPS

AT_ONCE = 16
STREAMS, PACE = 300, 50.0
A_SECOND = STREAMS * PACE


def post(bench: Bench) -> Iterator[Row]:
    with bench.awake(), bench.fronts(some=HOPS) as fronts:
        windows, lost = measured(fronts, bench.plan.rounds, partial(posts, bench, at_once=AT_ONCE))
        yield Row(
            key="post",
            label=f"short POST, {AT_ONCE} at once",
            unit="µs CPU",
            values=per_unit(windows),
            compared="times",
            must=6,
            goal=3,
            lost=lost,
            watched=watched(windows),
        )
        yield in_kernel("post", windows)


def chunk(bench: Bench) -> Iterator[Row]:
    with bench.awake(), bench.fronts(some=HOPS) as fronts:
        windows, lost = streams(bench, fronts, STREAMS, bench.plan.rounds)
        yield streamed("chunk", STREAMS, windows, lost, must=1.3, goal=1.1)
        yield in_kernel("chunk", windows)


def chunks(bench: Bench) -> Iterator[Row]:
    """The scale."""
    for number in bench.plan.streams:
        with bench.awake(), bench.fronts() as fronts:
            yield streamed("chunks", number, *streams(bench, fronts, number, bench.plan.scale_rounds), size=number)


def measured(
    fronts: Sequence[Front], rounds: int, measure: Callable[[Front], tuple[Window, int]]
) -> tuple[dict[str, list[Window]], int]:
    """Each front's windows, and how much was lost in all of them."""
    windows: dict[str, list[Window]] = defaultdict(list)
    lost = 0
    for front in in_turn(fronts, rounds):
        window, missing = measure(front)
        windows[front.name].append(window)
        lost += missing
    return windows, lost


def posts(bench: Bench, front: Front, at_once: int) -> tuple[Window, int]:
    """Callers that ask again at once; how many answers were lost."""
    load = bench.load
    load.ask("open_calls", address=front.address, at_once=at_once)
    load.ask("start_calls")
    bench.wait(lambda: load.ask("count_calls") >= at_once)  # all of them are in the queue, if there is one
    window = bench.watch(front, partial(load.ask, "count_calls"))
    lost: int = load.ask("stop_calls")
    load.ask("close_calls")
    return window, lost


def streams(bench: Bench, fronts: Sequence[Front], number: int, rounds: int) -> tuple[dict[str, list[Window]], int]:
    """As `measured`."""

    def stream(front: Front) -> tuple[Window, int]:
        unopened: int = bench.load.ask("open_streams", address=front.address, number=number)
        bench.upstream.ask("pace", a_second=pace_of(number))
        window = bench.watch(front, partial(bench.load.ask, "count_streams"))
        return window, unopened + end_streams(bench)

    return measured(fronts, rounds, stream)


def pace_of(number: int) -> float:
    """Events a second in each of so many streams."""
    return min(PACE, A_SECOND / number)


def streamed(
    key: str,
    number: int,
    windows: dict[str, list[Window]],
    lost: int,
    *,
    must: float | None = None,
    goal: float | None = None,
    size: int | None = None,
) -> Row:
    pace = pace_of(number)
    return Row(
        key=key,
        label=f"chunk of {number:,} streams × {pace:g}/s",
        unit="µs CPU",
        values=per_unit(windows),
        compared="times",
        must=must,
        goal=goal,
        lost=lost,
        size=size,
        watched=watched(windows, pace * number),
    )


def end_streams(bench: Bench) -> int:
    """How many events and proper ends were lost."""
    sent = bench.upstream.ask("end_streams")
    received, cut = bench.load.ask("close_streams")
    return abs(sent - received) + int(cut)


def per_unit(windows: dict[str, list[Window]]) -> dict[str, list[float]]:
    return {name: [window.us_per_unit for window in found] for name, found in windows.items()}


def in_kernel(key: str, windows: dict[str, list[Window]]) -> Row:
    """System calls, and what the network does in them: what no front can spare by better code."""
    found = {name: [window.kernel_us_per_unit for window in of_front] for name, of_front in windows.items()}
    return Row(key=key, label=IN_KERNEL, unit="µs CPU", values=found)


def watched(windows: dict[str, list[Window]], pace: float | None = None) -> dict[str, Watched]:
    """`pace` is how many units a second there should have been."""
    return {
        name: Watched(
            front=statistics.median(window.front_busy for window in found),
            load=statistics.median(window.load_busy for window in found),
            strangers=statistics.median(window.strangers for window in found),
            kept=None if pace is None else statistics.median(window.a_second for window in found) / pace,
        )
        for name, found in windows.items()
    }
