# What a person reads while the demo runs.

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import click.testing
import pytest

from proxy.cli import cli
from proxy.cli import demo_words as words
from proxy.cli.demo import Screen

SUMMARY = {
    "event": "summary",
    "lastedMs": 125_000,
    "agents": 8,
    "limit": 2,
    "prompts": 1,
    "answers": 14,
    "refusedSeen": 2,
    "otherFailures": {"cut": 1, "queue_timeout": 3},
    "longestWaitMs": 61_000,
    "refusedByChance": 2,
    "refusedOverLimit": 1,
    "mostAtOnce": 2,
    "limitRaised": False,
}
STATE = {"event": "state", "at": 0, "limit": 2, "inFlight": 2, "queued": 5, "oldestWaitMs": 9000, "paused": False}


def test_the_closing_words_hide_nothing() -> None:
    assert words.closing(SUMMARY) == [
        "In 2 min 5 s 8 agents finished 1 prompt with 14 answers.",
        "They saw 2 × 429, 1 × cut, 3 × queue_timeout; the longest wait for an answer to begin was 1 min 1 s.",
        "The provider never answered more than 2 at once (its limit is 2). It refused 3 requests: 2 by chance, "
        "1 because there were too many.",
    ]
    raised = words.closing({**SUMMARY, "limitRaised": True})
    assert raised[-1].endswith("1 because there were too many, after the limit was raised by hand.")
    assert not words.closing({**SUMMARY, "limitRaised": True, "refusedOverLimit": 0})[-1].endswith("by hand.")


@pytest.mark.parametrize("option", ["--speed", "--refusals", "--seconds"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_what_is_no_number_is_refused(option: str, value: str) -> None:
    result = click.testing.CliRunner().invoke(cli, ["demo", option, value])
    assert result.exit_code == 2
    assert "Invalid value" in result.stderr


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "2 of 2 slots in use · 5 wait, the longest for 9 s · 1 answer so far"),
        ({"queued": 0, "oldestWaitMs": None}, "2 of 2 slots in use · 0 wait · 1 answer so far"),
        ({"limit": None}, "2 of ∞ slots in use · 5 wait, the longest for 9 s · 1 answer so far"),
        ({"paused": True}, "paused · 2 of 2 slots in use · 5 wait, the longest for 9 s · 1 answer so far"),
    ],
)
def test_how_things_stand_is_one_line(changes: dict[str, object], line: str) -> None:
    assert words.standing({**STATE, **changes}, 1) == line


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({"event": "paused", "at": 1000, "until": 9000, "cause": "concurrency"}, "paused for 8 s: too many at once"),
        ({"event": "paused", "at": 0, "until": 3_900_000, "cause": "new"}, "paused for 1 h 5 min: new"),
        ({"event": "limit_set", "limit": None}, "the limit is gone"),
        ({"event": "starred", "workspaceId": "a", "starred": False}, "a waits its turn like the others"),
        ({"event": "reclaimed", "workspaceId": "a"}, "a slot of a was taken back"),
        ({"event": "answered", "answers": 3}, ""),
    ],
)
def test_news_are_sentences(document: dict[str, object], line: str) -> None:
    assert words.news(document) == line


def test_a_name_that_would_steer_the_terminal_is_shown_instead(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().show({"event": "reclaimed", "at": 0, "workspaceId": "a\x1b[2Jb"})
    assert capsys.readouterr().out == "  0:00  a slot of a\\x1b[2Jb was taken back\n"


def test_where_there_is_no_terminal_the_standing_is_told_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    for at in range(0, 30_000, 1000):
        screen.show({**STATE, "at": at})
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize("option", ["--agents=0", "--limit=0", "--speed=0", "--refusals=2", "--seconds=0", "--seed=-1"])
def test_a_demo_that_makes_no_sense_is_refused(option: str) -> None:
    result = click.testing.CliRunner().invoke(cli, ["demo", option])
    assert result.exit_code == 2
    assert option.split("=")[0] in result.stderr


def test_on_a_terminal_the_last_line_is_kept_up_to_date() -> None:
    ours, theirs = pty.openpty()
    demo = subprocess.Popen(
        [sys.executable, "-m", "proxy", "demo", "--speed", "20", "--seed", "1"], stdin=theirs, stdout=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        while shown.count(b"\r\x1b[2K") < 3 or b"done with a prompt" not in shown:
            shown += os.read(ours, 65536)  # the test's time-out is its limit
        demo.send_signal(signal.SIGINT)
        while more := _read(ours):
            shown += more
    finally:
        demo.terminate()
        assert demo.wait(60) == 0
        os.close(ours)
    opening, _, rest = shown.decode().partition("Ctrl-C")
    assert "http://127.0.0.1:" in opening
    assert f"{sys.executable} -m proxy top --admin http" in opening
    assert "slots in use" in rest
    assert rest.rstrip().endswith("because there were too many.")


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:  # EIO: the other end is closed
        return b""


@pytest.mark.parametrize(("on_path", "shown"), [(True, "slotgate"), (False, "{folder}/slotgate")])
def test_the_command_to_go_on_with_is_the_one_that_was_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, on_path: bool, shown: str
) -> None:
    command = tmp_path / "slotgate"
    command.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(command)])
    monkeypatch.setenv("PATH", str(tmp_path) if on_path else "/nowhere")
    ready = {"event": "ready", "at": 0, "agents": 8, "limit": 2, "page": "P", "admin": "A", "clients": "C"}
    Screen().show(ready)
    assert f"  steer it  {shown.format(folder=tmp_path)} top --admin A\n" in capsys.readouterr().out
