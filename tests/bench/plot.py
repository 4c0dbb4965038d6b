# The figures as a picture: `python -m tests.bench.plot FIGURES.json PICTURE.svg`, or --plot of the bench.
#
# Rule 1: a panel for each thing that is counted; medians as bars or lines, all rounds as whiskers.

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .figures import Row, spread
from .report import read

COLOURS = {"slotgate": "#2563eb", "haproxy": "#94a3b8", "nginx": "#cbd5e1", "direct": "#e2e8f0", "timer": "#e2e8f0"}
BARS = {"post": "short POST", "chunk": "chunk of a stream", "latency": "short POST, p50", "memory": "an idle stream"}
LINES = {"chunks": "streams open", "waiters": "waiting, whole proxy", "core": "waiting, scheduler alone"}


def draw(rows: Sequence[Row], title: str, file: Path) -> None:
    """Panels for those rows that are there."""
    import matplotlib as mpl  # optional: extra `bench`

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "bench"  # the same figures give the same file
    from matplotlib import pyplot

    bars = [row for key in BARS if (row := _first(rows, key)) is not None]
    lines = [found for key in LINES if (found := [row for row in rows if row.key == key])]
    across = max(len(bars), len(lines), 1)
    figure, panels = pyplot.subplots(2, across, figsize=(3.2 * across, 5.6), squeeze=False, layout="constrained")
    for place in range(across):
        _bars(panels[0][place], bars[place]) if place < len(bars) else panels[0][place].axis("off")
        _lines(panels[1][place], lines[place]) if place < len(lines) else panels[1][place].axis("off")
    figure.suptitle(title, fontsize=9)
    figure.savefig(file, format="svg", metadata={"Date": None})


def _first(rows: Sequence[Row], key: str) -> Row | None:
    return next((row for row in rows if row.key == key), None)


def _bars(panel: Any, row: Row) -> None:
    for name, values in row.values.items():
        found = spread(values)
        whiskers = [[found.median - found.least], [found.most - found.median]]
        panel.bar(name, found.median, yerr=whiskers, color=COLOURS[name], error_kw={"linewidth": 0.8})
    panel.set_title(BARS[row.key], fontsize=9)
    panel.set_ylabel(row.unit, fontsize=8)
    panel.tick_params(labelsize=7)


def _lines(panel: Any, rows: Sequence[Row]) -> None:
    for name in rows[0].values:
        found = [spread(row.values[name]).median for row in rows]
        panel.plot([row.size for row in rows], found, marker="o", color=COLOURS[name], label=name, markersize=3)
    panel.set_xscale("log")
    panel.set_ylim(bottom=0)
    panel.set_xlabel(LINES[rows[0].key], fontsize=8)
    panel.set_ylabel(f"{rows[0].unit} a unit", fontsize=8)
    panel.tick_params(labelsize=7)
    panel.legend(fontsize=7, frameon=False)


def title(facts: dict[str, str]) -> str:
    return f"Slotgate {facts['commit']} beside HAProxy and nginx, one core each; {facts['machine'].partition(',')[0]}"


if __name__ == "__main__":
    document = json.loads(Path(sys.argv[1]).read_text())
    draw(read(document), title(document["facts"]), Path(sys.argv[2]))
