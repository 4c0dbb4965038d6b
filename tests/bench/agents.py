# 12 agents on 4 slots, in the simulator: what of the queue's promises holds over hours, by seed.
#
# Rule 1: how many slots are in use is held against what the cooldown allows where the provider forgets sooner. Where it
#         counts a call for longer than a slot rests (the late gate), it takes fewer than the cooldown would allow.

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .bench import Bench
from .child import TOP
from .figures import Row

FLEET = "--agents 12 --limit 4 --cooldown 350ms --json"
SOON, LATE = "--lag 100ms-300ms", "--lag 600ms-900ms"
GATE = "--gate 1s --usage-latency 50ms-150ms"
SCENES = {"no gate": SOON, "gate": f"{SOON} {GATE}", "gate, late": f"{LATE} {GATE}"}


def agents(bench: Bench) -> Iterator[Row]:
    for name, words in SCENES.items():
        runs = [_run(f"{FLEET} {words} --seed {seed}") for seed in range(1, bench.plan.seeds + 1)]
        yield from _rows(name, runs)


def _rows(name: str, runs: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """The worst of all runs."""
    lost = sum(run["given_up"] for run in runs)

    def worst(key: str, label: str, unit: str, must: float | None = None, goal: float | None = None) -> Row:
        at_least = unit == "%"
        found = [run[key] * 100 if at_least else run[key] for run in runs]
        return Row(
            key="agents",
            label=f"12 agents, 4 slots, {name}: {label}",
            unit=unit,
            values={"slotgate": [min(found) if at_least else max(found)]},
            must=must,
            goal=goal,
            at_least=at_least,
            lost=lost,
        )

    if name == "gate, late":
        yield worst("refused_that_had_waited", "refused after a wait", "429s", 0, 0)
        yield worst("refused_total", "refused", "429s", 1, 0)
        yield worst("in_use_of_what_provider_allows", "slots in use, of what the provider takes", "%")
    else:
        yield worst("refused_total", "refused", "429s", 0, 0)
        bounds = (97, 99) if name == "gate" else (98, 99.5)
        yield worst("in_use_of_what_cooldown_allows", "slots in use, of what the cooldown allows", "%", *bounds)
    yield worst("inversions", "overtaken by a younger one", "calls", 0, 0)


def _run(words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        subprocess.run(
            [sys.executable, "-m", "tests.simulator", "run", *shlex.split(words)],
            cwd=TOP,
            capture_output=True,
            check=True,
        ).stdout
    )
    return found
