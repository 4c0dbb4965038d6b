# The board as lines of a screen.
#
# Rule 1: pure: board and size in, lines out; the first and the last lines are always there, what is selected is seen.
# Rule 2: a narrow screen loses what matters least: the path, the conversation, the slots' row of cells.
# Rule 3: a thousand waiters cost no more than those who are seen.

from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from proxy.cli.lengths import moment, span
from proxy.cli.live.board import PROVIDER, SLOT, Board, Row
from proxy.cli.overview import limited, style
from proxy.cli.states import states
from proxy.cli.text import fit, folded, steady
from proxy.cli.waiting import expected, held_for, phase, queue, silent_for, size, why
from proxy.config import show_duration

HELP = (
    ("up down j k", "move; page up, page down, home, end"),
    ("s", "star the workspace of a waiter or slot, or unstar it: starred ones go first"),
    ("p", "pause the provider for a minute, or let it go on"),
    ("r", "restore a limit that rate limits have reduced"),
    ("+ -", "the limit, one step up or down"),
    ("x", "reclaim the slot or drop the waiter; asks first"),
    ("a", "show every provider, or only those where anything can happen"),
    ("q", "quit"),
)
_HINTS = "? help  q quit  jk move  s star  p pause  r restore  +- limit  x remove  a all"
_KEYS = 13  # cells for the names of keys
# Columns of the screen from which there is room for the path, for the conversation, for a reason.
_WIDE, _MIDDLE, _NARROW = 100, 70, 48
_TIME = len("9 min 59 s")  # the longest that is usual
_OTHERS = 28  # cells of a narrow row beside the workspace
_CELLS_MOST = 24  # of a row of slots
_NO_LIMIT = "no provider has a limit, so nothing waits; set one: slotgate limit PROVIDER N  (a shows them all)"


class _Columns(NamedTuple):
    """Widths in cells, for one width of the screen; 0 is not shown."""

    place: int
    workspace: int
    conversation: int
    time: int
    expected: int


def draw(board: Board, width: int, height: int, begin: int = 0) -> tuple[list[Text], int]:
    """Just `height` lines. `begin` is the number of the first row that the last drawing showed; the answer has it for
    the next."""
    above = [*_title(board, width), _header(width)]
    room = max(height - len(above) - 1, 1)
    if board.helping:
        body = _help(width)
    elif not board.rows:
        body = [Text(line) for line in folded(_NO_LIMIT, width)]
    else:
        body, begin = _window(board, width, room, begin)
    body = body[:room]
    lines = [*above, *body, *[Text("")] * (room - len(body)), _last(board, width)]
    return lines[:height], begin


def _window(board: Board, width: int, room: int, begin: int) -> tuple[list[Text], int]:
    """The rows from `begin` on, or from where the selected one is whole."""
    columns = _columns(width)
    begin = min(begin, board.index)
    drawn: list[list[Text]] = []
    for number in range(begin, len(board.rows)):
        drawn.append(_row(board, number, width, columns))
        count = sum(map(len, drawn))
        if number <= board.index:
            while count > room and len(drawn) > 1:
                count -= len(drawn.pop(0))
                begin += 1
        elif count >= room:
            break
    return [line for lines in drawn for line in lines], begin


def _title(board: Board, width: int) -> list[Text]:
    facts = board.facts
    at = moment(facts.at_ms)
    lines = [Text(fit(f"slotgate {steady(facts.proxy['version'])}  {at:%H:%M:%S}", width), "dim")]
    if board.lost:
        lines += [Text(line, "bold red") for line in folded(steady(f"as it was: {board.lost}"), width)]
    if facts.proxy["config"].get("error"):
        lines += [Text(line, "red") for line in folded("the configuration has errors: slotgate status", width)]
    if not facts.proxy["state"]["ok"]:
        lines += [Text(line, "red") for line in folded("the state cannot be stored", width)]
    return lines


def _last(board: Board, width: int) -> Text:
    if board.question is not None:
        answer = "  y / n"
        return Text(fit(steady(board.question.words), width - len(answer)).rstrip() + answer, "bold yellow")
    if board.said:
        return Text(fit(steady(board.said), width), "bold")
    return Text(fit("any key: back" if board.helping else _HINTS, width), "dim")


def _help(width: int) -> list[Text]:
    lines = []
    for keys, words in HELP:
        first, *more = folded(words, max(width - _KEYS, 1))
        lines += [Text(fit(keys, _KEYS) + first), *[Text(" " * _KEYS + line) for line in more]]
    return lines


def _columns(width: int) -> _Columns:
    if width >= _WIDE:
        return _Columns(5, 18, 16, _TIME, _TIME)
    if width >= _MIDDLE:
        return _Columns(5, 12, 8, _TIME, _TIME)
    return _Columns(4, max(min(width // 3, width - _OTHERS), 6), 0, _TIME, _TIME)


def _header(width: int) -> Text:
    columns = _columns(width)
    names = ("place", "workspace", "conversation", "for", "expected")
    if width < _MIDDLE:
        names = ("", "workspace", "", "for", "left")
    return Text(fit(_line(columns, "", names, "why" if width >= _NARROW else ""), width), "bold")


def _line(columns: _Columns, mark: str, cells: tuple[str, ...], words: str) -> str:
    place, workspace, conversation, time, left = cells
    parts = [fit(place, columns.place, right=True) + fit(mark, 1), fit(workspace, columns.workspace)]
    if columns.conversation:
        parts.append(fit(conversation, columns.conversation))
    parts += [fit(time, columns.time, right=True), fit(left, columns.expected, right=True)]
    line = " ".join(parts)
    return f"{line}  {words}" if words else line


def _row(board: Board, number: int, width: int, columns: _Columns) -> list[Text]:
    row, now_ms = board.rows[number], board.facts.at_ms
    selected = number == board.index
    if row.kind == PROVIDER:
        lines = _provider(row.entry, now_ms, width)
    else:
        lines = _place(row, now_ms, columns, width, whole=selected)
    if selected:
        lines[0].stylize("reverse")
    return lines


def _place(row: Row, now_ms: int, columns: _Columns, width: int, *, whole: bool) -> list[Text]:
    """One line, and with `whole` what it has no room for below it."""
    entry = row.entry
    names = (steady(entry["workspaceId"]), steady(entry["conversationId"] or ""))
    if row.kind == SLOT:
        mark, words = "", _progress(entry, now_ms)
        cells = ("▯" if entry["phase"] == "cooling" else "▮", *names, held_for(entry, now_ms), "")
    else:
        mark, words = "★" if entry["starred"] else "", steady(why(entry))
        cells = (str(entry["position"]), *names, span(entry["waitingMs"]), expected(entry))
    path = steady(entry["path"])
    beside = f"{words}  {path}" if width >= _WIDE else words if width >= _NARROW else ""
    line = _line(columns, mark, cells, beside)
    style = "" if row.kind == SLOT else "cyan"
    lines = [Text(fit(line, width), style)]
    if whole and (cell_len(line) > width or width < _WIDE):
        said = ", ".join(filter(None, (*names, words, path)))
        lines += [Text(f"      {line}", style) for line in folded(said, max(width - 6, 1))]
    return lines


def _progress(slot: dict[str, Any], now_ms: int) -> str:
    moved = f", last byte {silent_for(slot, now_ms)} ago, {size(slot['bytes'])}" if slot["bytes"] else ""
    return f"{phase(slot)}{moved}"


def _provider(entry: dict[str, Any], now_ms: int, width: int) -> list[Text]:
    limit = entry["limit"]
    of = ("no limit" if not limited(entry) else "limit is learned") if limit is None else f"of {limit}"
    said = [f"{entry['inFlight']} {of}"]
    if limit is not None and limit <= _CELLS_MOST and width >= _MIDDLE:
        free = max(limit - entry["inFlight"], 0)
        said[0] += f" {'▮' * entry['held']}{'▯' * entry['cooling']}{'·' * free}"
    if entry["queued"]:
        oldest = entry.get("oldestWaitMs")
        said.append(queue(entry) + ("" if oldest is None else f", oldest {span(oldest)}"))
    said.append(f"cooldown {show_duration(entry['cooldownMs'] / 1000)}")
    name, look, numbers = steady(entry["providerId"]), style(entry), "  ".join(said)
    whole = cell_len(name) + 2 + len(numbers) <= width
    head = Text(fit(f"{name}  {numbers}" if whole else name, width), f"bold {look}".strip())
    below = ["" if whole else ", ".join(said), ", ".join(states(entry, now_ms))]
    folds = [line for words in below if words for line in folded(steady(words), max(width - 2, 1))]
    return [head, *[Text(f"  {line}", look) for line in folds]]
