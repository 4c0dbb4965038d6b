# The writer's thread against descriptors that hang, fail and recover.

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proxy.service.log_rendering import Line, PlainLine
from proxy.service.log_writer import BATCH, LogWriter


def as_text(line: Line) -> str:
    if line.event == "log.dropped":
        return f"dropped {line.fields['lines']}"
    return line.event


def line(event: str) -> PlainLine:
    return PlainLine(0, "info", event, {})


class Pipe:
    """A pipe with a reader that begins when it is told to."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        self._text = bytearray()
        self._reader = threading.Thread(target=self._read)

    def start_reading(self) -> None:
        self._reader.start()

    def lines(self) -> list[str]:
        """Everything that was written; ends the pipe."""
        os.close(self.write_fd)
        self._reader.join()
        return self._text.decode().splitlines()

    def _read(self) -> None:
        while data := os.read(self.read_fd, 65536):
            self._text += data
        os.close(self.read_fd)


def missing(lines: list[str]) -> int:
    return sum(int(text.split()[1]) for text in lines if text.startswith("dropped"))


def test_lines_arrive_in_order_and_close_waits_for_the_last(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        writer = LogWriter(file.fileno(), as_text)
        for number in range(3 * BATCH + 1):
            writer.put(line(str(number)))
        assert writer.close(10)
    assert (tmp_path / "log").read_text().split() == [str(number) for number in range(3 * BATCH + 1)]


def test_a_pipe_that_nobody_reads_holds_up_neither_put_nor_close_for_long() -> None:
    pipe = Pipe()
    writer = LogWriter(pipe.write_fd, as_text, capacity=1000)
    for number in range(5000):
        writer.put(line(f"{number:0200}"))
    assert not writer.close(0.01)
    assert "missing" in repr(writer)
    pipe.start_reading()
    assert writer.close(10)
    pipe.lines()


def test_dropped_lines_are_counted_in_the_log_once_it_moves_again() -> None:
    pipe = Pipe()
    writer = LogWriter(pipe.write_fd, as_text, capacity=1000)
    for number in range(5000):
        writer.put(line(f"{number:0200}"))
    pipe.start_reading()
    assert writer.close(10)
    lines = pipe.lines()
    assert missing(lines) > 0
    assert missing(lines) + sum(not text.startswith("dropped") for text in lines) == 5000


def test_a_non_blocking_descriptor_loses_nothing() -> None:
    pipe = Pipe()
    os.set_blocking(pipe.write_fd, False)
    writer = LogWriter(pipe.write_fd, as_text)
    for number in range(5000):
        writer.put(line(f"{number:0200}"))
    pipe.start_reading()
    assert writer.close(10)
    assert len(pipe.lines()) == 5000


@contextmanager
def failing_writes(fd: int, monkeypatch: pytest.MonkeyPatch, *script: int) -> Iterator[threading.Semaphore]:
    """The next writes to `fd` accept so many bytes each, or fail for 0; later ones work. Released at each failure."""
    real_write, left, failures = os.write, list(script), threading.Semaphore(0)

    def write(to: int, data: bytes) -> int:
        if to != fd or not left:
            return real_write(to, data)
        if accepted := left.pop(0):
            return real_write(to, data[:accepted])
        failures.release()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", write)
    yield failures


def test_a_full_disk_costs_only_the_lines_of_that_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "log").open("wb") as file, failing_writes(file.fileno(), monkeypatch, 0, 0) as failures:
        writer = LogWriter(file.fileno(), as_text)
        for number in range(2):
            writer.put(line(f"lost {number}"))
            assert failures.acquire(timeout=10)
        writer.put(line("kept"))
        assert writer.close(10)
    assert (tmp_path / "log").read_text().splitlines() == ["kept", "dropped 2"]


def test_a_line_that_was_torn_by_a_failure_does_not_swallow_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "log").open("wb") as file, failing_writes(file.fileno(), monkeypatch, 2, 0) as failures:
        writer = LogWriter(file.fileno(), as_text)
        writer.put(line("torn"))
        assert failures.acquire(timeout=10)
        for _ in range(BATCH + 1):
            writer.put(line("kept"))
        assert writer.close(10)
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[0] == "to"
    assert sorted(lines[1:]) == ["dropped 1", *["kept"] * (BATCH + 1)]


def test_a_reader_that_has_gone_ends_nothing() -> None:
    pipe = Pipe()
    os.close(pipe.read_fd)
    writer = LogWriter(pipe.write_fd, as_text)
    writer.put(line("to nobody"))
    assert writer.close(10)
    os.close(pipe.write_fd)


def test_a_line_that_cannot_be_rendered_becomes_one_that_says_so(tmp_path: Path) -> None:
    def render(each: Line) -> str:
        if each.event == "bad":
            raise ZeroDivisionError
        return f"{each.event} {each.fields}"

    with (tmp_path / "log").open("wb") as file:
        writer = LogWriter(file.fileno(), render)
        writer.put(line("bad"))
        writer.put(line("good"))
        assert writer.close(10)
    assert (tmp_path / "log").read_text().splitlines() == [
        "log.failed {'about': 'bad', 'error': 'ZeroDivisionError'}",
        "good {}",
    ]
