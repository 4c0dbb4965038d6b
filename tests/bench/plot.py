# The figures as a picture: `python -m tests.bench.plot FIGURES.json PICTURE.svg`, or --plot of the bench.
#
# Rule 1: a panel for each thing that is counted; medians as bars or lines, all rounds as whiskers. Where a bar has two
#         shades, the strong one is the kernel's.
# Rule 2: it has the width of a README, and reads on white as on black: no background, and a grey that both bear.

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .figures import IN_KERNEL, Row, Spread, spread
from .report import number, read

INK = "#7d8590"
COLOURS = {
    "slotgate": "#388bfd",
    "plain": "#79c0ff",
    "haproxy": "#a371f7",
    "nginx": "#3fb950",
    "bare": "#d29922",
    "direct": INK,
    "timer": INK,
}
BARS = {"post": "short POST", "chunk": "chunk of a stream", "latency": "short POST, p50", "memory": "an idle stream"}
LINES = {  # what the scale is, and what a unit is
    "chunks": ("streams open", "chunk"),
    "waiters": ("waiting", "POST"),
    "core": ("waiting, scheduler alone", "enqueue + grant"),
}
STYLE: dict[str, Any] = {
    "svg.hashsalt": "bench",  # the same figures give the same file
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}
WIDTH_IN = 8.6  # 826 pixels
HEIGHTS_IN = (1.7, 2.3)


def draw(rows: Sequence[Row], title: str, file: Path) -> None:
    """Panels for those rows that are there."""
    import matplotlib as mpl  # optional: extra `bench`

    mpl.use("svg")
    mpl.rcParams.update(STYLE)
    from matplotlib import pyplot

    bars = [found for key in BARS if (found := _of(rows, key))]
    lines = [found for key in LINES if (found := _of(rows, key))]
    bands = [(band, panel) for band, panel in ((bars, _bars), (lines, _lines)) if band]
    heights = [height for height, band in zip(HEIGHTS_IN, (bars, lines), strict=True) if band]
    figure = pyplot.figure(figsize=(WIDTH_IN, sum(heights) + 0.3), layout="constrained")
    figure.suptitle(title, fontsize=8)
    parts = figure.subfigures(max(len(bands), 1), 1, height_ratios=heights or [1], squeeze=False)
    for part, (band, panel) in zip(parts[:, 0], bands, strict=False):
        for place, of_one in zip(part.subplots(1, len(band), squeeze=False)[0], band, strict=True):
            panel(place, of_one)
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})


def _of(rows: Sequence[Row], key: str) -> list[Row]:
    return [row for row in rows if row.key == key]


def _bars(panel: Any, rows: Sequence[Row]) -> None:
    row = rows[0]
    found = {name: spread(values) for name, values in row.values.items()}
    most = max(figure.most for figure in found.values())
    kernel = next((part.values for part in rows[1:] if part.label == IN_KERNEL), {})
    for name, figure in found.items():
        panel.barh(name, figure.median, color=COLOURS[name], alpha=0.5 if kernel else 1)
        if name in kernel:
            panel.barh(name, spread(kernel[name]).median, color=COLOURS[name])
        _whisker(panel, name, figure)
        panel.text(figure.most + most * 0.03, name, number(figure.median), va="center", fontsize=7)
    panel.set_xlim(0, most * 1.3)
    panel.invert_yaxis()
    panel.set_title(f"{BARS[row.key]}, {row.unit}")
    panel.tick_params(left=False, labelsize=7)
    panel.locator_params(axis="x", nbins=4)


def _whisker(panel: Any, name: str, figure: Spread) -> None:
    panel.plot([figure.least, figure.most], [name, name], color=INK, linewidth=0.8)


def _lines(panel: Any, rows: Sequence[Row]) -> None:
    for name in rows[0].values:
        found = [spread(row.values[name]).median for row in rows]
        panel.plot([row.size for row in rows], found, marker="o", color=COLOURS[name], label=name, markersize=3)
    panel.set_xscale("log")
    panel.set_ylim(bottom=0)
    scale, unit = LINES[rows[0].key]
    panel.set_xlabel(scale)
    panel.set_title(f"{unit}, {rows[0].unit}")
    panel.tick_params(labelsize=7)
    if len(rows[0].values) > 1:
        panel.legend(fontsize=7)


def title(facts: dict[str, str]) -> str:
    machine = facts["machine"].partition(",")[0]
    return f"Slotgate {facts['commit']} beside HAProxy and nginx, one core of {machine} each; strong: in the kernel"


if __name__ == "__main__":
    document = json.loads(Path(sys.argv[1]).read_text())
    draw(read(document), title(document["facts"]), Path(sys.argv[2]))
