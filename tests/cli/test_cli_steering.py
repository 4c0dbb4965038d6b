# star, unstar, reload, status.

import json
import time
from typing import Any

import pytest
from fake_admin_api import Api, Run

ENTRY: dict[str, Any] = {
    "providerId": "api.code.umans.ai",
    "limit": 3,
    "inFlight": 3,
    "queued": 7,
    "paused": False,
    "cooldownMs": 350,
    "autoReduced": False,
    "held": 2,
    "cooling": 1,
    "oldestWaitMs": 12_345,
}
IDLE = {**ENTRY, "providerId": "idle", "limit": None, "inFlight": 0, "held": 0, "cooling": 0, "queued": 0} | {
    "oldestWaitMs": None
}
STATUS: dict[str, Any] = {
    "version": "0.1.0",
    "startedAt": 1,
    "listen": ["127.0.0.1:8787"],
    "config": {"path": None, "loadedAt": 1, "error": None},
    "state": {"kind": "sqlite", "ok": True},
}


def with_status(api: Api, *entries: dict[str, Any], **changes: Any) -> None:
    api.answers["GET /status"] = (200, {**STATUS, **changes})
    api.answers["GET /concurrency/status?all=1"] = (200, {"providers": list(entries)})


def test_star_and_unstar_say_what_the_workspace_has(api: Api, run: Run) -> None:
    answer = {"workspaceId": "a b", "starred": False, "queued": 2, "inFlight": 1}
    api.answers["PUT /concurrency/workspaces/a%20b"] = (200, answer)
    result = run("unstar", "a b", "--admin", api.url)
    assert (result.exit_code, result.stdout) == (0, "a b: not starred, 1 in flight, 2 queued\n")
    assert api.last.body == {"starred": False}


def test_a_name_cannot_steer_the_terminal(api: Api, run: Run) -> None:
    answer = {"workspaceId": "\rx\x9b2J", "starred": True, "queued": 0, "inFlight": 0}
    api.answers["PUT /concurrency/workspaces/x"] = (200, answer)
    assert run("star", "x", "--admin", api.url).stdout == "\\rx\\x9b2J: starred, 0 in flight, 0 queued\n"


def test_reload_lists_what_changed_and_what_needs_a_restart(api: Api, run: Run) -> None:
    api.answers["POST /reload"] = (200, {"changed": ["listen", "upstreams.x.limit"], "needsRestart": ["listen"]})
    result = run("reload", "--admin", api.url)
    assert (result.exit_code, result.stdout) == (0, "changed: listen, upstreams.x.limit\n")
    assert result.stderr == "slotgate: only a restart changes listen\n"
    api.answers["POST /reload"] = (200, {"changed": [], "needsRestart": []})
    assert run("reload", "--admin", api.url).stdout == "nothing changed\n"


def test_reload_of_a_broken_configuration_shows_each_error_and_ends_with_78(api: Api, run: Run) -> None:
    errors = [{"file": "f", "line": 1, "path": "a", "message": f"f:{n}: a: found b"} for n in (1, 2)]
    api.answers["POST /reload"] = (422, {"error": {"code": "c", "message": "m"}, "errors": errors})
    result = run("reload", "--admin", api.url)
    assert (result.exit_code, result.stderr) == (78, "f:1: a: found b\nf:2: a: found b\n")
    as_json = run("reload", "--admin", api.url, "--json")
    assert as_json.exit_code == 78
    assert json.loads(as_json.stdout)["errors"] == ["f:1: a: found b", "f:2: a: found b"]


def test_status_has_a_row_for_each_provider_that_is_limited_or_at_work(api: Api, run: Run) -> None:
    with_status(api, ENTRY, IDLE)
    result = run("status", "--admin", api.url)
    header, row, rest, pointer = result.stdout.splitlines()
    assert header.split() == ["provider", "limit", "held", "cooling", "queued", "oldest", "wait", "cooldown", "state"]
    assert row.split() == ["api.code.umans.ai", "3", "2", "1", "7", "12", "s", "350ms"]
    assert pointer == "slotgate slots api.code.umans.ai shows who waits"
    assert rest == "1 without a limit and idle (--all shows them)"
    assert "idle  " in run("status", "--all", "--admin", api.url).stdout


def test_status_has_a_row_for_an_unlimited_provider_at_work_too(api: Api, run: Run) -> None:
    with_status(api, {**IDLE, "inFlight": 1}, {**IDLE, "queued": 1}, {**IDLE, "paused": True}, IDLE)
    assert run("status", "--admin", api.url).stdout.count("\nidle ") == 3


def test_status_has_a_row_for_a_provider_whose_limit_is_to_be_learned(api: Api, run: Run) -> None:
    with_status(api, {**IDLE, "limitAuto": True}, IDLE)
    _, row, *rest = run("status", "--admin", api.url).stdout.splitlines()
    assert row.split()[:2] == ["idle", "auto"]
    assert rest == ["1 without a limit and idle (--all shows them)"]
    with_status(api, {**ENTRY, "limitAuto": True})
    assert " 3 (auto) " in run("status", "--admin", api.url).stdout


def test_status_says_that_nothing_waits_where_nothing_has_a_limit(api: Api, run: Run) -> None:
    words = "no provider has a limit, so nothing waits; set one: slotgate limit PROVIDER N\n"
    with_status(api, IDLE)
    assert run("status", "--admin", api.url).stdout.endswith(words)
    with_status(api, IDLE, ENTRY)
    assert words not in run("status", "--admin", api.url).stdout


def test_status_shows_pause_reduction_and_notice(api: Api, run: Run) -> None:
    seen = {"at": 1_800_000_000_000, "status": 429, "kind": "rate", "retryAfterMs": None, "inFlight": 4}
    evidence = [{**seen, "status": status} for status in (426, 427, 428)] + [{**seen, "retryAfterMs": 2000}]
    reduced = {
        "autoReduced": True,
        "autoReducedFrom": 4,
        "notice": "restore manually when ready.",
        "evidence": evidence,
    }
    with_status(api, {**ENTRY, **reduced, "paused": True, "pausedUntil": 1, "pauseCause": "rate"})
    lines = run("status", "--admin", api.url).stdout.splitlines()
    assert lines[1].endswith("paused for 0 s (too fast), reduced from 4")
    assert lines[2] == "api.code.umans.ai: restore manually when ready."
    assert [line.partition(":")[2][5:] for line in lines[3:6]] == [
        "  427 too fast, 4 in flight",
        "  428 too fast, 4 in flight",
        "  429 too fast, retry after 2 s, 4 in flight",
    ]
    assert lines[6:] == [
        "  slotgate restore api.code.umans.ai",
        "slotgate slots api.code.umans.ai shows who waits",
    ]


def test_evidence_says_where_a_refusal_was_found_and_what_was_none(api: Api, run: Run) -> None:
    inside = {"at": 1_800_000_000_000, "status": 200, "kind": "concurrency", "retryAfterMs": None, "inFlight": 3}
    step = {**inside, "status": 0, "kind": "restored"}
    told = {"autoReduced": True, "autoReducedFrom": 4, "notice": "reduced.", "evidence": [inside, step]}
    with_status(api, {**ENTRY, **told})
    lines = run("status", "--admin", api.url).stdout.splitlines()
    assert lines[3].endswith("  inside a 200: too many at once, 3 in flight")
    assert lines[4].endswith("  one step up by itself")


def test_status_remarks_on_a_broken_configuration_and_a_state_that_cannot_be_stored(api: Api, run: Run) -> None:
    with_status(
        api,
        config={"path": "p", "loadedAt": 1, "error": "f:1: found x\nf:2: found y"},
        state={"kind": "sqlite", "ok": False},
    )
    result = run("status", "--admin", api.url)
    assert result.exit_code == 0
    assert ":\n  f:1: found x\n  f:2: found y\n" in result.stderr
    assert "cannot be stored" in result.stderr


def test_status_in_json_has_the_process_and_every_provider(api: Api, run: Run) -> None:
    with_status(api, ENTRY, IDLE)
    assert json.loads(run("status", "--json", "--admin", api.url).stdout) == {**STATUS, "providers": [ENTRY, IDLE]}


@pytest.mark.parametrize("every", ["0", "3601", "soon", "1e9", "nan", ""])
def test_status_is_watched_at_no_other_pace_than_it_can_be(api: Api, run: Run, every: str) -> None:
    result = run("status", "--admin", api.url, "--watch", every)
    assert (result.exit_code, api.asked) == (2, [])
    assert "a number of seconds from 0.1 to 3600" in result.stderr


@pytest.mark.parametrize("arguments", [["--watch"], ["--watch", "--all"], ["--watch", "5"], ["--watch", "5s"]])
def test_a_watched_status_whose_proxy_was_never_there_is_an_error(run: Run, arguments: list[str]) -> None:
    result = run("status", *arguments, "--admin", "http://127.0.0.1:9")
    assert (result.exit_code, "is not running" in result.stderr) == (1, True)


def test_status_points_to_where_somebody_waits_longest(api: Api, run: Run) -> None:
    calm = {**ENTRY, "queued": 0, "oldestWaitMs": None}
    with_status(api, {**ENTRY, "providerId": "b"}, {**ENTRY, "providerId": "a;x", "oldestWaitMs": 99_000}, calm)
    assert run("status", "--admin", api.url).stdout.endswith("\nslotgate slots 'a;x' shows who waits\n")
    with_status(api, calm)
    assert "shows who waits" not in run("status", "--admin", api.url).stdout


def test_status_has_a_row_for_an_unlimited_provider_that_refused_something(api: Api, run: Run) -> None:
    now_ms = time.time_ns() // 1_000_000
    seen = {"at": now_ms - 60_000, "status": 429, "kind": "rate", "retryAfterMs": 50_000}
    with_status(api, {**IDLE, "lastRateLimit": seen})
    assert "min ago: 429 too fast, retry after 50 s" in run("status", "--admin", api.url).stdout
    with_status(api, {**IDLE, "lastRateLimit": {**seen, "at": now_ms - 4_000_000}})
    assert "refused" not in run("status", "--admin", api.url).stdout
