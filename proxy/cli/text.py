# Text of others on a terminal.
#
# Rule 1: names come from clients: nothing in them steers a terminal, hides, or changes the direction of what follows.
# Rule 2: a cell is as wide as terminals show it. Where they disagree about that, the text is changed before it gets
#         into a column.

import json
import re
import textwrap

# No letter, and shown by some terminals as nothing, by others as a gap: Hangul fillers, the blank of Braille.
_BLANK = re.compile("[\u115f\u1160\u2800\u3164\uffa0]")
# Terminals disagree about how wide these make what stands before them: variation selectors, skin tones.
_UNSTEADY = re.compile("[\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]")
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]")  # half a flag: a letter, in the end
_FLAG_A = 0x1F1E6
_LAST_OF_PLANE = 0xFFFF
_STACKED = re.compile("([\u0300-\u036f\u0483-\u0489\u20d0-\u20f0]{2})[\u0300-\u036f\u0483-\u0489\u20d0-\u20f0]+")


def printable(text: str) -> str:
    """The text with what would steer a terminal, or be seen by nobody, shown as it would be written in Python."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() and not _BLANK.match(char) else char.encode("unicode_escape").decode()
        for char in text
    )


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that people can read in a terminal as well: letters of every language as they are, what `printable` would
    not show as JSON's own escapes."""
    lines = json.dumps(value, indent=indent, ensure_ascii=False).split("\n")  # a line's end within a string is escaped
    return "\n".join(map(_escaped, lines))


def _escaped(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    return "".join(char if printable(char) == char else _as_json(char) for char in line)


def _as_json(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= _LAST_OF_PLANE else json.dumps(char)[1:-1]  # else it is a pair


def steady(text: str) -> str:
    """The same for a column: every terminal agrees about its width."""
    if text.isascii():
        return printable(text)
    text = _STACKED.sub(r"\1", _UNSTEADY.sub("", printable(text)))
    return _FLAG.sub(lambda half: chr(ord(half[0]) - _FLAG_A + ord("A")), text)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """`text`, which is steady, in just so many cells: cut off with an ellipsis, or filled with spaces."""
    from rich.cells import cell_len, set_cell_size  # takes long to import

    if cell_len(text) > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    gap = " " * (width - cell_len(text))
    return gap + text if right else text + gap


def folded(text: str, width: int) -> list[str]:
    """`text`, which is steady, in lines of so many cells, broken between words if that can be."""
    from rich.cells import cell_len, chop_cells  # takes long to import

    if cell_len(text) <= width:
        return [text]
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return [piece for line in lines for piece in (chop_cells(line, width) if cell_len(line) > width else [line])]
