# history and audit: what was, as tables, CSV and JSON.

import json
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fake_admin_api import Api, Run

PROVIDER = "api.code.umans.ai"
NOW = 1_800_000_000_000
POINT: dict[str, Any] = {
    "at": NOW,
    "limit": 4,
    "inFlightMax": 4,
    "inFlightMean": 3.25,
    "queuedMax": 7,
    "queuedMean": 2.5,
    "oldestWaitMsMax": 65_000,
    "granted": 12,
    "completed": 11,
    "waitMsP50": 900,
    "waitMsP95": 7100,
    "firstByteMsP50": None,
    "firstByteMsP95": None,
    "rateLimited": 1,
    "reduced": 0,
    "pausedMs": 30_000,
}
CALM = {**POINT, "limit": None, "rateLimited": 0, "pausedMs": 0, "waitMsP50": None, "waitMsP95": None}


def with_history(api: Api, answer: Any) -> None:
    """Whatever the times that are asked for."""

    class Answers(dict[str, Any]):
        def get(self, asked: str, default: Any = None) -> Any:
            return answer if asked.startswith(f"GET /concurrency/history/{PROVIDER}?") else super().get(asked, default)

    api.answers = Answers(api.answers)


def test_history_shows_the_hour_by_minutes(api: Api, run: Run) -> None:
    with_history(api, (200, {"providerId": PROVIDER, "points": [POINT, CALM]}))
    result = run("history", "umans", "--admin", api.url)
    names, busy, calm = result.stdout.splitlines()
    assert names.split()[:4] == ["time", "limit", "in", "flight"]
    assert " ".join(busy.split()[1:]) == "4 3.25 / 4 2.5 / 7 1 min 5 s 12 900 ms 7.1 s 1 30 s"
    assert " ".join(calm.split()[1:]) == "3.25 / 4 2.5 / 7 1 min 5 s 12"


@pytest.mark.parametrize(("span", "minutes", "step"), [("hour", 60, "1"), ("day", 1440, "10"), ("week", 10_080, "60")])
def test_history_goes_as_far_back_as_asked(api: Api, run: Run, span: str, minutes: int, step: str) -> None:
    with_history(api, (200, {"providerId": PROVIDER, "points": []}))
    result = run("history", "umans", "--range", span, "--admin", api.url)
    assert result.stdout == f"nothing is known about the last {span} of {PROVIDER}\n"
    query = parse_qs(urlsplit(api.last.path).query)
    assert query["step"] == [step]
    first = run("history", "umans", "--range", "hour", "--admin", api.url)
    assert first.exit_code == 0
    since_hour = int(parse_qs(urlsplit(api.last.path).query)["since"][0])
    longer_ms = (minutes - 60) * 60_000
    assert 0 <= since_hour - int(query["since"][0]) - longer_ms < 120_000  # what the second call came later


def test_history_in_json_and_csv_is_what_the_proxy_says(api: Api, run: Run) -> None:
    answer = {"providerId": PROVIDER, "points": [POINT]}
    with_history(api, (200, answer))
    assert json.loads(run("history", "umans", "--json", "--admin", api.url).stdout) == answer
    with_history(api, (200, b"at,time,limit\r\n1,\x1b[2J,4\r\n"))
    assert run("history", "umans", "--csv", "--admin", api.url).stdout == "at,time,limit\n1,\\x1b[2J,4\n"
    assert "format=csv" in api.last.path
    assert run("history", "umans", "--csv", "--json", "--admin", api.url).exit_code == 2


def test_a_refused_csv_is_an_error(api: Api, run: Run) -> None:
    with_history(api, (404, {"error": {"code": "unknown_provider", "message": "no such provider"}}))
    result = run("history", "umans", "--csv", "--admin", api.url)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "slotgate: no such provider\n")


BLANK = {"providerId": PROVIDER, "workspaceId": None, "from": None, "to": None}


@pytest.mark.parametrize(
    ("what", "before", "after", "words"),
    [
        ("limit", 4, None, "4 → unlimited"),
        ("restore", 3, 4, "3 → 4"),
        ("cooldown", 350, 1000, "350ms → 1s"),
        ("star", False, True, "no star → star"),
        ("pause", None, {"until": NOW}, "paused until {time}"),
        ("resume", {"until": NOW}, None, "paused until {time} → not paused"),
        ("reclaim", {"id": "12", "heldMs": 2000}, None, "slot 12 taken back after 2 s"),
        ("drop", {"id": "54", "waitedMs": 97_000}, None, "waiter 54 sent away after 1 min 37 s"),
        ("reload", None, {"changed": ["a", "b"]}, "a, b"),
        ("reload", None, {"changed": ["a"], "more": 3}, "a and 3 more"),
        (
            "learn",
            {"limit": 4, "cooldownMs": 350},
            {"limit": None, "cooldownMs": 1000},
            "limit 4, cooldown 350ms → no limit, cooldown 1s",
        ),
        ("learn", {"x": "é"}, 3, '{"x": "é"} → 3'),  # of a newer proxy
    ],
)
def test_a_change_is_told_in_words(api: Api, run: Run, what: str, before: object, after: object, words: str) -> None:
    change = {**BLANK, "at": NOW, "by": "api", "what": what, "from": before, "to": after}
    api.answers["GET /concurrency/audit?limit=100"] = (200, {"changes": [change]})
    time = f"{datetime.fromtimestamp(NOW / 1000).astimezone():%H:%M:%S}"
    assert run("audit", "--admin", api.url).stdout.endswith(f"  {words.replace('{time}', time)}\n")


def test_audit_shows_the_changes_the_newest_first_and_who_made_them(api: Api, run: Run) -> None:
    star = {**BLANK, "what": "star", "providerId": None, "from": False, "to": True}
    drop = {**BLANK, "what": "drop", "from": {"id": "54", "waitedMs": 37_000}}
    changes = [
        {**star, "at": NOW + 4, "by": "page", "workspaceId": "\x07w"},
        {**drop, "at": NOW + 3, "by": "cli", "workspaceId": "shop"},
        {**BLANK, "at": NOW + 2, "by": "file", "what": "limit", "to": 4},
        {**BLANK, "at": NOW + 1, "by": "api", "what": "limit", "to": 3},
    ]
    api.answers["GET /concurrency/audit?limit=100"] = (200, {"changes": changes})
    lines = run("audit", "--admin", api.url).stdout.splitlines()
    assert [" ".join(line.split()[3:]) for line in lines[1:]] == [
        "the page star \\x07w no star → star",
        f"command line drop {PROVIDER}: shop waiter 54 sent away after 37 s",
        f"the file limit {PROVIDER} unlimited → 4",
        f"API limit {PROVIDER} unlimited → 3",
    ]
    assert json.loads(run("audit", "--json", "--admin", api.url).stdout) == {"changes": changes}


def test_audit_of_one_provider_and_of_the_last_few(api: Api, run: Run) -> None:
    api.answers[f"GET /concurrency/audit?limit=3&provider={PROVIDER}"] = (200, {"changes": []})
    result = run("audit", "--provider", "umans", "--last", "3", "--admin", api.url)
    assert (result.exit_code, result.stdout) == (0, "nothing was changed by hand\n")
    assert run("audit", "--last", "0", "--admin", api.url).exit_code == 2
