# Points, marks and the changes by hand over the admin API.

import csv
import io
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from admin_rig import Rig, a_rig

from proxy.service.record import RequestRecord
from proxy.store import MINUTE_MS, Minute, SavedEvent
from proxy.web.admin.sheet import COLUMNS

ID = "up.example:8443"
HISTORY = f"/concurrency/history/{ID}"
MARKS = f"/concurrency/marks/{ID}"
AUDIT = "/concurrency/audit"
KEYS = {
    *("at", "limit", "inFlightMax", "inFlightMean", "queuedMax", "queuedMean", "oldestWaitMsMax", "granted"),
    *("completed", "waitMsP50", "waitMsP95", "firstByteMsP50", "firstByteMsP95", "rateLimited", "reduced", "pausedMs"),
}


NOW = 1_700_000_070_000  # half a minute after a minute's beginning


@pytest.fixture(autouse=True)
def stopped(rig: Rig) -> None:
    """The wall's clock stands still, so that no minute ends in between."""
    rig.runtime.clock.wall_ms = lambda: NOW
    rig.runtime.history.begin(frozenset())


async def remember(rig: Rig, minutes_ago: int, provider_id: str = ID, **values: Any) -> int:
    """A minute of an earlier time; its beginning."""
    at = NOW - 30_000 - minutes_ago * MINUTE_MS
    values = {"seen_ms": MINUTE_MS, "limit": 1, **values}
    await rig.store.append_minutes([Minute(provider_id=provider_id, at=at, **values)])
    return at


async def serve(rig: Rig) -> None:
    slot = await rig.hold()
    rig.provider().release(slot, reached=False)
    record = RequestRecord("POST")
    record.provider_id, record.outcome, record.counted, record.first_byte_ms = ID, "completed", True, 600
    rig.runtime.telemetry.request_ended(record)


# --- points ----------------------------------------------------------------------------------------------------------


async def test_last_hour_minute_by_minute_with_the_present_one(rig: Rig) -> None:
    await serve(rig)
    old, recent = await remember(rig, 61), await remember(rig, 3, granted=5, in_flight_ms=90_000, in_flight_max=3)
    answer = (await rig.get(HISTORY)).json
    assert set(answer) == {"providerId", "since", "until", "stepMs", "points"}
    assert (answer["providerId"], answer["stepMs"]) == (ID, MINUTE_MS)
    assert old < answer["since"] == NOW - 30_000 - 60 * MINUTE_MS
    assert answer["until"] == NOW
    first, *_, last = answer["points"]
    assert set(first) == KEYS
    assert (first["at"], first["granted"], first["inFlightMean"], first["inFlightMax"]) == (recent, 5, 1.5, 3)
    assert (last["granted"], last["completed"], last["waitMsP50"], last["firstByteMsP50"]) == (1, 1, 0, 625)
    assert last["partial"] is True
    assert set(last) == {*KEYS, "partial"}


async def test_steps_are_whole_whatever_time_is_asked_for(rig: Rig) -> None:
    at = await remember(rig, 30, granted=1)
    await remember(rig, 29, granted=2)
    step = 10 * MINUTE_MS
    answer = (await rig.get(f"{HISTORY}?step=10&since={at + 1}&until={at + 2}")).json
    assert (answer["since"], answer["until"]) == (at - at % step, at + 2)
    assert answer["stepMs"] == step
    assert [point["at"] for point in answer["points"]] == [at - at % step]
    assert not any("partial" in point for point in answer["points"])


async def test_time_from_and_until_are_those_asked_for(rig: Rig) -> None:
    ats = [await remember(rig, minutes_ago) for minutes_ago in (5, 4, 3)]
    answer = (await rig.get(f"{HISTORY}?since={ats[1]}&until={ats[2]}")).json
    assert [point["at"] for point in answer["points"]] == [ats[1]]
    assert (await rig.get(f"{HISTORY}?since=0&until=1")).json["points"] == []


async def test_provider_of_the_past_alone_has_its_history(rig: Rig) -> None:
    await remember(rig, 3, "gone.example")
    for path in ("/concurrency/history/gone.example", "/concurrency/marks/gone.example"):
        assert (await rig.get(path)).status == 404
    rig.runtime.history.begin(frozenset({"gone.example"}))
    assert len((await rig.get("/concurrency/history/gone.example")).json["points"]) == 1
    assert (await rig.get("/concurrency/marks/gone.example")).json == {"providerId": "gone.example", "marks": []}
    assert "gone.example" not in rig.runtime.admissions, "asking made a provider"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("step=0", "step in the query: found 0; allowed: a whole number from 1 to 1440"),
        ("step=1441", "1 to 1440"),
        ("step=1.5", "found 1.5"),
        ("step=", "found ;"),
        ("step=%D9%A1", "1 to 1440"),
        ("since=-1", "since in the query: found -1"),
        ("since=" + "9" * 25, "since in the query"),
        ("since=2026-01-01", "whole number"),
        ("until=0", "until in the query"),
        ("since=5&until=5", "since in the query: found 5; allowed: less than until, 5"),
        ("step=1&step=2", "step stands in the query 2 times"),
        ("format=xml", "format in the query: found xml; allowed are json and csv"),
        ("format=" + "x" * 200, "format in the query: allowed are up to 128 characters"),
    ],
)
async def test_query_that_cannot_be_meant_is_400_and_says_what_is_allowed(rig: Rig, query: str, words: str) -> None:
    reply = await rig.get(f"{HISTORY}?{query}")
    assert (reply.status, reply.json["error"]["code"]) == (400, "bad_request")
    assert words in reply.message


@pytest.mark.parametrize("path", [HISTORY, MARKS, AUDIT])
async def test_state_that_cannot_be_read_is_503_and_says_why(rig: Rig, path: str) -> None:
    rig.store.readable = False
    reply = await rig.get(path)
    assert (reply.status, reply.json["error"]["code"]) == (503, "state_unreadable")
    assert reply.message == "state /state.db cannot be read: disk I/O error"


@pytest.mark.parametrize("data", [{"until": "soon"}, {"until": 10**400}])
async def test_event_that_nobody_wrote_is_503(rig: Rig, data: dict[str, Any]) -> None:
    await rig.store.append_events([SavedEvent(at=NOW, name="paused", provider_id=ID, data=data)])
    rig.runtime.history.begin(frozenset({ID}))
    reply = await rig.get(MARKS)
    assert (reply.status, reply.json["error"]["code"]) == (503, "state_unreadable")


# --- the table -------------------------------------------------------------------------------------------------------


async def test_table_says_what_the_json_does(rig: Rig) -> None:
    await remember(rig, 3, limit=None, granted=5, queued_ms=30_000)
    await serve(rig)
    points = (await rig.get(HISTORY)).json["points"]
    reply = await rig.get(f"{HISTORY}?format=csv")
    assert reply.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert reply.headers["Content-Disposition"] == 'attachment; filename="slotgate-up.example_8443.csv"'
    lines = reply.body.decode().split("\r\n")
    assert lines[0] == ",".join(COLUMNS)
    assert lines[-1] == ""
    assert b"\n" not in reply.body.replace(b"\r\n", b"")
    rows = list(csv.DictReader(io.StringIO(reply.body.decode())))
    assert len(rows) == len(points)
    for row, point in zip(rows[:-1], points[:-1], strict=True):  # the present minute goes on meanwhile
        shown = {**dict.fromkeys(COLUMNS, ""), **{name: _cell(value) for name, value in point.items()}}
        time = datetime.fromisoformat(row["time"])
        assert time == datetime.fromtimestamp(point["at"] / 1000, UTC)
        assert row == {**shown, "time": row["time"]}
    assert rows[-1]["partial"] == "true"


def _cell(value: object) -> str:
    return "" if value is None else str(value)


@pytest.mark.parametrize("name", ['=1+1"; x=', "a\\b/../c", "größer", "@cmd|' /C calc'!A0", "x" * 128])
async def test_name_of_a_provider_does_no_harm_in_a_table(rig: Rig, name: str) -> None:
    path = quote(name, safe="")
    await rig.call("PUT", f"/concurrency/limits/{path}", {"limit": 1})
    reply = await rig.get(f"/concurrency/history/{path}?format=csv")
    assert reply.status == 200
    filename = reply.headers["Content-Disposition"].removeprefix('attachment; filename="').removesuffix('"')
    assert filename.startswith("slotgate-")
    assert set(filename) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert len(filename) < 120
    assert name.encode() not in reply.body


# --- marks -----------------------------------------------------------------------------------------------------------


async def test_what_happened_is_told_in_order_and_in_words(rig: Rig) -> None:
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 3})
    slot = await rig.limited(retry_after_ms=30_000)
    rig.provider().release(slot)
    await rig.call("DELETE", f"/concurrency/pause/{ID}")
    await rig.call("POST", f"/concurrency/restore/{ID}")
    answer = (await rig.get(MARKS)).json
    assert answer["providerId"] == ID
    assert [(mark["kind"], mark["text"]) for mark in answer["marks"]] == [
        ("limit_set", "limit set to 3 by hand"),
        ("rate_limited", "refused with 429: too many at once, retry after 30 s; 1 in flight"),
        ("reduced", "limit reduced to 2; before the first refusal it was 3"),
        ("paused", "paused for 30 s: too many at once"),
        ("resumed", "resumed by hand"),
        ("restored", "limit back up to 3, by hand"),
    ]
    assert all(set(mark) == {"at", "kind", "text"} for mark in answer["marks"])
    assert {mark["at"] for mark in answer["marks"]} == {NOW}


async def test_marks_are_of_the_time_asked_for(rig: Rig) -> None:
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 3})
    (mark,) = (await rig.get(MARKS)).json["marks"]
    assert (await rig.get(f"{MARKS}?since={mark['at'] + 1}&until={mark['at'] + 2}")).json["marks"] == []
    assert (await rig.get(f"{MARKS}?since={mark['at']}&until={mark['at'] + 1}")).json["marks"] == [mark]
    assert (await rig.get(f"{MARKS}?since=9&until=8")).status == 400


# --- changes by hand -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "by"),
    [
        ([], "api"),
        ([("X-Slotgate-Client", "page")], "page"),
        ([("x-slotgate-client", "cli")], "cli"),
        ([("X-Slotgate-Client", "file")], "api"),
        ([("X-Slotgate-Client", "<script>")], "api"),
        ([("X-Slotgate-Client", "page"), ("X-Slotgate-Client", "cli")], "api"),
    ],
)
async def test_change_is_by_whom_it_says_if_that_is_one_of_ours(
    rig: Rig, headers: list[tuple[str, str]], by: str
) -> None:
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 7}, headers)
    (change,) = (await rig.get(AUDIT)).json["changes"]
    assert change == {"at": NOW, "by": by, "what": "limit", "providerId": ID, "workspaceId": None, "from": 1, "to": 7}


async def test_every_call_that_changes_something_is_noted_with_its_client(rig: Rig) -> None:
    slot = await rig.limited()
    waiter = await rig.wait("waiting one")
    reduced = rig.provider()
    calls: list[tuple[str, str, Any]] = [
        ("PUT", f"/concurrency/limits/{ID}", {"limit": 5}),
        ("DELETE", f"/concurrency/limits/{ID}", None),
        ("PUT", f"/concurrency/limits/{ID}", {"limit": 1}),
        ("PUT", f"/concurrency/cooldown/{ID}", {"cooldownMs": 9}),
        ("PUT", f"/concurrency/pause/{ID}", {"durationMs": 60_000}),
        ("DELETE", f"/concurrency/pause/{ID}", None),
        ("PUT", "/concurrency/workspaces/mine", {"starred": True}),
        ("DELETE", f"/concurrency/slots/{ID}/{slot.id}", None),
        ("POST", "/concurrency/learn/auto.example", None),
        ("PUT", "/concurrency/limits/auto.example", {"limit": 3}),
        ("POST", "/concurrency/learn/auto.example", None),
    ]
    for method, path, body in calls:
        assert (await rig.call(method, path, body, [("X-Slotgate-Client", "page")])).status in (200, 204), path
    await waiter
    changes = (await rig.get(AUDIT)).json["changes"][::-1]
    assert [change["what"] for change in changes] == [
        *("limit", "limit", "limit", "cooldown", "pause", "resume", "star", "reclaim", "limit", "learn")
    ]
    assert {change["by"] for change in changes} == {"page"}
    assert changes[6]["workspaceId"] == "mine"
    assert changes[7]["providerId"] == reduced.provider_id


async def test_restore_and_a_dropped_waiter_are_noted(rig: Rig) -> None:
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 2})
    await rig.limited()
    await rig.wait("waiting one")
    waiting = (await rig.get(f"/concurrency/slots/{ID}")).json["waiters"][0]["id"]
    cli = [("X-Slotgate-Client", "cli")]
    assert (await rig.call("DELETE", f"/concurrency/slots/{ID}/{waiting}", headers=cli)).status == 204
    assert (await rig.call("POST", f"/concurrency/restore/{ID}", headers=cli)).status == 200
    restored, dropped = (await rig.get(f"{AUDIT}?limit=2")).json["changes"]
    assert (restored["what"], restored["by"], restored["from"], restored["to"]) == ("restore", "cli", 1, 2)
    assert (dropped["what"], dropped["by"], dropped["workspaceId"]) == ("drop", "cli", "waiting one")
    assert dropped["from"]["id"] == waiting


async def test_reload_is_by_the_file_whoever_asks_for_it(rig: Rig) -> None:
    rig.yaml = rig.yaml.replace("limit: 1,", "limit: 3,")
    await rig.call("POST", "/reload", headers=[("X-Slotgate-Client", "page")])
    reloaded, limit = (await rig.get(AUDIT)).json["changes"]
    assert (limit["by"], limit["what"], limit["from"], limit["to"]) == ("file", "limit", 1, 3)
    assert (reloaded["by"], reloaded["what"], reloaded["to"]) == ("file", "reload", {"changed": ["upstreams.up.limit"]})


async def test_changes_are_chosen_by_time_number_and_provider(rig: Rig) -> None:
    for limit in (2, 3, 4):
        await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": limit})
    await rig.call("PUT", "/concurrency/limits/%C3%BC%26", {"limit": 9})
    everything = (await rig.get(AUDIT)).json["changes"]
    assert [change["to"] for change in everything] == [9, 4, 3, 2]
    assert (await rig.get(f"{AUDIT}?limit=1")).json["changes"] == everything[:1]
    assert (await rig.get(f"{AUDIT}?provider={ID}")).json["changes"] == everything[1:]
    assert (await rig.get(f"{AUDIT}?provider=%C3%BC%26")).json["changes"] == everything[:1]
    assert (await rig.get(f"{AUDIT}?provider=nobody")).json["changes"] == []
    assert (await rig.get(f"{AUDIT}?since={NOW + 1}")).json["changes"] == []


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "since=-1", "provider=a%0Ab"])
async def test_audit_query_that_cannot_be_meant_is_400(rig: Rig, query: str) -> None:
    reply = await rig.get(f"{AUDIT}?{query}")
    assert reply.status == 400
    assert query.partition("=")[0] in reply.message


async def test_refused_call_leaves_no_trace(rig: Rig) -> None:
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 0})
    await rig.call("DELETE", f"/concurrency/slots/{ID}/99")
    await rig.call("POST", f"/concurrency/restore/{ID}")
    await rig.call("POST", f"/concurrency/learn/{ID}")
    assert (await rig.get(AUDIT)).json == {"changes": []}


async def test_history_is_behind_the_token(tmp_path: Any) -> None:
    token = tmp_path / "token"
    token.write_text("a-token-that-is-long-enough")
    yaml = f"presets: false\nadmin: {{token_file: {token}}}\nupstreams:\n  up: {{url: 'http://up.example:8443'}}\n"
    async with a_rig(yaml) as rig:
        for path in (HISTORY, MARKS, AUDIT):
            assert (await rig.get(path)).status == 401
            bearer = [("Authorization", "Bearer a-token-that-is-long-enough")]
            assert (await rig.get(path, bearer)).status == 200
