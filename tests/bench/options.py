# The command line.

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from . import agents, bodies, cooldown, crowd, delay, hop, latency, memory, queueing, replicas, rivals
from .bench import QUICK, Bench, Plan
from .figures import Row

ROWS: dict[str, tuple[Callable[[Bench], Iterator[Row]], str]] = {
    "post": (hop.post, "processor time of a short POST, 16 at once"),
    "chunk": (hop.chunk, "processor time of a chunk, 300 streams × 50/s"),
    "latency": (latency.latency, "what a short POST takes longer than direct, p50 and p99"),
    "delay": (delay.delay, "how much later a chunk of a stream arrives than direct, p50 and p99"),
    "crowd": (crowd.crowd, "what a short POST takes longer beside 3,000 streams and a long queue"),
    "memory": (memory.memory, "memory of an open idle stream"),
    "core": (queueing.core, "enqueue + grant in the scheduler alone, 100 → 100,000 waiting"),
    "cooldown": (cooldown.cooldown, "from a cooldown's end to the next request, over a bare timer"),
    "agents": (agents.agents, "12 agents on 4 slots, simulated, without and with the gate"),
    "replicas": (
        replicas.replicas,
        "what sharing a queue through Redis costs, beside one process; where it is installed",
    ),
    "rivals": (rivals.rivals, "a short POST beside other proxies in Python, where they are installed"),
    "chunks": (hop.chunks, "scale: chunks of 10 → 3,000 streams"),
    "waiters": (queueing.waiters, "scale: a POST with 100 → 10,000 waiting"),
    "bodies": (bodies.bodies, "scale: bodies of 1 KiB → 1 GiB, down and up"),
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="What Slotgate costs, beside HAProxy and nginx in one run. Linux only; wants a quiet machine.",
    )
    top.add_argument("--quick", action="store_true", help="under two minutes: shorter looks, fewer rounds and sizes")
    top.add_argument("--rows", action="store_true", help="say which rows there are, and end")
    top.add_argument("--only", type=_names, default=tuple(ROWS), metavar="ROW,…", help="these rows (default: all)")
    top.add_argument(
        "--compiled", type=Path, metavar="DIR", help="a compiled copy: it is Slotgate, the sources are plain"
    )
    top.add_argument("--json", type=_file, metavar="FILE", help="write the figures here, too")
    top.add_argument("--markdown", type=_file, metavar="FILE", help="write the rows that are bounded here, as a table")
    top.add_argument("--plot", type=_file, metavar="FILE", help="draw them here (SVG); needs matplotlib")
    return top


def plan(options: argparse.Namespace) -> Plan:
    return QUICK if options.quick else Plan()


def _file(text: str) -> Path:
    """One that can be written: found out before minutes are spent on measuring."""
    file = Path(text)
    if not file.parent.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written")
    return file


def _names(text: str) -> tuple[str, ...]:
    """In the order of ROWS, whatever the order they were asked in."""
    asked: Sequence[str] = text.split(",")
    unknown = [name for name in asked if name not in ROWS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    return tuple(name for name in ROWS if name in asked)
