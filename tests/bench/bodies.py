# Bodies of growing size, down and up: processor time, throughput, and the most memory that one takes.

from collections import defaultdict
from collections.abc import Iterator

from .bench import Bench, in_turn
from .figures import Row
from .front import Front

WAYS = {"down": "down", "up": "up, passed on (PUT)", "held": "up, read whole first (POST)"}
HELD_MOST = 1 << 24  # of what is read whole first: queue.body_limit is 64 MiB
AT_LEAST = 1 << 24  # bytes in a round: small bodies are sent many times …
TIMES_MOST = 500  # … but not for ever


def bodies(bench: Bench) -> Iterator[Row]:
    for way in WAYS:
        for size in bench.plan.bodies:
            if way != "held" or size <= HELD_MOST:
                with bench.fronts() as fronts:
                    yield from _sized(bench, fronts, way, size)


def _sized(bench: Bench, fronts: list[Front], way: str, size: int) -> Iterator[Row]:
    used: dict[str, list[float]] = defaultdict(list)
    speed: dict[str, list[float]] = defaultdict(list)
    peak: dict[str, list[float]] = defaultdict(list)
    resident: dict[str, int] = {}
    times, lost = max(1, min(AT_LEAST // size, TIMES_MOST)), 0
    for front in fronts:
        lost += bench.load.ask("transfer", address=front.address, way=way, size=1024, times=50)[1]
        resident[front.name] = front.processor.resident()
        front.processor.forget_peak()
    for front in in_turn(fronts, bench.plan.scale_rounds):
        processor = front.processor
        before = processor.used_ns()
        seconds, missing = bench.load.ask("transfer", address=front.address, way=way, size=size, times=times)
        lost += missing
        used[front.name].append((processor.used_ns() - before) / times / 1e6)
        speed[front.name].append(size * times / (1 << 20) / seconds)
        peak[front.name].append((processor.peak() - resident[front.name]) / (1 << 20))
    label = f"{in_bytes(size)} {WAYS[way]}"
    yield Row(key="bodies", label=label, unit="ms CPU", values=dict(used), compared="times", lost=lost, size=size)
    yield Row(
        key="bodies", label="  as fast as", unit="MiB/s", values=dict(speed), compared="times", at_least=True, size=size
    )
    yield Row(key="bodies", label="  more memory, at most", unit="MiB", values=dict(peak), size=size)


def in_bytes(size: int) -> str:
    """1 KiB, 64 KiB, 1 GiB."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):g} {unit}"
    return f"{size} B"
