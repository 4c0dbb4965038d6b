# How a prompt start is written, and what is no time at all.

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.web.identity_headers import BAD, prompt_start

NOW_MS = 1_764_412_200_500  # 2025-11-29T10:30:00.5Z


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("1764412140250", 1764412140250),
        ("1764412140250.9", 1764412140251),
        ("1764412140", 1764412140000),
        ("1764412140.25", 1764412140250),
        ("2025-11-29T10:29:00Z", 1764412140000),
        ("2025-11-29t10:29:00.25z", 1764412140250),
        ("2025-11-29T12:29:00+02:00", 1764412140000),
        ("2025-11-29 10:29:00", 1764412140000),
        ("20251129T102900Z", 1764412140000),
        ("2025-11-29", 1764374400000),
        (1764412140250, 1764412140250),
        (1764412140, 1764412140000),
        (1764412140.25, 1764412140250),
        (1764412140250.0, 1764412140250),
        ("2000", 2_000_000),
        ("1970-01-01T00:00:01Z", 1000),
    ],
)
def test_milliseconds_seconds_and_iso_8601_are_times(value: object, ms: int) -> None:
    assert prompt_start(value, NOW_MS) == ms


@pytest.mark.parametrize(
    "value",
    ["1764412201", "1764412200501", "2025-11-29T10:31:00Z", "9999-12-31T23:59:59Z", "9" * 20, 10**30, 1e300, 10**400],
)
def test_the_future_is_now(value: object) -> None:
    assert prompt_start(value, NOW_MS) == NOW_MS


@pytest.mark.parametrize("value", [None, ""])
def test_nothing_is_nothing(value: object) -> None:
    assert prompt_start(value, NOW_MS) is None


@pytest.mark.parametrize(
    "value",
    [
        "soon",
        "0",
        "1970-01-01",
        "-1764412140",
        "+1764412140",
        "1e12",
        "0x1234567890ab",
        "1_764_412_140",
        "１７６４４１２１４０",
        "1969-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "2025-02-30T00:00:00Z",
        "2025-11-29T10:29:60Z",
        "2025-11-29T10:29:00ZZ",
        "Sat, 29 Nov 2025 10:29:00 GMT",
        "9" * 5000,
        "inf",
        "nan",
        -5,
        True,
        math.inf,
        -math.inf,
        math.nan,
        [],
        {},
        [1764412140],
    ],
)
def test_what_is_no_time_or_before_the_epoch_is_unreadable(value: object) -> None:
    assert prompt_start(value, NOW_MS) is BAD


@given(
    st.text()
    | st.integers()
    | st.floats()
    | st.datetimes().map(str)
    | st.datetimes().map(lambda d: d.isoformat() + "+14:00")
)
def test_anything_is_a_time_until_now_or_nothing_or_unreadable(value: object) -> None:
    start = prompt_start(value, NOW_MS)
    assert start in (None, BAD) or 0 < start <= NOW_MS
