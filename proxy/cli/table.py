# A table for people, at any width.
#
# Rule 1: columns as long as they fit; the last one may go on below itself, and where it has too little room, below its
#         row. Where the others do not fit either, each row is a stanza: its first cell, and under it what the others
#         say, each with its name but a sentence at the end.
# Rule 2: nothing is cut off but what is wider than the terminal alone.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proxy.cli.text import fit, folded, steady

if TYPE_CHECKING:
    from rich.text import Text

_GAP = 2
_LAST_LEAST = 20  # cells for the last column, before the table becomes stanzas


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns whose names begin with a space are aligned to the right. `styles` has rich's style for a row's number."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    styles: dict[int, str] = field(default_factory=dict)

    def lines(self, width: int) -> Iterator[Text]:
        """Styled lines, none wider than `width` if any can be."""
        from rich.cells import cell_len

        rows = [[steady(cell) for cell in row] for row in self.rows]
        names = [column.strip() for column in self.columns]
        widths = [max(map(cell_len, column)) for column in zip(names, *rows, strict=True)]
        left = width - sum(widths[:-1]) - _GAP * (len(widths) - 1)
        if left < min(widths[-1], _LAST_LEAST):
            if left < -_GAP or len(widths) == 1 or self.columns[-1].startswith(" "):
                return self._stanzas(names, rows, width)
            return self._above(names, rows, widths, width)
        widths[-1] = min(widths[-1], left)
        return self._rows(names, rows, widths)

    def _rows(self, names: list[str], rows: list[list[str]], widths: list[int]) -> Iterator[Text]:
        from rich.text import Text

        yield Text(self._row(names, widths), "bold")
        for number, row in enumerate(rows):
            first, *more = folded(row[-1], widths[-1])
            style = self.styles.get(number, "")
            yield Text(self._row([*row[:-1], first], widths), style)
            for line in more:
                yield Text(self._row([""] * (len(row) - 1) + [line], widths), style)

    def _above(self, names: list[str], rows: list[list[str]], widths: list[int], width: int) -> Iterator[Text]:
        """Each row but its last cell, which stands below it."""
        from rich.text import Text

        yield Text(self._row(names[:-1], widths[:-1]), "bold")
        for number, row in enumerate(rows):
            style = self.styles.get(number, "")
            yield Text(self._row(row[:-1], widths[:-1]), style)
            for line in folded(row[-1], max(width - _GAP, 1)) if row[-1] else ():
                yield Text(" " * _GAP + line, style)

    def _row(self, cells: list[str], widths: list[int]) -> str:
        rights = [column.startswith(" ") for column in self.columns[: len(cells)]]
        fitted = [fit(cell, width, right=right) for cell, width, right in zip(cells, widths, rights, strict=True)]
        return (" " * _GAP).join(fitted).rstrip()

    def _stanzas(self, names: list[str], rows: list[list[str]], width: int) -> Iterator[Text]:
        from rich.text import Text

        for number, (head, *cells) in enumerate(rows):
            style = self.styles.get(number, "")
            named = f"{names[0]} {head}" if self.columns[0].startswith(" ") else head
            yield Text(named, f"bold {style}".strip())
            said = [f"{name} {cell}" for name, cell in zip(names[1:], cells, strict=True) if cell]
            if said and cells[-1] and not self.columns[-1].startswith(" "):
                said[-1] = cells[-1]  # words need no name
            for line in folded(", ".join(said), max(width - _GAP, 1)):
                yield Text(" " * _GAP + line, style)
