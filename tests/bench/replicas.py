# What sharing a queue through Redis costs: a grant beside one process that shares with nobody, commands by Redis' own
# count, how many grants a second there may be, and the script with a long queue.
#
# Rule 1: replicas are on the front's core, Redis beside the load and the upstream; all is on loopback.
# Rule 2: commands are counted by Redis (INFO commandstats), so all that a replica says in that time is among them.
# Rule 3: the script's time is Redis' own measure of it: there is nothing of a client or a network in it.

import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from .bench import Bench
from .figures import Row, percentile
from .front import Front, version_in
from .fronts import NO_WAITING, Slotgate
from .messages import PATH
from .queue_of_redis import QueueOfRedis

A_SECOND = 200.0
FLEETS = (1, 3)
AT_ONCE = 16  # at each replica, for as many grants as there may be
CROWDS = ((4, 20), (60, 180))  # slots, with the cooldown that is the default, and waiters, at three replicas together
BUSY = 30  # requests a second, from where on what replicas say by themselves is no matter
SLOWER = 4  # a window of theirs: they are few
DEPTHS = (100, 1_000, 10_000, 100_000)
SHOWN = 1000  # waiters that the page asks for


class Redis(Front):
    name = "redis"
    command = shutil.which("redis-server")

    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        assert self.command is not None
        where = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.directory)]
        return [self.command, *where, "--save", "", "--appendonly", "no"]

    @classmethod
    def version(cls) -> str:
        assert cls.command is not None
        return version_in([cls.command, "--version"])


class Fleet:
    """So many replicas at one Redis, or one process by itself where there is none."""

    def __init__(
        self, bench: Bench, stack: ExitStack, redis: Redis | None, number: int, options: Mapping[str, Any] = NO_WAITING
    ) -> None:
        shared = {} if redis is None else {"state": f"redis://127.0.0.1:{redis.port}/0?prefix=of-{number}"}
        self._bench = bench
        self.replicas = [bench.start(stack, Slotgate, {**options, **shared}) for _ in range(number)]

    @property
    def addresses(self) -> list[list[Any]]:
        return [replica.address for replica in self.replicas]

    def used_ns(self) -> int:
        return sum(replica.processor.used_ns() for replica in self.replicas)

    def at_a_pace(self, seconds: float) -> tuple[list[float], int]:
        took, lost = self._bench.load.ask("ask_at_a_pace", addresses=self.addresses, a_second=A_SECOND, seconds=seconds)
        return took, lost

    def hurry(self, at_once: int, target: str = f"{PATH}?short") -> None:
        """So many callers at each replica, who ask again at once."""
        first, *others = self.addresses
        asked = {"address": first, "others": others, "at_once": at_once, "targets": [target], "dated": True}
        self._bench.load.ask("open_calls", **asked)
        self._bench.load.ask("start_calls")
        time.sleep(self._bench.plan.warm_s)

    def calm(self) -> int:
        """How many calls were lost."""
        lost: int = self._bench.load.ask("stop_calls")
        self._bench.load.ask("close_calls")
        return lost


def replicas(bench: Bench) -> Iterator[Row]:
    if Redis.command is None:
        return
    yield from latency(bench)
    yield from commands(bench)
    yield from pace(bench)
    yield from depth(bench)


def latency(bench: Bench) -> Iterator[Row]:
    """One process, one replica and three take turns."""
    at: dict[float, dict[int, list[float]]] = {0.5: defaultdict(list), 0.99: defaultdict(list)}
    lost = 0
    with ExitStack() as stack:
        redis = bench.start(stack, Redis, core=bench.upstream_core)
        fleets = {0: Fleet(bench, stack, None, 1), **{number: Fleet(bench, stack, redis, number) for number in FLEETS}}
        for fleet in fleets.values():
            fleet.at_a_pace(bench.plan.warm_s)
        for _ in range(bench.plan.rounds):
            for number, fleet in fleets.items():
                took, missing = fleet.at_a_pace(bench.plan.seconds)
                lost += missing
                for share, found in at.items():
                    found[number].append(percentile(took, share) * 1000)
    for number in FLEETS:
        for share, must in ((0.5, 1.0), (0.99, 5.0)):
            yield Row(
                key="replicas",
                label=f"short POST, {A_SECOND:g} a second, {replicas_of(number)}, p{share * 100:.0f}",
                unit="ms",
                values={"slotgate": at[share][number], "alone": at[share][0]},
                compared="added",
                base="alone",
                must=must,
                lost=lost,
            )
            lost = 0  # told once


def commands(bench: Bench) -> Iterator[Row]:
    """Of scripts that replicas have run; of requests that were answered. What a replica says each second is among them,
    so where requests are few there are more for each."""
    number = FLEETS[-1]
    free, resting, lost = _commands_at_a_pace(bench, number)
    yield Row(key="replicas", label="Redis commands of an idle replica", unit="a second", values={"slotgate": resting})
    yield _commands_row(f"{A_SECOND:g} a second over {replicas_of(number)}, slots free", free, 3, lost)
    for slots, waiters in CROWDS:
        found, a_second, lost = _commands_with_waiters(bench, number, slots, waiters)
        label = f"{slots} slots, {waiters} waiting over {replicas_of(number)}, {a_second:.0f} a second"
        yield _commands_row(label, found, 3 if a_second > BUSY else None, lost)


def _commands_at_a_pace(bench: Bench, number: int) -> tuple[list[float], list[float], int]:
    """For a request, and a second of each replica while nothing is asked for."""
    found, resting, lost = [], [], 0
    with ExitStack() as stack:
        redis = bench.start(stack, Redis, core=bench.upstream_core)
        fleet = Fleet(bench, stack, redis, number)
        queue = QueueOfRedis(redis.port)
        fleet.at_a_pace(bench.plan.warm_s)
        for _ in range(bench.plan.rounds):
            queue.forget_calls()
            took, missing = fleet.at_a_pace(bench.plan.seconds)
            found.append(queue.calls() / len(took))
            lost += missing
        time.sleep(1)  # until the last slots have rested
        queue.forget_calls()
        began = time.monotonic()
        time.sleep(bench.plan.seconds * SLOWER)
        resting.append(queue.calls() / (time.monotonic() - began) / number)
    return found, resting, lost


def _commands_with_waiters(bench: Bench, number: int, slots: int, waiters: int) -> tuple[list[float], float, int]:
    """Answers take up to a second, so that slots are given back one by one. Also how many requests a second it were."""
    found, requests = [], 0
    with ExitStack() as stack:
        redis = bench.start(stack, Redis, core=bench.upstream_core)
        fleet = Fleet(bench, stack, redis, number, {"limit": slots})
        queue = QueueOfRedis(redis.port)
        fleet.hurry((slots + waiters) // number, f"{PATH}?late")
        time.sleep(SLOWER)  # at first all slots are given back together
        began = time.monotonic()
        for _ in range(bench.plan.rounds):
            queue.forget_calls()
            before = bench.load.ask("count_calls")
            time.sleep(bench.plan.seconds * SLOWER)
            answered = bench.load.ask("count_calls") - before
            requests += answered
            found.append(queue.calls() / answered)
        a_second = requests / (time.monotonic() - began)
        lost = fleet.calm()
    return found, a_second, lost


def _commands_row(label: str, found: Sequence[float], must: float | None, lost: int) -> Row:
    return Row(
        key="replicas",
        label=f"Redis commands for a request, {label}",
        unit="commands",
        values={"slotgate": [*found]},
        must=must,
        lost=lost,
    )


def pace(bench: Bench) -> Iterator[Row]:
    """As many as there may be: callers that ask again at once, at a limit that nobody reaches."""
    found: dict[str, dict[int, list[float]]] = {name: defaultdict(list) for name in ("grants", "script", "process")}
    lost = 0
    with ExitStack() as stack:
        redis = bench.start(stack, Redis, core=bench.upstream_core)
        queue = QueueOfRedis(redis.port)
        fleets = {0: Fleet(bench, stack, None, 1), **{number: Fleet(bench, stack, redis, number) for number in FLEETS}}
        for _ in range(bench.plan.rounds):
            for number, fleet in fleets.items():
                fleet.hurry(AT_ONCE)
                queue.forget_calls()
                before = (bench.load.ask("count_calls"), time.monotonic(), fleet.used_ns())
                time.sleep(bench.plan.seconds)
                after = (bench.load.ask("count_calls"), time.monotonic(), fleet.used_ns())
                calls, took_s, used_ns = (new - old for new, old in zip(after, before, strict=True))
                found["grants"][number].append(calls / took_s)
                found["script"][number].append(queue.used_us() / calls)
                found["process"][number].append(used_ns / 1000 / calls)
                lost += fleet.calm()
    for number in FLEETS:
        beside = {"slotgate": found["grants"][number], "alone": found["grants"][0]}
        label = f"short POST, {AT_ONCE} at once at each, {replicas_of(number)}"
        yield Row(key="replicas", label=f"{label}: granted", unit="a second", values=beside, lost=lost)
        lost = 0
        beside = {"slotgate": found["process"][number], "alone": found["process"][0]}
        yield Row(key="replicas", label="  of it in the replicas", unit="µs CPU", values=beside)
        yield Row(
            key="replicas", label="  of it in Redis' script", unit="µs", values={"slotgate": found["script"][number]}
        )


def depth(bench: Bench) -> Iterator[Row]:
    """A newcomer lines up, a slot is given back, the first waiter has it: two calls."""
    with ExitStack() as stack:
        redis = bench.start(stack, Redis, core=bench.upstream_core)
        queue = QueueOfRedis(redis.port)
        empty = redis.processor.resident()
        for number in DEPTHS:
            queue.fill(number)
            us = [queue.enqueue_and_grant() for _ in range(bench.plan.depth_batches)]
            yield Row(
                key="replicas",
                label=f"enqueue + grant in Redis, {number:,} waiting",
                unit="µs",
                values={"slotgate": us},
                size=number,
            )
            looks = [queue.look(min(SHOWN, number)) for _ in range(bench.plan.depth_batches)]
            yield Row(
                key="replicas",
                label=f"look at the first {min(SHOWN, number):,}, {number:,} waiting",
                unit="µs",
                values={"slotgate": looks},
                size=number,
            )
        grown = (redis.processor.resident() - empty) / DEPTHS[-1] / 1024
        yield Row(key="replicas", label="memory of a waiter in Redis", unit="KiB", values={"slotgate": [grown]})


def replicas_of(number: int) -> str:
    return "1 replica" if number == 1 else f"{number} replicas"
