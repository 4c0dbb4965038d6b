# What keys do on the board of `slotgate top`, and what the board looks like: news and keys in, changes and lines out.

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from proxy.cli.failure import Failure
from proxy.cli.live.board import Board
from proxy.cli.live.drawing import draw
from proxy.cli.live.facts import Facts

NOW = 1_800_000_000_000
SIZES = st.tuples(st.integers(20, 200), st.integers(1, 60))


def entry(provider_id: str = "api.example.com", **changes: Any) -> dict[str, Any]:
    calm = {"limit": 2, "inFlight": 2, "held": 1, "cooling": 1, "queued": 2, "oldestWaitMs": 65_000, "paused": False}
    return {"providerId": provider_id, **calm, "cooldownMs": 350, "autoReduced": False, **changes}


def slot(number: int, **changes: Any) -> dict[str, Any]:
    who = {"workspaceId": "alpha", "conversationId": f"c{number}", "path": "/v1/messages"}
    times = {"grantedAt": NOW - 65_000, "lastByteAt": NOW - 2000}
    return {"id": str(number), **who, **times, "phase": "streaming", "bytes": 2048, **changes}


def waiter(number: int, **changes: Any) -> dict[str, Any]:
    who = {"workspaceId": "beta", "conversationId": f"w{number}", "path": "/v1/messages"}
    told = {"why": f"prompt began {number} min ago", "expectedWaitMs": 40_000, "waitingMs": 12_000}
    return {"id": str(number), "position": number, "starred": False, **who, **told, **changes}


def facts(
    *entries: dict[str, Any], slots: Any = (), waiters: Any = (), error: str | None = None, ok: bool = True
) -> Facts:
    proxy = {"version": "0.1.0", "config": {"error": error}, "state": {"ok": ok}}
    places = {"api.example.com": {"slots": list(slots), "waiters": list(waiters)}}
    return Facts(proxy=proxy, entries=list(entries), places=places, at_ms=NOW)


BUSY = facts(entry(), slots=[slot(1), slot(2)], waiters=[waiter(3), waiter(4)])


def chosen(board: Board) -> str:
    assert board.selected is not None
    return board.selected.id


def screen(board: Board, width: int = 120, height: int = 20) -> str:
    lines, _ = draw(board, width, height)
    assert len(lines) == height
    assert all(cell_len(line.plain) <= width for line in lines)
    return "\n".join(line.plain.rstrip() for line in lines)


def test_rows_are_providers_each_with_its_slots_and_its_queue() -> None:
    board = Board(BUSY)
    assert [(row.kind, row.id) for row in board.rows] == [
        ("provider", ""),
        ("slot", "1"),
        ("slot", "2"),
        ("waiter", "3"),
        ("waiter", "4"),
    ]


def test_keys_move_and_stop_at_the_ends() -> None:
    board = Board(BUSY)
    for key, index in [("k", 0), ("j", 1), ("down", 2), ("up", 1), ("end", 4), ("j", 4), ("g", 0), ("page down", 4)]:
        board.press(key)
        assert board.index == index, key


def test_what_is_selected_stays_selected_while_others_come_and_go() -> None:
    board = Board(BUSY)
    board.press("G")
    board.hear(facts(entry(), slots=[slot(2), slot(3)], waiters=[waiter(4)]))
    assert chosen(board) == "4"
    board.hear(facts(entry(), slots=[slot(2)], waiters=[]))
    assert chosen(board) == "2"
    board.hear(facts())
    assert board.selected is None
    assert [board.press(key) for key in "jpx+"] == [None] * 4


def test_a_question_is_about_the_one_that_it_was_asked_for() -> None:
    board = Board(BUSY)
    board.press("G")
    assert board.press("x") is None
    assert "Send beta (w4) away from place 4 at api.example.com?  y / n" in screen(board)
    board.hear(facts(entry(), waiters=[waiter(3)]))
    asked: list[tuple[str, ...]] = []

    class Api:
        def delete(self, *path: str) -> None:
            asked.append(path)

    change = board.press("y")
    assert change is not None
    assert change(Api()) == "api.example.com: waiter 4 dropped"  # type: ignore[arg-type]
    assert asked == [("concurrency", "slots", "api.example.com", "4")]


@pytest.mark.parametrize("key", ["n", "q", "escape", "enter", "x"])
def test_any_key_but_y_says_no(key: str) -> None:
    board = Board(BUSY)
    board.press("j")
    board.press("x")
    assert "Cut off alpha (c1) in slot 1 at api.example.com?" in screen(board)
    assert board.press(key) is None
    assert not board.over
    assert board.question is None
    assert "nothing was changed" in screen(board)


def test_only_a_slot_or_a_waiter_can_be_removed_or_starred() -> None:
    board = Board(BUSY)
    for key in "xs":
        assert board.press(key) is None
        assert "choose a waiter or a slot first" in screen(board)
    board.press("j")
    assert board.press("s") is not None


@pytest.mark.parametrize("key", ["p", "r", "+", "=", "-"])
def test_a_provider_is_steered_from_each_of_its_rows(key: str) -> None:
    board = Board(BUSY)
    assert board.press(key) is not None
    board.press("G")
    assert board.press(key) is not None


@pytest.mark.parametrize("key", ["q", "ctrl-c", "ctrl-d"])
def test_it_ends_when_told(key: str) -> None:
    board = Board(BUSY)
    board.press("escape")
    assert not board.over
    board.press(key)
    assert board.over


def test_help_lists_every_key_and_any_key_leads_back() -> None:
    board = Board(BUSY)
    board.press("?")
    for key in ("s ", "p ", "r ", "+ -", "x ", "a ", "q "):
        assert f"\n{key}" in screen(board)
    board.press("q")
    assert not board.over
    assert "alpha" in screen(board)


def test_who_holds_and_who_waits_and_why_and_how_long_are_on_one_screen() -> None:
    shown = screen(Board(BUSY)).splitlines()
    assert shown[2] == "api.example.com  2 of 2 ▮▯  2 wait, oldest 1 min 5 s  cooldown 350ms"
    assert " ".join(shown[3].split()) == "▮ alpha c1 1 min 5 s streaming, last byte 2 s ago, 2.0 KiB /v1/messages"
    assert " ".join(shown[5].split()) == "3 beta w3 12 s 40 s prompt began 3 min ago /v1/messages"


def test_a_star_is_seen() -> None:
    board = Board(facts(entry(), waiters=[waiter(3, starred=True, why="starred, prompt began 3 min ago")]))
    assert "★" in screen(board)


def test_at_forty_columns_all_that_counts_is_there_and_the_selected_row_is_told_whole() -> None:
    board = Board(BUSY)
    board.press("G")
    shown = screen(board, 40)
    assert "\n  2 of 2, 2 wait, oldest 1 min 5 s,\n  cooldown 350ms\n" in shown
    assert "\n   4  beta               12 s       40 s\n" in shown
    assert shown.endswith("\n? help  q quit  jk move  s star  p paus…")
    assert "      beta, w4, prompt began 4 min ago,\n      /v1/messages" in shown


def test_a_pause_and_a_reduction_are_told_under_their_provider() -> None:
    paused = entry(paused=True, pausedUntil=NOW + 29_000, pauseCause="concurrency", autoReduced=True, autoReducedFrom=4)
    assert "\n  paused for 29 s (too many at once), reduced from 4\n" in screen(Board(facts(paused)))


def test_providers_on_which_nothing_can_wait_are_shown_when_asked_for() -> None:
    board = Board(facts(entry(), entry("idle", limit=None, inFlight=0, queued=0)))
    assert "idle" not in screen(board)
    board.press("a")
    assert "idle  0 no limit" in screen(board)
    assert "no provider has a limit" in screen(Board(facts()))


def test_a_lost_proxy_is_told_beside_what_was_last_known() -> None:
    board = Board(BUSY)
    board.hear(Failure("not_running", "the proxy is not running at x"))
    assert "as it was: the proxy is not running at x" in screen(board)
    assert "alpha" in screen(board)
    board.hear(BUSY)
    assert "as it was" not in screen(board)


def test_what_is_wrong_with_the_whole_proxy_is_told() -> None:
    shown = screen(Board(facts(entry(), error="f:1", ok=False)))
    assert "the configuration has errors" in shown
    assert "the state cannot be stored" in shown


def test_what_a_change_came_to_is_told_until_the_next_key() -> None:
    board = Board(BUSY)
    board.hear("api.example.com: limit 3, was 2")
    assert "limit 3, was 2" in screen(board)
    board.press("j")
    assert "limit 3, was 2" not in screen(board)


@settings(deadline=None)
@given(
    SIZES, st.lists(st.sampled_from(["j", "k", "page down", "G", "g", "?", "x", "a"]), max_size=12), st.integers(0, 40)
)
def test_it_fits_every_screen_and_shows_what_is_selected(size: tuple[int, int], keys: list[str], count: int) -> None:
    many = facts(entry(), slots=[slot(1)], waiters=[waiter(number + 2) for number in range(count)])
    board, begin = Board(many), 0
    for key in keys:
        board.press(key)
        lines, begin = draw(board, *size, begin)
        assert len(lines) == size[1]
        assert all(cell_len(line.plain) <= size[0] for line in lines)
        if not board.helping and size[1] >= 4:
            assert any("reverse" in str(span.style) for line in lines for span in line.spans)


def test_names_of_clients_neither_steer_the_terminal_nor_move_a_column() -> None:
    names = ["\x1b[2J\x07", "\u202egnp", "日本語日本語", "👨\u200d👩\u200d👧", "🇩🇪❤\ufe0f👍🏽", "a\u0301" * 30]
    board = Board(facts(entry(), waiters=[waiter(n, workspaceId=name) for n, name in enumerate(names, 1)]))
    shown = screen(board, 100)
    assert all(char.isprintable() or char == "\n" for char in shown)
    ends = {cell_len(line[: line.index("prompt began")]) for line in shown.splitlines() if "prompt began" in line}
    assert len(ends) == 1
