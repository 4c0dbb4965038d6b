# limit, cooldown, pause, resume, restore: what they ask of the admin API, and what they say about its answer.

import json
from typing import Any

import pytest
from fake_admin_api import Api, Run

from proxy.cli.control import COOLDOWN_BOUNDS, LIMIT_MOST, PAUSE_BOUNDS
from proxy.config import parse_duration
from proxy.web.admin import limits, providers

UMANS = "/concurrency/{}/api.code.umans.ai"
LIMIT = {"providerId": "api.code.umans.ai", "limit": 3}
COOLDOWN = {"providerId": "api.code.umans.ai", "cooldownMs": 1500}
ENTRY: dict[str, Any] = {"providerId": "api.code.umans.ai", "limit": 3, "inFlight": 1, "queued": 0, "paused": False}
PAUSED = {**ENTRY, "paused": True, "pausedUntil": 1_800_000_000_000}
NO_LIMIT = (404, {"error": {"code": "no_limit", "message": "this provider has no limit"}})
UNKNOWN = (404, {"error": {"code": "unknown_provider", "message": "no provider is called so; known are: hosts"}})
UNLIMITED = {**ENTRY, "limit": None}


@pytest.mark.parametrize(
    ("command", "asked", "body", "answer", "said"),
    [
        (["limit", "umans"], "GET limits", None, (200, LIMIT), "api.code.umans.ai: limit 3"),
        (["limit", "umans", "3"], "PUT limits", {"limit": 3}, (200, LIMIT), "api.code.umans.ai: limit 3"),
        (["limit", "umans", "none"], "DELETE limits", None, (204, None), "api.code.umans.ai: unlimited"),
        (["cooldown", "umans"], "GET cooldown", None, (200, COOLDOWN), "api.code.umans.ai: cooldown 1500ms"),
        (["cooldown", "umans", "1.5s"], "PUT cooldown", {"cooldownMs": 1500}, (200, COOLDOWN), "cooldown 1500ms"),
        (["cooldown", "umans", "0"], "PUT cooldown", {"cooldownMs": 0}, (200, COOLDOWN), "cooldown"),
        (["pause", "umans", "2m"], "PUT pause", {"durationMs": 120_000}, (200, PAUSED), "limit 3, paused until "),
        (["resume", "umans"], "DELETE pause", None, (200, ENTRY), "limit 3, not paused"),
        (["restore", "umans"], "POST restore", None, (200, ENTRY), "limit 3, not paused"),
        (["learn", "umans"], "POST learn", None, (200, UNLIMITED), "unlimited, not paused"),
        (["resume", "umans"], "DELETE pause", None, (200, UNLIMITED), "unlimited, not paused"),
    ],
)
def test_a_command_asks_the_admin_api_and_says_what_holds_now(
    api: Api, run: Run, command: list[str], asked: str, body: object, answer: tuple[int, Any], said: str
) -> None:
    method, what = asked.split()
    api.answers[f"{method} {UMANS.format(what)}"] = answer
    result = run(*command, "--admin", api.url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert said in result.stdout
    assert (api.last.method, api.last.path, api.last.body) == (method, UMANS.format(what), body)
    assert api.last.headers.get("Content-Type") == ("application/json" if body else None)


def test_with_json_the_answer_of_the_api_is_the_only_output(api: Api, run: Run) -> None:
    api.answers[f"PUT {UMANS.format('limit' + 's')}"] = (200, LIMIT)
    result = run("limit", "umans", "3", "--admin", api.url, "--json")
    assert json.loads(result.stdout) == LIMIT
    assert result.stderr == ""


def test_a_provider_without_a_limit_is_shown_as_unlimited(api: Api, run: Run) -> None:
    api.answers[f"GET {UMANS.format('limits')}"] = NO_LIMIT
    result = run("limit", "umans", "--admin", api.url)
    assert (result.exit_code, result.stdout) == (0, "api.code.umans.ai: unlimited\n")
    shown = run("limit", "umans", "--admin", api.url, "--json").stdout
    assert json.loads(shown) == {"providerId": "api.code.umans.ai", "limit": None}


def test_taking_away_a_limit_that_is_not_there_is_no_error(api: Api, run: Run) -> None:
    api.answers[f"DELETE {UMANS.format('limits')}"] = NO_LIMIT
    result = run("limit", "umans", "none", "--admin", api.url)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "api.code.umans.ai: unlimited\n", "")
    assert json.loads(run("limit", "umans", "none", "--admin", api.url, "--json").stdout) == {**LIMIT, "limit": None}


def test_a_change_that_could_not_be_stored_is_remarked_upon(api: Api, run: Run) -> None:
    api.answers[f"PUT {UMANS.format('limits')}"] = (200, {**LIMIT, "persisted": False})
    result = run("limit", "umans", "3", "--admin", api.url)
    assert result.exit_code == 0
    assert "could not be stored" in result.stderr


def test_a_removal_that_could_not_be_stored_is_remarked_upon_too(api: Api, run: Run) -> None:
    api.answers[f"DELETE {UMANS.format('limits')}"] = (200, {**LIMIT, "limit": None, "persisted": False})
    result = run("limit", "umans", "none", "--admin", api.url)
    assert result.stdout == "api.code.umans.ai: unlimited\n"
    assert "could not be stored" in result.stderr


def test_what_goes_wrong_otherwise_is_not_taken_for_no_limit(api: Api, run: Run) -> None:
    api.answers[f"GET {UMANS.format('limits')}"] = (503, {"error": {"code": "c", "message": "not now"}})
    result = run("limit", "umans", "--admin", api.url)
    assert (result.exit_code, result.stderr) == (1, "slotgate: not now\n")
    assert run("limit", "umans", "none", "--admin", api.url).exit_code == 1
    assert run("limit", "local", "--admin", api.url).stderr == "slotgate: no such thing\n"


def test_a_provider_is_known_by_its_id_too(api: Api, run: Run) -> None:
    api.answers["PUT /concurrency/limits/127.0.0.1%3A8000"] = (200, {"providerId": "127.0.0.1:8000", "limit": 1})
    result = run("limit", "127.0.0.1:8000", "1", "--admin", api.url)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "127.0.0.1:8000: limit 1\n", "")


def test_an_unknown_provider_gets_its_limit_but_not_without_a_word(api: Api, run: Run) -> None:
    api.answers["PUT /concurrency/limits/a%2Fb%20c"] = (200, {"providerId": "a/b c", "limit": 1})
    api.answers["PUT /concurrency/limits/lock"] = (200, {"providerId": "lock", "limit": 1})
    assert run("limit", "lock", "1", "--admin", api.url).exit_code == 0
    result = run("limit", "a/b c", "1", "--admin", api.url)
    assert result.exit_code == 0
    assert result.stderr == "slotgate: no upstream uses a provider a/b c; upstreams: umans, local\n"


def test_an_unknown_host_that_is_nearly_a_known_one_may_be_right(api: Api, run: Run) -> None:
    api.answers["PUT /concurrency/cooldown/api.code.umans.com"] = (200, {"providerId": "x", "cooldownMs": 1000})
    result = run("cooldown", "api.code.umans.com", "1s", "--admin", api.url)
    assert (result.exit_code, 'did you mean "api.code.umans.ai"?' in result.stderr) == (0, True)


@pytest.mark.parametrize("command", [["limit", "umasn", "4"], ["limit", "UMANS", "4"], ["cooldown", "umasn", "1s"]])
def test_nothing_is_set_for_a_slip_of_a_known_name(api: Api, run: Run, command: list[str]) -> None:
    result = run(*command, "--admin", api.url)
    words = f'no upstream uses a provider {command[1]}; did you mean "umans"? upstreams: umans, local'
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"slotgate: {words}\n")
    assert [asked.method for asked in api.asked] == ["GET"]


def test_what_was_set_for_a_slip_can_be_taken_away(api: Api, run: Run) -> None:
    api.answers["DELETE /concurrency/limits/umasn"] = (204, None)
    assert run("limit", "umasn", "none", "--admin", api.url).exit_code == 0


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        (["cooldown", "nope"], "GET /concurrency/cooldown"),
        (["pause", "nope", "1s"], "PUT /concurrency/pause"),
        (["resume", "nope"], "DELETE /concurrency/pause"),
        (["restore", "nope"], "POST /concurrency/restore"),
        (["learn", "nope"], "POST /concurrency/learn"),
    ],
)
def test_a_provider_that_the_proxy_does_not_know_is_told_once_and_by_the_names_that_people_use(
    api: Api, run: Run, command: list[str], asked: str
) -> None:
    api.answers[f"{asked}/nope"] = UNKNOWN
    result = run(*command, "--admin", api.url)
    words = "no upstream uses a provider nope; upstreams: umans, local"
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"slotgate: {words}\n")
    as_json = run(*command, "--admin", api.url, "--json")
    assert json.loads(as_json.stdout) == {"error": {"code": "unknown_provider", "message": words}}


def test_a_provider_that_no_upstream_uses_is_paused_but_not_without_a_word(api: Api, run: Run) -> None:
    api.answers["PUT /concurrency/pause/x"] = (200, PAUSED)
    result = run("pause", "x", "1s", "--admin", api.url)
    assert result.exit_code == 0
    assert result.stderr == "slotgate: no upstream uses a provider x; upstreams: umans, local\n"
    api.answers["POST /concurrency/learn/x"] = (409, {"error": {"code": "not_auto", "message": "nothing is auto"}})
    result = run("learn", "x", "--admin", api.url)
    assert result.exit_code == 1
    assert result.stderr == "slotgate: nothing is auto; no upstream uses a provider x; upstreams: umans, local\n"


def test_the_bounds_are_those_of_the_admin_api() -> None:
    assert limits.LIMIT.most == LIMIT_MOST
    assert [parse_duration(bound) * 1000 for bound in COOLDOWN_BOUNDS] == [limits.COOLDOWN.least, limits.COOLDOWN.most]
    assert [parse_duration(bound) * 1000 for bound in PAUSE_BOUNDS] == [
        providers.DURATION.least,
        providers.DURATION.most,
    ]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["limit", "umans", "100001"], "N: '100001' is neither a number from 1 to 100000 nor none"),
        (["limit", "umans", "four"], "N: 'four' is neither a number from 1 to 100000 nor none"),
        (["cooldown", "umans", "11m"], "DURATION: '11m' is not from 0 to 10m"),
        (["pause", "umans", "100d"], "DURATION: '100d' is not from 1ms to 1d"),
        (["pause", "umans", "0"], "DURATION: '0' is not from 1ms to 1d"),
        (["pause", "umans", "30"], "DURATION: '30' (a number without a unit: ms, s, m, h or d); durations are like"),
        (["limit", "", "4"], "'PROVIDER': a name has 1 to 128 characters"),
        (["resume", "x" * 129], "'PROVIDER': a name has 1 to 128 characters"),
        (["star", ""], "'WORKSPACE': a name has 1 to 128 characters"),
        (["unstar", "a\nb"], "'WORKSPACE': a name has 1 to 128 characters"),
        (["star", "\udcff"], "'WORKSPACE': a name is UTF-8"),
    ],
)
def test_a_value_out_of_bounds_is_told_in_the_words_and_units_that_were_typed(
    api: Api, run: Run, command: list[str], words: str
) -> None:
    result = run(*command, "--admin", api.url)
    assert (result.exit_code, api.asked) == (2, [])
    assert f"Invalid value for {words}" in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["limit", "umans", "0"],
        ["limit", "umans", "-1"],
        ["limit", "umans", "two"],
        ["limit", "umans", "9" * 5000],
        ["limit"],
        ["cooldown", "umans", "5"],
        ["cooldown", "umans", "soon"],
        ["pause", "umans"],
        ["pause", "umans", "30"],
        ["nonsense"],
    ],
)
def test_wrong_usage_ends_with_2_and_asks_nothing(api: Api, run: Run, command: list[str]) -> None:
    result = run(*command, *(["--admin", api.url] if len(command) > 1 else []))
    assert result.exit_code == 2
    assert api.asked == []
