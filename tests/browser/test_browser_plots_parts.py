# What the plots are made of, each part by itself: lengths and times in words, gaps, pauses, ticks, marks.

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from blackbox.rig import a_rig
from onscreen.window import Window
from playwright.async_api import Browser

MINUTE = 60_000
HOUR = 60 * MINUTE


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def window(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Window]:
    """A page in a place whose clock is set forward and back; nothing here changes it, so that one serves all."""
    async with a_rig(tmp_path_factory.mktemp("plots"), {}) as rig:
        context = await browser.new_context(locale="en-GB", timezone_id="Europe/Berlin")
        host, port = rig.proxy.admin_address
        yield await Window(await context.new_page(), f"http://{host}:{port}/").open()
        await context.close()


async def call(window: Window, module: str, name: str, *arguments: Any) -> Any:
    """What a function of one of the modules answers."""
    return await window.call(f"page/plots_{module}.js", name, *arguments)


async def test_lengths_of_time_are_as_people_say_them(window: Window) -> None:
    said = {
        0: "0 ms",
        350: "350 ms",
        999.4: "999 ms",
        999.6: "1 s",
        2440: "2.4 s",
        9949: "9.9 s",
        42_300: "42 s",
        59_600: "1 min",
        80_000: "1 min 20 s",
        3_600_000: "1 h",
        7_500_000: "2 h 5 min",
        277_200_000: "3 d 5 h",
    }
    assert {ms: await call(window, "words", "length", ms) for ms in said} == said


async def test_what_nobody_recorded_is_a_gap_between_rows(window: Window) -> None:
    points = [{"at": at * MINUTE} for at in (0, 1, 4)]
    answer = {"points": points, "stepMs": MINUTE, "since": 0, "until": 5 * MINUTE}
    rows = await call(window, "data", "rowsOf", answer)
    assert [(row["at"] / MINUTE, row["until"] / MINUTE, row["point"] is None) for row in rows] == [
        (0, 1, False),
        (1, 2, False),
        (2, 4, True),
        (4, 5, False),
    ]


async def test_present_minute_goes_as_far_as_now(window: Window) -> None:
    answer = {"points": [{"at": MINUTE, "partial": True}], "stepMs": MINUTE, "since": 0, "until": MINUTE + 20_000}
    (row,) = await call(window, "data", "rowsOf", answer)
    assert (row["until"], row["x"]) == (MINUTE + 20_000, MINUTE + 10_000)


def row(at: int, paused_ms: int) -> dict[str, Any]:
    return {"at": at * MINUTE, "until": (at + 1) * MINUTE, "point": {"pausedMs": paused_ms}}


def mark(kind: str, at: int) -> dict[str, Any]:
    return {"kind": kind, "at": at}


@pytest.mark.parametrize(
    ("rows", "marks", "bands"),
    [
        ([row(0, 0), row(1, 0)], [], []),
        # Marks say it to the moment, and of two short pauses in neighbouring minutes none is longer for that.
        ([row(0, 4_000)], [mark("paused", 12_000), mark("resumed", 16_000)], [[12_000, 16_000]]),
        (
            [row(0, 4_000), row(1, 4_000)],
            [mark("paused", 12_000), mark("resumed", 16_000), mark("paused", 70_000), mark("resumed", 74_000)],
            [[12_000, 16_000], [70_000, 74_000]],
        ),
        # One that is lengthened is one.
        (
            [row(0, 40_000)],
            [mark("paused", 10_000), mark("paused", 20_000), mark("resumed", 50_000)],
            [[10_000, 50_000]],
        ),
        # It began before, and lasts yet.
        ([row(0, 60_000), row(1, 5_000)], [mark("resumed", 65_000)], [[0, 65_000]]),
        ([row(0, 20_000), row(1, 60_000)], [mark("paused", 40_000)], [[40_000, 120_000]]),
        # Its end was not told: it ends where the minutes say.
        ([row(0, 20_000), row(1, 5_000), row(2, 0)], [mark("paused", 40_000)], [[40_000, 65_000]]),
        # No marks: as long as it was, at the end of a minute when the next one was paused throughout.
        ([row(0, 20_000), row(1, 60_000), row(2, 5_000)], [], [[40_000, 125_000]]),
        ([row(0, 10_000), row(1, 10_000)], [], [[0, 10_000], [60_000, 70_000]]),
        # Marks of the later part alone.
        (
            [row(0, 10_000), row(1, 0), row(2, 4_000)],
            [mark("paused", 130_000), mark("resumed", 134_000)],
            [[0, 10_000], [130_000, 134_000]],
        ),
        # What was not recorded is in no pause that anybody knows of.
        ([row(0, 60_000), {"at": MINUTE, "until": 2 * MINUTE, "point": None}], [], [[0, 60_000]]),
    ],
)
async def test_pauses_are_bands_as_long_as_they_were(
    window: Window, rows: list[Any], marks: list[Any], bands: list[list[int]]
) -> None:
    times = {"since": 0, "until": 10 * MINUTE}
    assert await call(window, "pauses", "bandsOf", rows, marks, times) == bands


@pytest.mark.parametrize(
    ("first", "marks", "begin"),
    [(None, [], 0), (0, [], 0), (29, [], 0), (31, [], 31), (50, [], 45), (50, [{"at": 40 * MINUTE}], 40), (59, [], 45)],
)
async def test_proxy_that_was_just_started_has_its_minutes_in_full_width(
    window: Window, first: int | None, marks: list[Any], begin: int
) -> None:
    rows = [] if first is None else [row(first, 0)]
    times = {"since": 0, "until": HOUR}
    assert await call(window, "data", "beginOf", rows, marks, times, 15 * MINUTE) == begin * MINUTE


async def test_ticks_are_round_times_of_the_viewers_clock_also_when_it_is_set_back(window: Window) -> None:
    midnight = 1_792_879_200_000  # 25 October 2026 in Berlin, a day of 25 hours
    at_noon = await call(window, "data", "timesBetween", midnight + 5, midnight + 25 * HOUR, "day", 300)
    assert [await call(window, "words", "tick", at, "day") for at in at_noon] == ["06:00", "12:00", "18:00", "00:00"]
    hour = await call(window, "data", "timesBetween", midnight + 7 * MINUTE, midnight + 67 * MINUTE, "hour", 500)
    assert [await call(window, "words", "tick", at, "hour") for at in hour] == [
        "00:10",
        "00:20",
        "00:30",
        "00:40",
        "00:50",
        "01:00",
    ]
    week = await call(window, "data", "timesBetween", midnight - 3 * 24 * HOUR, midnight + 4 * 24 * HOUR, "week", 900)
    assert [at - midnight for at in week if at >= midnight][:2] == [0, 25 * HOUR]


@pytest.mark.parametrize("width", [120, 300, 600, 2500])
@pytest.mark.parametrize(("name", "length"), [("hour", HOUR), ("day", 24 * HOUR), ("week", 7 * 24 * HOUR)])
async def test_ticks_are_some_and_have_room(window: Window, name: str, length: int, width: int) -> None:
    since = 1_792_917_123_456
    times = await call(window, "data", "timesBetween", since, since + length, name, width)
    assert 1 <= len(times) <= max(4, width / 50)
    assert all(since <= at <= since + length for at in times)


@pytest.mark.parametrize("most", [0, 1, 2, 4, 7, 12, 99, 12_345, 100_000])
@pytest.mark.parametrize("is_length", [False, True])
async def test_axis_ends_above_what_it_shows_and_counts_in_wholes(window: Window, most: int, is_length: bool) -> None:
    axis = await call(window, "data", "axisTo", most, is_length)
    steps = axis["top"] / axis["step"]
    assert axis["top"] > most
    assert axis["step"] == int(axis["step"])
    assert steps == int(steps)
    assert 1 <= steps <= 5


async def test_of_marks_in_one_place_the_weightiest_are_drawn(window: Window) -> None:
    told = [
        ("rate_limited", 10),
        ("paused", 11),
        ("rate_limited", 12),
        ("reduced", 12),
        ("resumed", 40),
        ("news", 41),
        ("paused", 70),
    ]
    script = """async ([marks, most]) => {
      const {heaviest} = await import(new URL("page/plots_marks.js", document.baseURI));
      return heaviest(marks, (at) => at, 20, most).map(({x, kinds}) => [x, ...kinds]);
    }"""
    marks = [mark(kind, at) for kind, at in told]
    assert await window.page.evaluate(script, [marks, 1]) == [[10, "reduced"], [70, "paused"]]
    assert await window.page.evaluate(script, [marks, 2]) == [[10, "reduced", "rate_limited"], [70, "paused"]]


async def test_more_in_flight_than_the_last_limit_does_not_read_as_a_broken_one(window: Window) -> None:
    kinds = "(await import(new URL('page/plots_kinds.js', document.baseURI))).KINDS"
    script = f"async (points) => {kinds}[0].comesTo(points)"
    assert await window.page.evaluate(script, [{"inFlightMax": 3, "limit": 2}]) == "at most 3, limit 2 by now"
    assert await window.page.evaluate(script, [{"inFlightMax": 2, "limit": 2}]) == "at most 2 of 2"
    changed = [{"inFlightMax": 3, "limit": 3}, {"inFlightMax": 1, "limit": 2}]
    assert await window.page.evaluate(script, changed) == "at most 3, limit 2 to 3"
