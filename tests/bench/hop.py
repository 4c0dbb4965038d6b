# Processor time of a front for one short POST, and for one chunk of a stream.
#
# Rule 1: a chunk costs less where several are there at once, so their pace is the same for all fronts and evenly
#         spread; over A_SECOND in all one core has no room for the slowest front, and each stream gets fewer.

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from .bench import Bench, Window, in_turn
from .figures import Row, Watched
from .fronts import Front

AT_ONCE = 16
STREAMS, PACE = 300, 50.0
A_SECOND = STREAMS * PACE


def post(bench: Bench) -> Iterator[Row]:
    with bench.fronts() as fronts:
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


def chunk(bench: Bench) -> Iterator[Row]:
    with bench.fronts() as fronts:
        yield streamed(bench, fronts, "chunk", STREAMS, must=1.3, goal=1.1)


def chunks(bench: Bench) -> Iterator[Row]:
    """The scale."""
    for number in bench.plan.streams:
        with bench.fronts() as fronts:
            yield streamed(bench, fronts, "chunks", number, size=number)


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


def streamed(
    bench: Bench,
    fronts: Sequence[Front],
    key: str,
    number: int,
    *,
    must: float | None = None,
    goal: float | None = None,
    size: int | None = None,
) -> Row:
    pace = min(PACE, A_SECOND / number)

    def stream(front: Front) -> tuple[Window, int]:
        unopened: int = bench.load.ask("open_streams", address=front.address, number=number)
        bench.upstream.ask("pace", a_second=pace)
        window = bench.watch(front, partial(bench.load.ask, "count_streams"))
        return window, unopened + end_streams(bench)

    windows, lost = measured(fronts, bench.plan.rounds if size is None else bench.plan.scale_rounds, stream)
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
