# What an open stream that says nothing takes of memory.

from collections.abc import Iterator

from .bench import Bench
from .figures import Row
from .hop import end_streams

FIRST = 50  # streams that are open before: what a process takes once is taken by then


def memory(bench: Bench) -> Iterator[Row]:
    number, lost = bench.plan.idle_streams, 0
    values: dict[str, list[float]] = {}
    with bench.fronts() as fronts:
        for front in fronts:
            lost += bench.load.ask("open_streams", address=front.address, number=FIRST)
            before = front.processor.resident()
            lost += end_streams(bench)
            lost += bench.load.ask("open_streams", address=front.address, number=number)
            values[front.name] = [(front.processor.resident() - before) / 1024 / (number - FIRST)]
            lost += end_streams(bench)
    yield Row(
        key="memory",
        label=f"memory of an idle stream, {number:,} open",
        unit="KiB",
        values=values,
        must=40,
        goal=16,
        lost=lost,
    )
