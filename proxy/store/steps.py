# Minutes put together to longer steps. Pure.

from collections import Counter
from collections.abc import Iterable, Sequence

from proxy.store.records import Minute, Span


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
    return Minute(
        provider_id=last.provider_id,
        at=at,
        seen_ms=sum(minute.seen_ms for minute in minutes),
        limit=last.limit,
        in_flight_max=max(minute.in_flight_max for minute in minutes),
        in_flight_ms=sum(minute.in_flight_ms for minute in minutes),
        queued_max=max(minute.queued_max for minute in minutes),
        queued_ms=sum(minute.queued_ms for minute in minutes),
        oldest_wait_ms=max(minute.oldest_wait_ms for minute in minutes),
        granted=sum(minute.granted for minute in minutes),
        completed=sum(minute.completed for minute in minutes),
        rate_limited=sum(minute.rate_limited for minute in minutes),
        reduced=sum(minute.reduced for minute in minutes),
        paused_ms=sum(minute.paused_ms for minute in minutes),
        waits=together(minute.waits for minute in minutes),
        first_bytes=together(minute.first_bytes for minute in minutes),
    )


def _lowest(bounds: tuple[float, float | None]) -> tuple[float, float]:
    low_ms, high_ms = bounds
    return (low_ms, low_ms if high_ms is None else high_ms)
