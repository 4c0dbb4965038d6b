# Minutes put together to longer steps. Pure.

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from proxy.store.records import Minute, Span

# What each number of a step is of those of its minutes, also where the database puts them together.
OF_A_STEP: Mapping[str, Literal["sum", "max"]] = {
    "seen_ms": "sum",
    "in_flight_max": "max",
    "in_flight_ms": "sum",
    "queued_max": "max",
    "queued_ms": "sum",
    "oldest_wait_ms": "max",
    "granted": "sum",
    "completed": "sum",
    "rate_limited": "sum",
    "reduced": "sum",
    "paused_ms": "sum",
}


def steps(minutes: Iterable[Minute], step_ms: int) -> list[Minute]:
    """What `minutes` of one provider say of each step of `step_ms` (counted from the epoch), in the order of time; of
    one step, the last in `minutes` is the last one in force. A step without a minute is none."""
    found: dict[int, list[Minute]] = {}
    for minute in minutes:
        found.setdefault(minute.at - minute.at % step_ms, []).append(minute)
    return [_together(at, found[at]) for at in sorted(found)]


def together(spans: Iterable[Sequence[Span]]) -> tuple[Span, ...]:
    """All of `spans`, the same ones added up, the shortest first."""
    numbers: Counter[tuple[float, float | None]] = Counter()
    for several in spans:
        for low_ms, high_ms, number in several:
            numbers[low_ms, high_ms] += number
    return tuple(Span(*bounds, numbers[bounds]) for bounds in sorted(numbers, key=_lowest))


def _together(at: int, minutes: Sequence[Minute]) -> Minute:
    last = minutes[-1]
    if len(minutes) == 1 and last.at == at:
        return last
    numbers: dict[str, int] = {
        name: (sum if of == "sum" else max)(getattr(minute, name) for minute in minutes)
        for name, of in OF_A_STEP.items()
    }
    return Minute(
        provider_id=last.provider_id,
        at=at,
        limit=last.limit,
        waits=together(minute.waits for minute in minutes),
        first_bytes=together(minute.first_bytes for minute in minutes),
        **numbers,
    )


def _lowest(bounds: tuple[float, float | None]) -> tuple[float, float]:
    low_ms, high_ms = bounds
    return (low_ms, low_ms if high_ms is None else high_ms)
