# What a run found, for people and as JSON.

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .figures import Row, Watched, spread

COLUMNS = (
    "slotgate",
    "plain",
    "haproxy",
    "nginx",
    "bare",
    "beside",
)  # beside: direct, the bare timer, a rival, or one process
_NAMES = {"haproxy": "HAProxy", "timer": "bare timer", "alone": "one process"}
HEADINGS = (
    "",
    "",
    "Slotgate",
    "plain",
    "HAProxy",
    "nginx",
    "bare",
    "beside",
    "compared (of all rounds)",
    "must",
    "goal",
    "",
    "lost",
)


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


def markdown(facts: Mapping[str, str], rows: Iterable[Row]) -> str:
    """The rows that are bounded, as a README has them."""
    wanted = [row for row in rows if row.must is not None or row.goal is not None]
    lines = [_MARKDOWN, ("---",) * len(_MARKDOWN), *(_markdown_cells(row) for row in wanted)]
    where = f"{facts['commit']}, {facts['machine']}, {facts['system']}, {facts['python']}"
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", f"Medians of all rounds; {where}."]) + "\n"


def pace(rows: Iterable[Row]) -> list[str]:
    """Who was how busy, and where a front was held up: its figures are then those of a front with time to spare."""
    return [
        f"{row.label}, {name}: front {seen.front:.0%}, load {seen.load:.0%}, strangers {seen.strangers:.0%}"
        + ("" if seen.kept is None else f", pace kept {seen.kept:.0%}")
        + (" – HELD UP" if seen.was_held_up else "")
        for row in rows
        for name, seen in row.watched.items()
    ]


def strangers(rows: Iterable[Row]) -> float:
    """The most of a core that somebody else had."""
    return max((seen.strangers for row in rows for seen in row.watched.values()), default=0.0)


def lost(rows: Iterable[Row]) -> int:
    return sum(row.lost or 0 for row in rows)


def document(facts: Mapping[str, str], rows: Sequence[Row]) -> dict[str, Any]:
    """Everything, as JSON has it."""
    return {"facts": dict(facts), "lost": lost(rows), "rows": [_with_findings(row) for row in rows]}


def read(found: Mapping[str, Any]) -> list[Row]:
    """The rows of a `document`."""
    rows = []
    for row in found["rows"]:
        fields = {key: value for key, value in row.items() if key not in ("comparison", "verdict")}
        fields["watched"] = {name: Watched(**seen) for name, seen in fields["watched"].items()}
        rows.append(Row(**fields))
    return rows


def _with_findings(row: Row) -> dict[str, Any]:
    comparison = row.comparison()
    return {
        **asdict(row),
        "comparison": None if comparison is None else asdict(comparison),
        "verdict": row.verdict(),
    }


_MARKDOWN = ("", "Slotgate", "beside it", "compared", "must", "goal", "reached")


def _markdown_cells(row: Row) -> tuple[str, ...]:
    others = [
        f"{_NAMES.get(name, name)} {number(spread(found).median)}"
        for name, found in row.values.items()
        if name != "slotgate"
    ]
    compared = row.comparison()
    return (
        f"{row.label}, {row.unit}",
        number(spread(row.values["slotgate"]).median),
        ", ".join(others),
        "" if compared is None or row.compared == "itself" else _compared(row, compared.median),
        _bound(row, row.must),
        _bound(row, row.goal),
        row.verdict(),
    )


def _cells(row: Row) -> tuple[str, ...]:
    values = dict(row.values)
    beside = values.pop("direct", None) or values.pop("timer", None) or values.pop("rival", None)
    beside = beside or values.pop("alone", None)
    if beside is not None:
        values["beside"] = beside
    return (
        row.label,
        row.unit,
        *(number(spread(values[name]).median) if values.get(name) else "–" for name in COLUMNS),
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
    if row.compared == "added":
        return f"{_compared(row, found.median)} ({found.least:+.3f} … {found.most:+.3f})"
    return f"{_compared(row, found.median)} ({found.least:.2f}–{found.most:.2f})"


def _compared(row: Row, value: float) -> str:
    return f"{value:+.3f}" if row.compared == "added" else f"{value:.2f} ×"


def _bound(row: Row, bound: float | None) -> str:
    if bound is None:
        return ""
    return f"{'≥ ' if row.at_least else ''}{'+ ' if row.compared == 'added' else ''}{bound:g}" + (
        " ×" if row.compared in ("times", "cheaper") else ""
    )


def number(value: float) -> str:
    """Three digits that tell something."""
    size = abs(value)
    digits = 0 if size >= 100 or not size else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f}"
