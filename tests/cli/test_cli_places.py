# slots and reclaim: who holds, who waits and why, and taking one of them away.

import json
from typing import Any

import pytest
from fake_admin_api import Api, Run

PROVIDER = "api.code.umans.ai"
SLOTS = f"/concurrency/slots/{PROVIDER}"
NOW = 1_800_000_000_000
ENTRY: dict[str, Any] = {"providerId": PROVIDER, "limit": 2, "inFlight": 2, "queued": 1, "paused": False} | {
    "autoReduced": False,
    "waitsFor": {"code": "gate", "words": "the provider counts 2 of 2"},
    "expectedWaitMs": 65_000,
}
WHO = {"conversationId": "c-1", "workspaceId": "alpha", "promptStartedAt": 1, "path": "/v1/messages"}
HELD = {
    "id": "7",
    **WHO,
    "phase": "streaming",
    "grantedAt": NOW - 65_000,
    "lastByteAt": NOW - 2000,
    "bytes": 3 * 1024**2,
}
WAITS = {"id": "9", "position": 1, **WHO, "workspaceId": "\x1b[2J", "starred": True, "waitingMs": 12_000} | {
    "why": "starred, prompt began 4 min ago",
    "expectedWaitMs": 40_000,
}


def with_places(api: Api, *slots: dict[str, Any], waiters: tuple[dict[str, Any], ...] = ()) -> None:
    api.answers[f"GET {SLOTS}"] = (200, {"now": NOW, "slots": list(slots), "waiters": list(waiters)})
    api.answers[f"GET /concurrency/status/{PROVIDER}?all=1"] = (200, ENTRY)


def test_slots_shows_who_holds_and_who_waits_why_and_how_long(api: Api, run: Run) -> None:
    with_places(api, HELD, waiters=(WAITS,))
    result = run("slots", "umans", "--admin", api.url)
    assert (result.exit_code, result.stderr) == (0, "")
    first, reason, newcomer, _, names, held, _, _, waits = result.stdout.splitlines()
    assert first == f"{PROVIDER}: 2 of 2 in use, 1 waits"
    assert (reason, newcomer) == ("  the provider counts 2 of 2", "  a newcomer would wait about 1 min 30 s")
    assert names.split("  ")[0].strip() == "slot"
    assert " ".join(held.split()) == "7 alpha c-1 streaming 1 min 5 s 2 s 3.0 MiB /v1/messages"
    assert " ".join(waits.split()) == "1 9 \\x1b[2J c-1 12 s 40 s starred, prompt began 4 min ago /v1/messages"


def test_what_an_older_proxy_does_not_say_is_left_out(api: Api, run: Run) -> None:
    old = {key: value for key, value in WAITS.items() if key not in ("why", "expectedWaitMs")}
    with_places(api, waiters=(old, {**WAITS, "expectedWaitMs": None}))
    api.answers[f"GET {SLOTS}"][1].pop("now")
    lines = run("slots", "umans", "--admin", api.url).stdout.splitlines()
    assert lines[-2].split()[-4:] == ["12", "s", "starred", "/v1/messages"]
    assert lines[-1].split()[4:7] == ["12", "s", "starred,"]


def test_slots_of_an_idle_provider_without_a_limit_says_so(api: Api, run: Run) -> None:
    with_places(api)
    idle = {**ENTRY, "limit": None, "inFlight": 0, "queued": 0, "waitsFor": None, "expectedWaitMs": 0}
    api.answers[f"GET /concurrency/status/{PROVIDER}?all=1"] = (200, idle)
    said = run("slots", "umans", "--admin", api.url).stdout
    assert said == f"{PROVIDER}: no limit, 0 in flight, nobody waits\n"


def test_slots_in_json_has_the_status_too(api: Api, run: Run) -> None:
    with_places(api, HELD, waiters=(WAITS,))
    answer = json.loads(run("slots", "umans", "--admin", api.url, "--json").stdout)
    assert answer == {"provider": ENTRY, "now": NOW, "slots": [HELD], "waiters": [WAITS]}


@pytest.mark.parametrize(
    ("wanted", "what", "said"),
    [("7", "slot", "slot 7 of alpha (c-1) reclaimed"), ("9", "waiter", "waiter 9 of \\x1b[2J (c-1) dropped")],
)
def test_reclaim_takes_a_slot_or_a_waiter_and_says_whose(api: Api, run: Run, wanted: str, what: str, said: str) -> None:
    with_places(api, HELD, waiters=(WAITS,))
    api.answers[f"DELETE {SLOTS}/{wanted}"] = (204, None)
    result = run("reclaim", "umans", wanted, "--admin", api.url)
    assert (result.exit_code, result.stdout) == (0, f"{PROVIDER}: {said}\n")
    assert api.last.headers["X-Slotgate-Client"] == "cli"
    as_json = run("reclaim", "umans", wanted, "--yes", "--json", "--admin", api.url)
    assert json.loads(as_json.stdout) == {"providerId": PROVIDER, "id": wanted, "was": what}


def test_reclaim_of_nobody_says_who_there_is_and_asks_for_nothing(api: Api, run: Run) -> None:
    with_places(api, HELD, waiters=(WAITS,))
    result = run("reclaim", "umans", "8", "--admin", api.url)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "slotgate: no slot is held and nobody waits under the id 8; there are: 7, 9\n"
    with_places(api)
    assert run("reclaim", "umans", "8", "--admin", api.url).stderr.endswith("; there is nobody\n")
    assert {asked.method for asked in api.asked} == {"GET"}


def test_a_waiter_that_went_meanwhile_is_told(api: Api, run: Run) -> None:
    with_places(api, HELD)
    gone = {"error": {"code": "unknown_id", "message": "no slot is held and nobody waits under this id"}}
    api.answers[f"DELETE {SLOTS}/7"] = (404, gone)
    result = run("reclaim", "umans", "7", "--yes", "--admin", api.url)
    assert (result.exit_code, result.stderr) == (1, f"slotgate: {gone['error']['message']}\n")


@pytest.mark.parametrize("command", [["slots", "nope"], ["reclaim", "nope", "1"]])
def test_an_unknown_provider_is_told_by_the_names_that_people_use(api: Api, run: Run, command: list[str]) -> None:
    api.answers["GET /concurrency/slots/nope"] = (404, {"error": {"code": "unknown_provider", "message": "…"}})
    result = run(*command, "--admin", api.url)
    assert (result.exit_code, "upstreams: umans, local" in result.stderr) == (1, True)
