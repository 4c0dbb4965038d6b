# Workspaces and stars over the admin API (spec §12).

from admin_rig import Rig

ALL = "/concurrency/workspaces"


async def test_workspaces_that_do_something_or_are_starred_are_listed_the_starred_first(rig: Rig) -> None:
    assert (await rig.get(ALL)).json == {"workspaces": []}
    await rig.hold("busy")
    await rig.wait("busy")
    await rig.wait("waits")
    await rig.hold("busy", of="free.example")
    await rig.call("PUT", f"{ALL}/zoo", {"starred": True})
    assert (await rig.get(ALL)).json == {
        "workspaces": [
            {"workspaceId": "zoo", "starred": True, "queued": 0, "inFlight": 0},
            {"workspaceId": "busy", "starred": False, "queued": 1, "inFlight": 2},
            {"workspaceId": "waits", "starred": False, "queued": 1, "inFlight": 0},
        ]
    }


async def test_star_moves_waiters_at_once_and_is_stored(rig: Rig) -> None:
    await rig.hold()
    await rig.wait("first")
    await rig.wait("two words")
    reply = await rig.call("PUT", f"{ALL}/two%20words", {"starred": True})
    assert (reply.status, reply.json) == (
        200,
        {"workspaceId": "two words", "starred": True, "queued": 1, "inFlight": 0},
    )
    assert [ticket.workspace for ticket in rig.provider().scheduler.waiting.ordered()] == ["two words", "first"]
    assert rig.store.saved[-1] == ("two words", True)


async def test_star_that_is_taken_is_gone(rig: Rig) -> None:
    await rig.call("PUT", f"{ALL}/x", {"starred": True})
    reply = await rig.call("PUT", f"{ALL}/x", {"starred": False})
    assert reply.json == {"workspaceId": "x", "starred": False, "queued": 0, "inFlight": 0}
    assert (await rig.get(ALL)).json == {"workspaces": []}
    assert rig.runtime.stars == set()


async def test_star_that_is_not_stored_shines_and_says_so(rig: Rig) -> None:
    rig.store.ok = False
    assert (await rig.call("PUT", f"{ALL}/x", {"starred": True})).json["persisted"] is False
    assert rig.runtime.stars == {"x"}
