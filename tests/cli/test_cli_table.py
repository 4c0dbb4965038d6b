# A table at any width: columns while they fit, then stanzas; nothing is lost.

from rich.cells import cell_len

from proxy.cli.table import Table

COLUMNS = ("provider", " limit", " queued", "state")
ROWS = [
    ["api.code.umans.ai", "3", "7", "paused for 29s (too many at once), reduced from 4"],
    ["日本", "12", "0", ""],
]
TABLE = Table(columns=COLUMNS, rows=ROWS, styles={0: "red"})


def lines(table: Table, width: int) -> list[str]:
    made = [line.plain for line in table.lines(width)]
    assert all(cell_len(line) <= width for line in made)
    return made


def test_columns_stand_below_each_other_whatever_is_in_them() -> None:
    assert lines(TABLE, 100) == [
        "provider           limit  queued  state",
        "api.code.umans.ai      3       7  paused for 29s (too many at once), reduced from 4",
        "日本                  12       0",
    ]


def test_the_last_column_goes_on_below_itself() -> None:
    assert lines(TABLE, 60)[1:3] == [
        "api.code.umans.ai      3       7  paused for 29s (too many",
        "                                  at once), reduced from 4",
    ]


def test_where_the_last_column_has_no_room_it_stands_below_its_row() -> None:
    assert lines(TABLE, 40) == [
        "provider           limit  queued",
        "api.code.umans.ai      3       7",
        "  paused for 29s (too many at once),",
        "  reduced from 4",
        "日本                  12       0",
    ]


def test_where_columns_have_no_room_each_row_is_a_stanza() -> None:
    assert lines(TABLE, 30) == [
        "api.code.umans.ai",
        "  limit 3, queued 7, paused",
        "  for 29s (too many at once),",
        "  reduced from 4",
        "日本",
        "  limit 12, queued 0",
    ]


def test_a_number_at_the_head_of_a_stanza_has_its_name() -> None:
    assert lines(Table(columns=(" slot", "workspace", "path"), rows=[["3", "w" * 17, "/"]]), 20) == [
        "slot 3",
        "  workspace",
        "  " + "w" * 17 + ",",
        "  /",
    ]


def test_a_row_s_style_is_that_of_all_its_lines() -> None:
    styles = [line.style for line in TABLE.lines(60)]
    assert styles == ["bold", "red", "red", ""]


def test_names_of_clients_cannot_steer_the_terminal() -> None:
    assert lines(Table(columns=("a", "b"), rows=[["\x1b[2J", "\x07"]]), 80)[1] == "\\x1b[2J  \\x07"
