# Status, slots, pause and restore over the admin API (spec §12).

import asyncio
import time

import pytest
from admin_rig import Rig

from proxy.core.model import Phase
from proxy.errors import OwnAnswer

ID = "up.example:8443"
STATUS = f"/concurrency/status/{ID}"
SLOTS = f"/concurrency/slots/{ID}"
PAUSE = f"/concurrency/pause/{ID}"
RESTORE = f"/concurrency/restore/{ID}"


def near(epoch_ms: object, offset_ms: int = 0) -> bool:
    assert isinstance(epoch_ms, int)
    return abs(epoch_ms - offset_ms - time.time() * 1000) < 5_000


async def test_entry_of_a_provider_at_rest_has_just_these_keys(rig: Rig) -> None:
    assert (await rig.get(STATUS)).json == {
        "providerId": ID,
        "limit": 1,
        "limitBy": "file",
        "inFlight": 0,
        "held": 0,
        "cooling": 0,
        "queued": 0,
        "oldestWaitMs": None,
        "waitsFor": None,
        "expectedWaitMs": 0,
        "paused": False,
        "cooldownMs": 350,
        "cooldownBy": "file",
        "autoReduced": False,
        "lastRateLimit": None,
        "gate": None,
    }


async def test_entry_counts_what_is_held_what_rests_and_who_waits(rig: Rig) -> None:
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 2})
    first, _ = await rig.hold(), await rig.hold()
    await rig.wait()
    rig.provider().release(first)
    entry = (await rig.get(STATUS)).json
    assert (entry["inFlight"], entry["held"], entry["cooling"], entry["queued"]) == (2, 1, 1, 1)
    assert 0 <= entry["oldestWaitMs"] < 5_000


async def test_providers_without_a_limit_are_shown_on_request_alone(rig: Rig) -> None:
    assert [p["providerId"] for p in (await rig.get("/concurrency/status")).json["providers"]] == [ID]
    everyone = (await rig.get("/concurrency/status?all=1")).json["providers"]
    assert {p["providerId"]: p["limit"] for p in everyone} == {ID: 1, "free.example": None, "auto.example": None}
    assert (await rig.get("/concurrency/status/free.example")).status == 404
    assert (await rig.get("/concurrency/status/free.example?all=0")).status == 404
    assert (await rig.get("/concurrency/status/free.example?all=1")).json["limit"] is None
    assert (await rig.get("/concurrency/status/nobody?all=1")).status == 404


@pytest.mark.parametrize("path", ["/concurrency/status", "/concurrency/status/free.example"])
async def test_other_values_of_all_are_refused(rig: Rig, path: str) -> None:
    reply = await rig.get(f"{path}?all=yes")
    assert (reply.status, "all" in reply.message) == (400, True)


async def test_rate_limit_is_shown_with_its_pause_and_its_evidence(rig: Rig) -> None:
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 2})
    await rig.limited(retry_after_ms=60_000)
    entry = (await rig.get(STATUS)).json
    limited = entry["lastRateLimit"]
    assert near(limited.pop("at"))
    assert limited == {"status": 429, "kind": "concurrency", "retryAfterMs": 60_000}
    assert (entry["paused"], entry["pauseCause"]) == (True, "concurrency")
    assert near(entry["pausedUntil"], 60_000)
    assert (entry["autoReduced"], entry["autoReducedFrom"], entry["limit"]) == (True, 2, 1)
    assert entry["notice"] == "Concurrency limit auto-reduced to 1 after a 429 — restore manually when ready."
    (seen,) = entry["evidence"]
    assert near(seen.pop("at"))
    assert seen == {"status": 429, "kind": "concurrency", "retryAfterMs": 60_000, "inFlight": 1}


async def test_last_usage_count_is_shown_with_its_time_and_its_failure(rig: Rig) -> None:
    rig.yaml = rig.yaml.replace("max_hold: null", 'usage: {url: "http://127.0.0.1:9/usage", field: count, timeout: 1s}')
    await rig.runtime.reload()
    slot = await rig.hold()
    waiter = await rig.wait()
    rig.provider().release(slot, reached=False)
    await waiter  # the poll failed at once: nobody listens there
    gate = (await rig.get(STATUS)).json["gate"]
    assert near(gate.pop("at"))
    assert gate["observed"] is None
    assert "Error" in gate["error"]


async def test_slots_and_waiters_are_shown_in_the_order_of_service(rig: Rig) -> None:
    slot = await rig.hold("w1", conversation="c1", prompt_started_at=1_600_000_000_000)
    slot.phase, slot.bytes = Phase.STREAMING, 77
    await rig.wait("later", conversation="c2")
    await rig.wait("star")
    await rig.call("PUT", "/concurrency/workspaces/star", {"starred": True})
    found = (await rig.get(SLOTS)).json
    assert near(found["now"])
    (held,) = found["slots"]
    assert near(held.pop("grantedAt"))
    assert near(held.pop("lastByteAt"))
    assert 0 <= held.pop("silentMs") <= held.pop("ageMs") < 5_000
    assert held == {
        "id": "1",
        "conversationId": "c1",
        "workspaceId": "w1",
        "promptStartedAt": 1_600_000_000_000,
        "path": "/v1/messages",
        "phase": "streaming",
        "bytes": 77,
    }
    first, second = found["waiters"]
    assert 0 <= second.pop("waitingMs") < 5_000
    assert second.pop("why").startswith("prompt began ")
    assert second == {
        "id": "2",
        "position": 2,
        "conversationId": "c2",
        "workspaceId": "later",
        "starred": False,
        "promptStartedAt": 1_700_000_000_000,
        "path": "/v1/messages",
        "expectedWaitMs": None,
    }
    assert first["why"].startswith("starred, prompt began ")
    assert (first["id"], first["position"], first["starred"], first["conversationId"]) == ("3", 1, True, None)


async def test_resting_slot_is_among_the_slots(rig: Rig) -> None:
    rig.provider().release(await rig.hold())
    found = (await rig.get(SLOTS)).json
    (slot,) = found["slots"]
    assert slot["phase"] == "cooling"
    assert 0 <= slot["cooledAt"] - found["now"] + 1 <= 351


async def test_first_waiter_is_told_why_and_everybody_how_long(rig: Rig) -> None:
    slot = await rig.hold()  # so that it is known how long one is held: hardly at all
    rig.provider().answered(slot, success=True)
    rig.provider().release(slot, reached=False)
    await rig.hold()
    now_ms = int(time.time() * 1000)
    await rig.wait(prompt_started_at=now_ms)
    await rig.wait(prompt_started_at=now_ms + 1)
    entry = (await rig.get(STATUS)).json
    assert entry["waitsFor"] == {"code": "slot", "words": "the only slot is in use"}
    first, second = (await rig.get(SLOTS)).json["waiters"]
    assert first["why"].startswith("arrived ")
    assert 350 <= first["expectedWaitMs"] < second["expectedWaitMs"] < entry["expectedWaitMs"] < 60_000
    await rig.call("PUT", PAUSE, {"durationMs": 90_000})
    entry = (await rig.get(STATUS)).json
    assert entry["waitsFor"] == {"code": "pause", "words": "paused for another 1 min 30 s: by hand"}


async def test_polled_slot_that_had_no_rest_has_none_to_come(rig: Rig) -> None:
    rig.yaml = rig.yaml.replace("max_hold: null", 'usage: {url: "http://127.0.0.1:9/usage", field: count, timeout: 1s}')
    await rig.runtime.reload()
    slot = await rig.hold()
    await rig.wait()
    rig.provider().scheduler.release(slot, rig.runtime.clock.now(), reached=False)  # the poll is not begun
    found = (await rig.get(SLOTS)).json
    assert [(one["phase"], near(one["cooledAt"])) for one in found["slots"]] == [("cooling", True)]
    assert (await rig.get(STATUS)).json["waitsFor"]["code"] == "gate_asked"


async def test_who_set_the_limit_and_the_cooldown_is_told(rig: Rig) -> None:
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 2})
    await rig.call("PUT", f"/concurrency/cooldown/{ID}", {"cooldownMs": 100})
    entry = (await rig.get(STATUS)).json
    assert (entry["limitBy"], entry["cooldownBy"]) == ("api", "api")
    slot = await rig.hold(of="auto.example")
    rig.provider("auto.example").rate_limited(slot, status=429, kind="concurrency", retry_after_ms=None)
    entry = (await rig.get("/concurrency/status/auto.example")).json
    assert (entry["limit"], entry["limitBy"]) == (1, "auto")


async def test_waiter_is_sent_away_by_its_id(rig: Rig) -> None:
    await rig.hold()
    waiter = await rig.wait()
    (entry,) = (await rig.get(SLOTS)).json["waiters"]
    reply = await rig.call("DELETE", f"{SLOTS}/{entry['id']}")
    assert (reply.status, reply.body) == (204, b"")
    with pytest.raises(OwnAnswer) as refused:
        await waiter
    assert refused.value.code == "dropped"


async def test_slot_is_taken_back_by_its_id_once(rig: Rig) -> None:
    class Held:
        aborted: str | None = None

        def abort(self, why: str) -> None:
            self.aborted = why

        def measure(self, slot: object, now: float) -> None: ...

    slot, holder = await rig.hold(), Held()
    rig.provider().hold(slot, holder)
    assert (await rig.call("DELETE", f"{SLOTS}/{slot.id}")).status == 204
    assert holder.aborted == "operator"
    assert rig.provider().scheduler.held == 0
    assert (await rig.call("DELETE", f"{SLOTS}/{slot.id}")).status == 404


@pytest.mark.parametrize("name", ["2", "01x", "-1", "+1", "1.0", "nonsense", "9" * 30, "%D9%A1", "1%20"])
async def test_id_that_nobody_has_is_404(rig: Rig, name: str) -> None:
    await rig.hold()
    reply = await rig.call("DELETE", f"{SLOTS}/{name}")
    assert (reply.status, reply.json["error"]["code"]) == (404, "unknown_id")
    assert rig.provider().scheduler.held == 1


async def test_pause_by_hand_and_its_end_answer_the_entry(rig: Rig) -> None:
    reply = await rig.call("PUT", PAUSE, {"durationMs": 120_000})
    entry = reply.json
    assert (reply.status, entry["paused"], entry["pauseCause"]) == (200, True, "operator")
    assert near(entry["pausedUntil"], 120_000)
    again = (await rig.get(STATUS)).json
    assert abs(entry.pop("pausedUntil") - again.pop("pausedUntil")) <= 1  # two clocks, each rounded
    assert 110_000 < again.pop("expectedWaitMs") <= entry.pop("expectedWaitMs") <= 120_000
    assert entry == again
    reply = await rig.call("DELETE", PAUSE)
    assert (reply.status, reply.json["paused"], "pausedUntil" in reply.json) == (200, False, False)
    assert (await rig.call("DELETE", PAUSE)).status == 200, "resuming what is not paused is no error"


async def test_provider_without_a_limit_is_paused_too(rig: Rig) -> None:
    reply = await rig.call("PUT", "/concurrency/pause/free.example", {"durationMs": 1000})
    assert (reply.status, reply.json["limit"], reply.json["paused"]) == (200, None, True)
    assert (await rig.call("DELETE", "/concurrency/pause/free.example")).json["limit"] is None


async def test_restore_goes_back_to_the_limit_of_before(rig: Rig) -> None:
    assert (await rig.call("POST", RESTORE)).status == 409
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 3})
    await rig.limited()
    reply = await rig.call("POST", RESTORE)
    assert (reply.status, reply.json["limit"], reply.json["autoReduced"]) == (200, 3, False)
    assert not {"notice", "evidence", "autoReducedFrom"} & set(reply.json)
    again = await rig.call("POST", RESTORE)
    assert (again.status, again.json["error"]["code"]) == (409, "not_reduced")


async def test_what_is_auto_begins_again(rig: Rig) -> None:
    await rig.call("PUT", "/concurrency/limits/auto.example", {"limit": 3})
    assert "limitAuto" not in (await rig.get("/concurrency/status/auto.example")).json
    reply = await rig.call("POST", "/concurrency/learn/auto.example")
    assert (reply.status, reply.json["limit"], reply.json["limitAuto"], reply.json["cooldownAuto"]) == (
        200,
        None,
        True,
        True,
    )
    refused = await rig.call("POST", f"/concurrency/learn/{ID}")
    assert (refused.status, refused.json["error"]["code"]) == (409, "not_auto")


async def test_entry_after_a_write_that_is_not_stored_says_so(rig: Rig) -> None:
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 3})
    await rig.limited()
    await asyncio.sleep(0)
    rig.store.ok = False
    for method, path, body in (("PUT", PAUSE, {"durationMs": 9_000}), ("DELETE", PAUSE, None), ("POST", RESTORE, None)):
        reply = await rig.call(method, path, body)
        assert (reply.status, reply.json["persisted"]) == (200, False), path
    assert rig.provider().scheduler.limit == 3


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/concurrency/slots/nobody"),
        ("DELETE", "/concurrency/slots/nobody/1"),
        ("PUT", "/concurrency/pause/nobody"),
        ("DELETE", "/concurrency/pause/nobody"),
        ("POST", "/concurrency/restore/nobody"),
        ("POST", "/concurrency/learn/nobody"),
    ],
)
async def test_unknown_provider_is_404_and_not_made(rig: Rig, method: str, path: str) -> None:
    reply = await rig.call(method, path, {"durationMs": 1} if method == "PUT" else None)
    assert (reply.status, reply.json["error"]["code"]) == (404, "unknown_provider")
    assert "nobody" not in rig.runtime.admissions
