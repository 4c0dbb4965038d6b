# Levels, formats, what may never be seen, and what libraries say.

import asyncio
import gc
import json
import logging
import os
import pty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.http_exceptions import BadStatusLine

from proxy.config.settings import Log as LogSettings
from proxy.errors import StoreError
from proxy.service.library_log import LibraryLog
from proxy.service.log import Log
from proxy.service.log_rendering import PlainLine, renderer, told
from proxy.service.quoting import MAX_CHARS, iso

SECRET = "sk-secret"

Said = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "log", os.O_CREAT | os.O_RDWR)
    yield fd
    os.close(fd)


@pytest.fixture
def log(file: int) -> Iterator[Log]:
    log = Log(LogSettings(), wall_ms=lambda: 1_700_000_000_007, fd=file)
    yield log
    assert log.close(10)


@pytest.fixture
def said(log: Log, tmp_path: Path) -> Said:
    """Everything that was said; the log says no more then."""

    def read() -> list[dict[str, Any]]:
        assert log.close(10)
        return [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]

    return read


def test_a_line_is_one_json_object_with_time_level_event_and_fields(log: Log, said: Said) -> None:
    log.info("request.ended", provider="p", status=200, code=None)
    assert said() == [
        {
            "timestamp": "2023-11-14T22:13:20.007Z",
            "level": "info",
            "event": "request.ended",
            "provider": "p",
            "status": 200,
            "code": None,
        }
    ]


@pytest.mark.parametrize(
    ("level", "seen"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_a_level_hides_what_is_below_it_from_the_moment_it_is_set(
    log: Log, said: Said, level: str, seen: list[str]
) -> None:
    log.configure(LogSettings(level=level))
    assert log.debugging is (level == "debug")
    for say in (log.debug, log.info, log.warning, log.error):
        say("thing.happened")
    assert [line["level"] for line in said()] == seen


def test_a_reload_changes_the_format(log: Log, tmp_path: Path) -> None:
    log.configure(LogSettings(format="console"))
    log.info("thing.happened", provider="p")
    assert log.close(10)
    assert (tmp_path / "log").read_text() == (
        "2023-11-14T22:13:20.007Z [info     ] thing.happened                 provider='p'\n"
    )


def test_auto_is_json_in_a_file_and_columns_on_a_terminal(file: int) -> None:
    line = PlainLine(0, "info", "thing.happened", {})
    main, terminal = pty.openpty()
    try:
        assert renderer("auto", file)(line).startswith("{")
        assert not renderer("auto", terminal)(line).startswith("{")
        assert renderer("json", terminal)(line).startswith("{")
    finally:
        os.close(main)
        os.close(terminal)


def test_no_color_is_respected_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    line = PlainLine(0, "info", "thing.happened", {})
    main, terminal = pty.openpty()
    try:
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert "\x1b[" in renderer("console", terminal)(line)
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b[" not in renderer("console", terminal)(line)
    finally:
        os.close(main)
        os.close(terminal)


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize("value", ["\x1b[2J", "a\nb", "a\r\n{}", "\x00", "\x9b1m", "\u2028", "\u202e", "\ud800"])
def test_no_control_character_of_a_client_reaches_the_text(file: int, form: str, value: str) -> None:
    text = renderer(form, file)(PlainLine(0, "info", "request.ended", {"workspace": value, "path": [value]}))
    assert text.isprintable()
    text.encode()


def test_a_long_value_is_cut(file: int) -> None:
    text = renderer("json", file)(PlainLine(0, "info", "request.ended", {"workspace": "x" * (MAX_CHARS + 1)}))
    assert json.loads(text)["workspace"] == "x" * MAX_CHARS + "…"


def test_a_value_that_json_does_not_know_is_written_as_text(file: int) -> None:
    text = renderer("json", file)(PlainLine(0, "info", "state.damaged", {"path": Path("/a")}))
    assert json.loads(text)["path"] == "/a"


def test_times_are_utc_with_milliseconds() -> None:
    assert iso(0) == "1970-01-01T00:00:00.000Z"
    assert iso(1_700_000_000_999) == "2023-11-14T22:13:20.999Z"


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except type(error) as caught:
        return caught


def test_an_exception_is_told_by_type_and_place_without_its_words() -> None:
    text = told(raised(ValueError(f"invalid literal: {SECRET!r}")))
    assert SECRET not in text
    assert text.splitlines()[0] == "ValueError"
    assert f"{__file__}:" in text
    assert text.endswith(" raised")


def test_words_of_our_errors_and_the_systems_are_told() -> None:
    text = told(raised(StoreError("state cannot be written"), raised(OSError(28, "No space left on device"))))
    assert "StoreError: state cannot be written\n" in text
    assert "OSError: [Errno 28] No space left on device\n" in text


def crash(*, suppress: bool) -> None:
    try:
        raise KeyError(SECRET)
    except KeyError:
        if suppress:
            raise RuntimeError from None
        raise RuntimeError  # noqa: B904


def test_what_happened_while_an_exception_was_handled_is_told_unless_it_is_suppressed() -> None:
    with pytest.raises(RuntimeError) as error:
        crash(suppress=False)
    assert "\nKeyError\n" in told(error.value)
    with pytest.raises(RuntimeError) as error:
        crash(suppress=True)
    assert "KeyError" not in told(error.value)


def test_exc_info_true_is_the_exception_being_handled(log: Log, said: Said) -> None:
    try:
        raise KeyError(SECRET)
    except KeyError:
        log.error("task.crashed", exc_info=True)
    log.error("task.crashed", exc_info=None)
    first, second = said()
    assert first["exception"].startswith("KeyError\n")
    assert "exc_info" not in first
    assert "exception" not in second


def test_a_librarys_line_is_told_without_what_it_quotes(log: Log, said: Said) -> None:
    logger = logging.Logger("aiohttp.server")
    logger.addHandler(LibraryLog(log))
    logger.error("Error handling request from %s", SECRET, exc_info=raised(ValueError(SECRET)))
    logger.warning(f"first line\nAuthorization: {SECRET}")
    logger.info("nothing to look at")
    error, warning = said()
    assert (error["level"], error["event"], error["logger"]) == ("error", "library.logged", "aiohttp.server")
    assert error["words"] == "Error handling request from %s"
    assert error["exception"].startswith("ValueError\n")
    assert (warning["level"], warning["words"]) == ("warning", "first line")
    assert SECRET not in json.dumps([error, warning])


def test_what_a_peer_sent_that_is_no_http_is_no_error_of_ours(log: Log, said: Said) -> None:
    """Any port scanner would fill the log."""
    logger = logging.Logger("aiohttp.server")
    logger.addHandler(LibraryLog(log))
    logger.error("Error handling request from %s", SECRET, exc_info=raised(BadStatusLine(SECRET)))
    logger.error("something else")
    (line,) = said()
    assert line["words"] == "something else"


def test_a_task_that_nobody_awaited_is_told_without_its_words(
    log: Log, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash_unseen() -> None:
        async def crash() -> None:
            raise ValueError(SECRET)

        await asyncio.wait([asyncio.create_task(crash())])
        gc.collect()

    handler = LibraryLog(log)
    logger = logging.getLogger("asyncio")
    monkeypatch.setattr(logger, "propagate", False)
    logger.addHandler(handler)
    asyncio.run(crash_unseen())
    logger.removeHandler(handler)
    (line,) = said()
    assert line["words"] == "Task exception was never retrieved"
    assert line["exception"].startswith("ValueError\n")
    assert SECRET not in json.dumps(line)
