# The bench's arithmetic, its command line, and the messages it counts by; nothing here takes a time.

import io
import json
import os
from pathlib import Path

import pytest

from .bench import QUICK, Plan, Window
from .bodies import in_bytes
from .bulk import _answer
from .figures import Row, Spread, Watched, percentile, spread
from .fronts import HAPROXY, NGINX
from .messages import (
    ANSWER,
    CHUNK,
    EVENT,
    MARK,
    SHORT,
    STREAM_BEGIN,
    STREAM_END,
    UNDATED,
    dated_now,
    post,
    stamped,
    stamps,
)
from .options import ROWS, parser, plan
from .processor import machine_ns, run_ns, ticks
from .report import document, lost, markdown, number, pace, read, strangers, table
from .upstream import query_and_length


def a_row(**changes: object) -> Row:
    values = {"slotgate": [60.0, 100.0, 90.0], "haproxy": [20.0, 25.0, 45.0]}
    return Row(**{"key": "post", "label": "POST", "unit": "µs", "values": values, "compared": "times", **changes})


# --- arithmetic ---


def test_spread_is_the_median_between_the_ends() -> None:
    assert spread([3.0, 1.0, 10.0]) == Spread(3.0, 1.0, 10.0)


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_percentile_is_a_value_that_was_seen(share: float, value: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == value


def test_ratio_is_made_round_by_round() -> None:
    assert a_row().comparison() == Spread(3.0, 2.0, 4.0)


def test_cheaper_is_the_ratio_the_other_way_round() -> None:
    row = a_row(compared="cheaper", base="rival", values={"slotgate": [2.0, 4.0], "rival": [50.0, 84.0]}, goal=20)
    assert row.comparison() == Spread(23.0, 21.0, 25.0)


def test_added_is_the_difference_of_each_round() -> None:
    row = a_row(compared="added", base="direct", values={"slotgate": [1.5, 2.0], "direct": [1.0, 1.0]})
    assert row.comparison() == Spread(0.75, 0.5, 1.0)


def test_nothing_is_compared_with_a_front_that_is_not_installed() -> None:
    row = a_row(values={"slotgate": [1.0]}, must=6, goal=3)
    assert row.comparison() is None
    assert row.verdict() == ""


@pytest.mark.parametrize(("must", "goal", "verdict"), [(6, 3, "goal"), (3, 2, "must"), (2.9, 1, "missed")])
def test_verdict_says_which_bound_holds(must: float, goal: float, verdict: str) -> None:
    assert a_row(must=must, goal=goal).verdict() == verdict


@pytest.mark.parametrize(("share", "verdict"), [(99.5, "goal"), (99.4, "must"), (97.9, "missed")])
def test_some_bounds_are_to_be_exceeded(share: float, verdict: str) -> None:
    row = a_row(compared="itself", values={"slotgate": [share]}, must=98, goal=99.5, at_least=True)
    assert row.verdict() == verdict


def test_processor_time_of_a_unit_is_in_microseconds() -> None:
    window = Window(
        units=1000,
        took_ns=2 * 10**9,
        used_ns=33_000_000,
        kernel=0.75,
        front_busy=0.5,
        load_busy=0.5,
        strangers=0.0,
    )
    assert window.us_per_unit == 33.0
    assert window.kernel_us_per_unit == 24.75
    assert window.a_second == 500.0


def test_schedstat_begins_with_the_time_on_the_processor() -> None:
    assert run_ns("123456789 22 7\n") == 123456789


def test_ticks_of_a_process_stand_after_its_name() -> None:
    assert ticks("77 (a ) 1) S 1 2 3 4 5 6 7 8 9 10 314 159 0 0 20 0\n") == (314, 159)


def test_machine_has_worked_whatever_was_not_idle() -> None:
    tick = 10**9 // os.sysconf("SC_CLK_TCK")
    assert machine_ns("cpu  1 2 4 1000 2000 8 16 32 0 0\ncpu0 …") == 63 * tick


@pytest.mark.parametrize(
    ("size", "words"), [(512, "512 B"), (1 << 10, "1 KiB"), (1 << 24, "16 MiB"), (1 << 30, "1 GiB")]
)
def test_sizes_are_told_in_their_unit(size: int, words: str) -> None:
    assert in_bytes(size) == words


# --- what is told ---


def test_lost_units_are_added_up() -> None:
    assert lost([a_row(lost=2), a_row(), a_row(lost=1)]) == 3


@pytest.mark.parametrize(
    ("front", "load", "kept", "held_up"),
    [(0.91, 0.99, None, False), (0.6, 0.99, None, True), (0.3, 0.4, 1.0, False), (0.3, 0.4, 0.9, True)],
    ids=["front at its end", "load at its end", "paced", "paced and late"],
)
def test_who_was_held_up_is_said(front: float, load: float, kept: float | None, held_up: bool) -> None:
    seen = Watched(front=front, load=load, strangers=0.0, kept=kept)
    assert [line.endswith("HELD UP") for line in pace([a_row(watched={"haproxy": seen})])] == [held_up]


def test_strangers_are_told_by_their_worst_moment() -> None:
    seen = {str(share): Watched(front=0.1, load=0.1, strangers=share) for share in (0.2, 0.7, 0.3)}
    assert strangers([a_row(), a_row(watched=seen)]) == 0.7


def test_table_has_medians_the_comparison_and_the_verdict() -> None:
    cells = table([a_row(must=6, goal=3, lost=0)]).splitlines()[1].split()
    assert cells == [
        "POST",
        "µs",
        "90.0",
        "–",
        "25.0",
        "–",
        "–",
        "–",
        "3.00",
        "×",
        "(2.00–4.00)",
        "6",
        "×",
        "3",
        "×",
        "goal",
        "0",
    ]


@pytest.mark.parametrize(
    ("value", "told"),
    [(12345.6, "12,346"), (99.94, "99.9"), (9.876, "9.88"), (0.0456, "0.046"), (0, "0"), (-2.5, "-2.50")],
)
def test_numbers_have_three_digits(value: float, told: str) -> None:
    assert number(value) == told


def test_markdown_has_the_rows_that_are_bounded() -> None:
    facts = {"commit": "abc", "machine": "M, 2 cores", "system": "Linux 6", "python": "CPython 3"}
    bounded = a_row(must=6, goal=3)
    added = a_row(compared="added", base="direct", values={"slotgate": [1.5], "direct": [1.0]}, unit="ms", goal=0.15)
    assert markdown(facts, [bounded, a_row(), added]).splitlines() == [
        "|  | Slotgate | beside it | compared | must | goal | reached |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| POST, µs | 90.0 | HAProxy 25.0 | 3.00 × | 6 × | 3 × | goal |",
        "| POST, ms | 1.50 | direct 1.00 | +0.500 |  | + 0.15 | missed |",
        "",
        "Medians of all rounds; abc, M, 2 cores, Linux 6, CPython 3.",
    ]


def test_figures_that_were_written_are_read_again() -> None:
    rows = [
        a_row(must=6, goal=3, lost=0),
        a_row(size=10, watched={"nginx": Watched(front=0.1, load=0.2, strangers=0.3, kept=1.0)}),
    ]
    assert read(json.loads(json.dumps(document({"commit": "abc"}, rows)))) == rows


# --- the command line ---


def test_all_rows_are_measured_at_length_unless_told_otherwise() -> None:
    options = parser().parse_args([])
    assert options.only == tuple(ROWS)
    assert plan(options) == Plan()


def test_quick_rows_in_their_own_order() -> None:
    options = parser().parse_args(["--quick", "--only", "chunk,post", "--json", "a.json", "--plot", "a.svg"])
    assert options.only == ("post", "chunk")
    assert plan(options) == QUICK
    assert (options.json, options.plot) == (Path("a.json"), Path("a.svg"))


def test_unknown_row_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--only", "post,posts"])
    assert "no row posts; there are post, chunk" in capsys.readouterr().err


# --- what goes through the fronts ---


def test_events_have_their_size_and_one_mark() -> None:
    assert len(EVENT) == 100
    assert EVENT.endswith(b"\n\n")
    assert CHUNK == b"64\r\n" + EVENT + b"\r\n"
    assert STREAM_BEGIN.count(MARK) == CHUNK.count(MARK) == 1
    assert MARK not in STREAM_END


def test_stamped_chunks_say_when_they_were_sent() -> None:
    sent = stamped(123_456_789) + stamped(2**60)
    assert len(sent) == 2 * len(CHUNK)
    assert stamps(sent) == [123_456_789, 2**60]
    cut = CHUNK.index(MARK) + 10
    assert stamps(CHUNK + sent[:cut]) == []
    assert stamps(sent[cut:]) == [2**60]


@pytest.mark.parametrize(
    ("head", "read"),
    [
        (b"POST /up/v1?short HTTP/1.1\r\nHost: a\r\ncontent-length: 1024\r\nAccept: b", (b"short", 1024)),
        (b"POST /up/v1?short= HTTP/1.1\r\nContent-Length: 7", (b"short", 7)),
        (b"GET /up/v1?down=99 HTTP/1.1\r\nHost: a", (b"down=99", 0)),
    ],
)
def test_upstream_reads_query_and_length(head: bytes, read: tuple[bytes, int]) -> None:
    assert query_and_length(head) == read


def test_bodies_of_a_short_post_are_1_kib_of_json() -> None:
    asked = post("/up?short").partition(b"\r\n\r\n")[2]
    assert len(asked) == len(ANSWER) == 1024
    assert json.loads(asked)["model"] == json.loads(ANSWER)["model"] == "m"
    assert SHORT.endswith(b"Content-Length: 1024\r\n\r\n" + ANSWER)


class Received(io.BytesIO):
    """A socket that has received this."""

    def recv(self, size: int) -> bytes:
        return self.read(size)

    def recv_into(self, room: bytearray) -> int:
        return self.readinto(room)


@pytest.mark.parametrize(
    ("answer", "size"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", 5),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", 3),
        (b"HTTP/1.1 413 No\r\nContent-Length: 5\r\n\r\nhello", -1),
        (b"HTTP/1.1 2", -1),
    ],
    ids=["whole", "cut", "refused", "cut in its head"],
)
def test_bulk_counts_what_arrived(answer: bytes, size: int) -> None:
    assert _answer(Received(answer), bytearray(4)) == size


def test_peers_run_one_thread_and_hold_nothing_back() -> None:
    assert "nbthread 1" in HAPROXY
    assert "option http-no-delay" in HAPROXY
    assert "master_process off" in NGINX
    assert "proxy_buffering off" in NGINX


def test_dated_message_says_the_time_of_each_call_and_an_undated_one_stays() -> None:
    message = post("/up", dated=True)
    assert len(dated_now(message)) == len(message)
    assert UNDATED.encode() in message
    assert UNDATED.encode() not in dated_now(message)
    assert dated_now(post("/up")) == post("/up")


def test_one_process_stands_beside_replicas() -> None:
    row = a_row(values={"slotgate": [1.5], "alone": [0.5]}, compared="added", base="alone", must=1)
    facts = {"commit": "abc", "machine": "M", "system": "Linux 6", "python": "CPython 3"}
    assert "one process 0.500" in markdown(facts, [row])
    assert "0.500" in table([row])
