import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.config import parse_duration, parse_size, show_duration, show_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("350ms", 0.35), ("5s", 5.0), ("10m", 600.0), ("1h", 3600.0), ("1d", 86400.0), ("1m30s", 90.0)),
        *(("2.5s", 2.5), ("0", 0.0), ("0s", 0.0), ("0.5ms", 0.0005)),
    ],
)
def test_a_duration_is_read_as_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["5", "5.0", "00", "-5s", "5 s", " 5s", "5s ", "5sec", "s", "", "1e3s", "٥s", "5S", ".5s", "inf"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unit"):
        parse_duration(text)


def test_a_number_alone_is_told_that_its_unit_is_missing() -> None:
    with pytest.raises(ValueError, match="without a unit: ms, s, m, h or d"):
        parse_duration("30")
    with pytest.raises(ValueError, match="without a unit: KiB, MiB or GiB"):
        parse_size("30")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1KiB", 1024), ("64MiB", 64 * 1024**2), ("1.5GiB", 3 * 512 * 1024**2), ("0.5KiB", 512), ("0", 0)],
)
def test_a_size_is_read_as_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["64MB", "64M", "64mib", "64", "-1KiB", "0.3KiB", "64 MiB", "KiB", "", "1e3KiB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"unit|whole number of bytes"):
        parse_size(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(600.0, "10m"), (90.0, "90s"), (0.35, "350ms"), (0.0, "0s"), (86400.0, "1d"), (7200.0, "2h"), (1.5, "1500ms")],
)
def test_a_duration_is_shown_in_the_largest_unit_that_fits(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


@given(st.integers(0, 10**9))
def test_a_shown_duration_reads_back_the_same(ms: int) -> None:
    assert parse_duration(show_duration(ms / 1000)) == ms / 1000


@given(st.integers(0, 2**40))
def test_a_shown_size_reads_back_the_same(size: int) -> None:
    assert parse_size(show_size(size)) == size
