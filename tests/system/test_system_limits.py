# The limit as operators change it while traffic runs (spec §6.2, §12).

import pytest
from blackbox.admin import Reply, part
from blackbox.call import Call
from blackbox.rig import Rig, Starter
from blackbox.waiting import never, until

UPSTREAMS = {
    "up": {"limit": 1, "cooldown": "0s"},
    "free": {"cooldown": "0s"},
}


async def test_raised_limit_grants_as_many_as_now_fit(rig: Rig) -> None:
    await rig.ask("a")
    await rig.up.call()
    await rig.line_up("b", "c", "d")
    await rig.limit(3)
    assert {call.name for call in await rig.up.take(2)} == {"b", "c"}
    await rig.queued(1)
    assert rig.up.peak == 3


async def test_lowered_limit_evicts_nobody(rig: Rig) -> None:
    await rig.limit(3)
    for name in "abc":
        await rig.ask(name)
    a, b, c = await rig.up.take(3)
    await rig.line_up("d")
    await rig.limit(1)
    entry = await rig.status()
    assert (entry["limit"], entry["inFlight"], entry["queued"]) == (1, 3, 1)
    await a.answer()
    await b.answer()
    await rig.in_flight(1)
    await never(lambda: len(rig.up.calls) > 3, during=0.2)
    await c.answer()
    d = await rig.up.call()
    assert d.name == "d"
    await d.answer()


async def test_removed_limit_grants_every_waiter_and_ends_the_pause(rig: Rig) -> None:
    await rig.ask("a")
    await rig.up.call()
    await rig.line_up("b", "c", "d")
    await rig.pause(60_000)
    assert (await rig.admin.delete(f"/concurrency/limits/{part(rig.provider)}")).status == 204
    await rig.up.take(3)
    entry = await rig.status()
    assert (entry["limit"], entry["inFlight"], entry["paused"]) == (None, 4, False)
    assert (await rig.admin.delete(f"/concurrency/limits/{part(rig.provider)}")).status == 404
    assert (await rig.admin.get(f"/concurrency/limits/{part(rig.provider)}")).status == 404
    assert (await rig.admin.get(f"/concurrency/status/{part(rig.provider)}")).status == 404
    assert rig.provider not in [p["providerId"] for p in (await rig.admin.get("/concurrency/status")).json["providers"]]


async def test_limit_set_later_starts_from_the_truth(rig: Rig) -> None:
    """What runs without a limit is counted all the same."""
    provider, free = rig.provider_of("free"), rig.upstreams["free"]
    for name in "abc":
        await rig.ask(name, target="/free/v1/messages")
    calls = await free.take(3)
    assert (await rig.status(provider))["inFlight"] == 3
    await rig.limit(2, provider)
    await rig.ask("d", target="/free/v1/messages")
    await rig.queued(1, provider)
    await calls[0].answer()
    await rig.in_flight(2, provider)
    await never(lambda: len(free.calls) > 3, during=0.2)
    await calls[1].answer()
    assert (await free.call()).name == "d"


async def test_limits_are_read_written_and_listed(rig: Rig) -> None:
    path = f"/concurrency/limits/{part(rig.provider)}"
    assert (await rig.admin.get(path)).json == {"providerId": rig.provider, "limit": 1}
    reply = await rig.admin.put(path, {"limit": 100_000})
    assert (reply.status, reply.json) == (200, {"providerId": rig.provider, "limit": 100_000})
    assert (await rig.admin.get(path)).json == {"providerId": rig.provider, "limit": 100_000}
    assert (await rig.admin.get("/concurrency/limits")).json == {
        "limits": [{"providerId": rig.provider, "limit": 100_000}]
    }
    assert (await rig.admin.get("/concurrency/limits/nobody.example")).status == 404


@pytest.mark.parametrize("bad", [0, -1, 100_001, "2", 1.5, True, None, [1]])
async def test_bad_limit_is_400_and_names_the_field(rig: Rig, bad: object) -> None:
    reply = await rig.admin.put(f"/concurrency/limits/{part(rig.provider)}", {"limit": bad})
    assert reply.status == 400
    assert "limit" in reply.json["error"]["message"]
    assert (await rig.status())["limit"] == 1


async def test_limit_may_be_set_for_a_provider_that_no_upstream_names(rig: Rig) -> None:
    path = "/concurrency/limits/not%20yet.example"
    assert (await rig.admin.put(path, {"limit": 3})).json == {"providerId": "not yet.example", "limit": 3}
    for _ in range(3):  # other replicas have heard of it a moment later
        reply = await until(lambda: answered(rig, "/concurrency/status/not%20yet.example"), what="a status")
        assert (reply.json["limit"], reply.json["inFlight"], reply.json["queued"]) == (3, 0, 0)
    assert (await rig.admin.delete(path)).status == 204


async def answered(rig: Rig, path: str) -> Reply | None:
    reply = await rig.admin.get(path)
    return reply if reply.status == 200 else None


async def test_status_entry_has_every_key(rig: Rig) -> None:
    (entry,) = (await rig.admin.get("/concurrency/status")).json["providers"]
    assert entry == (await rig.admin.get(f"/concurrency/status/{part(rig.provider)}")).json
    assert {"providerId", "limit", "inFlight", "queued", "paused", "cooldownMs", "autoReduced", "held"} <= set(entry)
    assert "cooling" in entry
    assert entry["providerId"] == rig.provider
    assert "pausedUntil" not in entry
    assert "notice" not in entry
    everything = (await rig.admin.get("/concurrency/status?all=1")).json["providers"]
    assert {p["providerId"]: p["limit"] for p in everything}[rig.provider_of("free")] is None


async def test_thousand_good_answers_leave_the_limit_where_it_is(rig: Rig) -> None:
    """PAUSE-13: nothing is wrong, so nothing is learned."""
    await rig.limit(4)
    rig.up.limit = 4

    async def ok(call: Call) -> None:
        await call.answer()

    rig.up.behaviour = ok
    clients = [await rig.client() for _ in range(8)]
    for _ in range(60):
        for client in clients:
            await client.request("POST", "/up/v1/messages", body=b"{}")
        for client in clients:
            assert (await client.answer()).status == 200
    await rig.at_rest()
    entry = await rig.status()
    assert (entry["limit"], entry["autoReduced"]) == (4, False)
    assert rig.up.violations == []
    assert rig.up.peak <= 4


async def test_workspaces_are_listed_with_what_they_do(rig: Rig) -> None:
    await rig.ask("a", workspace="one")
    await rig.up.call()
    await rig.line_up("b", workspace="two words")
    listed = {w["workspaceId"]: w for w in (await rig.admin.get("/concurrency/workspaces")).json["workspaces"]}
    assert (listed["one"]["inFlight"], listed["one"]["queued"]) == (1, 0)
    assert (listed["two words"]["inFlight"], listed["two words"]["queued"]) == (0, 1)
    assert listed["one"]["starred"] is False
    reply = await rig.admin.put("/concurrency/workspaces/two%20words", {"starred": True})
    assert reply.json == {"workspaceId": "two words", "starred": True, "queued": 1, "inFlight": 0}
    assert (await rig.slots())["waiters"][0]["starred"] is True
    await rig.star("two words", False)
    for bad in (1, "yes", None):
        assert (await rig.admin.put("/concurrency/workspaces/x", {"starred": bad})).status == 400


async def test_two_upstreams_of_one_provider_share_its_limit(start: Starter) -> None:
    rig = await start(
        {
            "up": {"provider": "shared", "limit": 2, "cooldown": "0s"},
            "other": {"provider": "shared"},
        }
    )
    await rig.ask("a")
    await rig.ask("b", target="/other/v1/messages")
    await rig.up.call()
    other = await rig.upstreams["other"].call()
    await rig.line_up("c", target="/other/v1/messages")
    await rig.line_up("d")
    assert (await rig.status("shared"))["inFlight"] == 2
    await other.answer()
    third = await rig.upstreams["other"].call()
    assert third.name == "c"
    await until(lambda: len(rig.up.calls) == 1)
    await third.answer()
    assert (await rig.up.call()).name == "d"
