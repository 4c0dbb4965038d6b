# Minutes that several replicas saw of the same provider, put together to longer steps. Pure.
#
# Rule: what is of the provider as a whole (in flight, queued, paused) each replica saw entire, so it is taken once;
# what is of a replica's own requests is added up.

from collections.abc import Iterable, Sequence
from dataclasses import replace

from proxy.store.records import Minute
from proxy.store.steps import OF_A_STEP, steps, together

# The sums that a mean is made of: whoever saw the most of the step tells them.
OF_WHO_SAW_MOST = ("seen_ms", "in_flight_ms", "queued_ms", "paused_ms")


def shared_steps(seen: Iterable[tuple[str, Minute]], step_ms: int) -> list[Minute]:
    """What replicas, by name, say of each step of `step_ms` (counted from the epoch), in the order of time. Within a
    replica it is what `steps` makes of it; of one step, the limit is that of the last of all in `seen`."""
    by_replica: dict[str, list[Minute]] = {}
    limits: dict[int, int | None] = {}
    for replica, minute in seen:
        by_replica.setdefault(replica, []).append(minute)
        limits[minute.at - minute.at % step_ms] = minute.limit
    found: dict[int, list[Minute]] = {}
    for name in sorted(by_replica):
        for step in steps(by_replica[name], step_ms):
            found.setdefault(step.at, []).append(step)
    return [_one(found[at], limits[at]) for at in sorted(found)]


def _one(of_replicas: Sequence[Minute], limit: int | None) -> Minute:
    most = max(of_replicas, key=lambda step: step.seen_ms)
    numbers = {
        name: (sum if of == "sum" else max)(getattr(step, name) for step in of_replicas)
        for name, of in OF_A_STEP.items()
        if name not in OF_WHO_SAW_MOST
    }
    return replace(
        most,
        limit=limit,
        waits=together(step.waits for step in of_replicas),
        first_bytes=together(step.first_bytes for step in of_replicas),
        **numbers,
    )
