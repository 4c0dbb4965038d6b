# The demo as a person starts it: real processes, real requests, and nothing left behind.

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playing import PATIENCE_S, Playing, answers, call, event

Play = Callable[..., Playing]


def test_agents_wait_work_and_are_refused_until_ctrl_c_ends_it_without_a_trace(play: Play) -> None:
    demo = play("--refusals", "0.3")
    ready = demo.ready()
    assert ready.items() >= {"agents": 8, "limit": 2, "seed": 1}.items()
    demo.until(
        event("starred", workspaceId=ready["starred"], starred=True),
        event("prompt_done"),
        event("provider_refused", why="chance"),
        event("rate_limited", kind="concurrency"),
        event("paused"),
        event("reduced", limit=1),
        event("resumed"),
        lambda document: document["event"] == "state" and document["queued"] > 3,
    )
    assert call(ready["admin"], "GET", "/")[0] == 200
    assert demo.stop(signal.SIGINT) == 0
    assert demo.left_behind() == []
    summary = demo.summary()
    assert summary["refusedOverLimit"] == 0
    assert summary["mostAtOnce"] <= 2
    assert 1 <= summary["refusedSeen"] <= summary["refusedByChance"]
    assert summary["prompts"] == sum(map(event("prompt_done"), demo.told))
    assert summary["answers"] == sum(map(event("answered"), demo.told))
    assert summary["longestWaitMs"] > 0
    assert summary["otherFailures"] == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_it_as_well(play: Play, number: int) -> None:
    demo = play()
    demo.ready()
    assert demo.stop(number) == 0
    assert demo.left_behind() == []
    assert demo.summary()["agents"] == 8


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_proxy_is_ready_leaves_nothing_either(play: Play, number: int) -> None:
    demo = play()
    while not list(demo.temporary.iterdir()):
        assert demo.process.poll() is None
    assert demo.stop(number) == 0
    assert demo.told == []
    assert list(demo.temporary.iterdir()) == []


def test_who_waits_is_known_by_the_names_of_eight_agents(play: Play) -> None:
    demo = play("--refusals", "0")
    ready = demo.ready()
    conversations, workspaces, started = set(), set(), []
    while len(conversations) < 8:  # until each was seen; a state comes every second
        shown = json.loads(call(ready["admin"], "GET", "/concurrency/slots/demo")[1])
        for each in (*shown["slots"], *shown["waiters"]):
            conversations.add(each["conversationId"])
            workspaces.add(each["workspaceId"])
            started.append(each["promptStartedAt"])
        demo.told.clear()
        demo.until(event("state"))
    assert None not in conversations
    assert workspaces == {"web-shop", "billing-api", "ios-app", "data-pipeline", "docs-site", "search", "infra"}
    assert all(started)


def test_it_ends_by_itself_when_the_time_is_up(play: Play) -> None:
    demo = play("--seconds", "2", "--agents", "3", "--refusals", "0")
    assert demo.rest() == ""
    assert demo.process.returncode == 0
    assert demo.left_behind() == []
    assert demo.summary()["agents"] == 3
    assert demo.summary()["lastedMs"] >= 2000


def test_a_provider_that_was_sent_too_many_after_its_limit_was_raised_is_told_and_no_fault(play: Play) -> None:
    demo = play("--refusals", "0")
    status, _ = call(demo.ready()["admin"], "PUT", "/concurrency/limits/demo", {"limit": 6})  # as on the page
    assert status == 200
    demo.until(event("provider_refused", why="over"))
    assert demo.stop() == 0
    assert demo.summary()["refusedOverLimit"] >= 1
    assert demo.summary()["limitRaised"] is True
    assert demo.left_behind() == []


def test_a_provider_that_was_sent_more_than_its_limit_is_told_and_is_the_exit_status(play: Play) -> None:
    demo = play("--refusals", "0", "--speed", "20")
    provider = json.loads(call(demo.ready()["admin"], "GET", "/config")[1])["upstreams"]["demo"]["url"]
    demo.until(event("answered"))
    while not any(map(event("provider_refused", why="over"), demo.told)):
        call(provider, "POST", "/v1/messages", {})  # past the proxy
        del demo.told[1:]
        demo.until(event("state"))
    assert demo.stop() == 1
    assert demo.summary()["limitRaised"] is False
    assert "more than its 2 requests at once" in demo.told[-1]["error"]["message"]


def test_a_proxy_that_dies_first_ends_the_demo_which_says_so(play: Play) -> None:
    demo = play()
    os.kill(demo.ready()["proxyPid"], signal.SIGKILL)
    assert demo.rest() == ""
    assert demo.process.returncode == 1
    assert "the proxy ended by itself (status -9)" in demo.told[-1]["error"]["message"]
    assert demo.left_behind() == []


def test_a_proxy_that_cannot_start_is_told_in_its_own_words(play: Play, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "uvloop.py").write_text("raise SystemExit('no loop today')")
    demo = play(PYTHONPATH=str(other))
    assert demo.rest() == ""
    assert demo.process.returncode == 1
    assert "no loop today" in demo.told[-1]["error"]["message"]
    assert list(demo.temporary.iterdir()) == []


def test_the_page_is_opened_when_it_is_asked_for(play: Play, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    demo = play("--open", BROWSER=f"{browser} %s")
    page = demo.ready()["page"]
    demo.until(lambda _: opened.exists())
    assert opened.read_text() == page
    assert demo.stop() == 0


def test_a_demo_that_is_killed_takes_its_proxy_with_it(play: Play) -> None:
    demo = play()
    ready = demo.ready()
    demo.process.kill()
    demo.process.wait(PATIENCE_S)
    end_at = time.monotonic() + PATIENCE_S
    while answers(ready["admin"]):
        assert time.monotonic() < end_at, "its proxy is still there"
        time.sleep(0.05)
