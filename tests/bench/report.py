# What a run found, for people and as JSON.

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .figures import Row, Spread, spread

COLUMNS = ("slotgate", "haproxy", "nginx", "beside")  # beside: direct, or the bare timer
HEADINGS = ("", "", "Slotgate", "HAProxy", "nginx", "beside", "compared (of all rounds)", "must", "goal", "", "lost")
BUSY = 0.9  # of a core: from there on it is what sets the pace


def table(rows: Iterable[Row]) -> str:
    """One line a row."""
    lines = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def pace(rows: Iterable[Row]) -> list[str]:
    """Who set the pace: a load at the end of its core would hide what a front can do."""
    said = []
    for row in rows:
        if row.busy:
            shares = ", ".join(
                f"{name} {row.busy[name]:.0%} (load {row.busy[f'load of {name}']:.0%})"
                for name in COLUMNS
                if name in row.busy
            )
            said.append(f"{row.label}: {shares}")
    return said


def bottlenecks(rows: Iterable[Row]) -> list[str]:
    """Where the load was at its end, and the front was not."""
    return [
        f"{row.label}: {name}"
        for row in rows
        for name in COLUMNS
        if row.busy.get(f"load of {name}", 0) > BUSY > row.busy[name]
    ]


def lost(rows: Iterable[Row]) -> int:
    return sum(row.lost or 0 for row in rows)


def document(facts: Mapping[str, str], rows: Sequence[Row]) -> dict[str, Any]:
    """Everything, as JSON has it."""
    return {"facts": dict(facts), "lost": lost(rows), "rows": [_with_findings(row) for row in rows]}


def read(found: Mapping[str, Any]) -> list[Row]:
    """The rows of a `document`."""
    derived = {"comparison", "verdict"}
    return [Row(**{key: value for key, value in row.items() if key not in derived}) for row in found["rows"]]


def _with_findings(row: Row) -> dict[str, Any]:
    comparison = row.comparison()
    return {
        **asdict(row),
        "comparison": None if comparison is None else asdict(comparison),
        "verdict": row.verdict(),
    }


def _cells(row: Row) -> tuple[str, ...]:
    values = dict(row.values)
    beside = values.pop("direct", None) or values.pop("timer", None)
    if beside is not None:
        values["beside"] = beside
    return (
        row.label,
        row.unit,
        *(_number(spread(values[name]).median) if values.get(name) else "–" for name in COLUMNS),
        _comparison(row),
        _bound(row, row.must),
        _bound(row, row.goal),
        row.verdict(),
        "" if row.lost is None else str(row.lost),
    )


def _comparison(row: Row) -> str:
    found = row.comparison()
    if found is None or row.compared == "itself":
        return ""
    if row.compared == "times":
        return f"{found.median:.2f} × ({found.least:.2f}–{found.most:.2f})"
    return f"{found.median:+.3f} ({_signed(found)})"


def _signed(found: Spread) -> str:
    return f"{found.least:+.3f} … {found.most:+.3f}"


def _bound(row: Row, bound: float | None) -> str:
    if bound is None:
        return ""
    return f"{'≥ ' if row.at_least else ''}{'+ ' if row.compared == 'added' else ''}{bound:g}" + (
        " ×" if row.compared == "times" else ""
    )


def _number(value: float) -> str:
    """Three digits that tell something."""
    size = abs(value)
    return (
        f"{value:,.0f}"
        if size >= 100
        else f"{value:.1f}"
        if size >= 10
        else f"{value:.2f}"
        if size >= 1
        else f"{value:.3f}"
    )
