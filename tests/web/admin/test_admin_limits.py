# Limits and cooldowns over the admin API (spec §12).

import pytest
from admin_rig import Rig

from proxy.store import ProviderRecord

UP = "/concurrency/limits/up.example:8443"
FREE = "/concurrency/limits/free.example"
COOLDOWN = "/concurrency/cooldown/up.example:8443"


async def test_providers_with_a_limit_are_listed(rig: Rig) -> None:
    limits = (await rig.get("/concurrency/limits")).json
    assert limits == {"limits": [{"providerId": "up.example:8443", "limit": 1}]}


async def test_limit_is_read_by_its_encoded_name_too(rig: Rig) -> None:
    for path in (UP, "/concurrency/limits/up.example%3A8443", "/concurrency/limits/%75p.example:8443"):
        reply = await rig.get(path)
        assert (reply.status, reply.json) == (200, {"providerId": "up.example:8443", "limit": 1})


async def test_limit_that_is_set_is_in_force_and_stored(rig: Rig) -> None:
    reply = await rig.call("PUT", UP, {"limit": 4})
    assert (reply.status, reply.json) == (200, {"providerId": "up.example:8443", "limit": 4})
    assert rig.provider().scheduler.limit == 4
    record = rig.store.saved[-1]
    assert isinstance(record, ProviderRecord)
    assert (record.provider_id, record.limit, record.limit_by) == ("up.example:8443", 4, "api")


@pytest.mark.parametrize("limit", [1, 100_000])
async def test_ends_of_the_range_are_allowed(rig: Rig, limit: int) -> None:
    assert (await rig.call("PUT", UP, {"limit": limit})).json["limit"] == limit


@pytest.mark.parametrize("name", ["not yet.example", "a/b", "ü€", "{x}", "%", "x" * 128])
async def test_provider_that_no_upstream_names_may_have_a_limit(rig: Rig, name: str) -> None:
    path = "/concurrency/limits/" + "".join(f"%{byte:02X}" for byte in name.encode())
    assert (await rig.get(path)).status == 404
    assert (await rig.call("PUT", path, {"limit": 2})).json == {"providerId": name, "limit": 2}
    assert (await rig.get(path)).json == {"providerId": name, "limit": 2}
    assert rig.runtime.admissions[name].scheduler.limit == 2


async def test_deleted_limit_is_gone_and_lets_waiters_go(rig: Rig) -> None:
    await rig.hold()
    waiter = await rig.wait()
    reply = await rig.call("DELETE", UP)
    assert (reply.status, reply.body) == (204, b"")
    await waiter
    assert (await rig.get("/concurrency/limits")).json == {"limits": []}


@pytest.mark.parametrize("path", [FREE, "/concurrency/limits/nobody.example"])
async def test_limit_that_is_not_there_is_404(rig: Rig, path: str) -> None:
    for method in ("GET", "DELETE"):
        reply = await rig.call(method, path)
        assert (reply.status, reply.json["error"]["code"]) == (404, "no_limit")
    assert "nobody.example" not in rig.runtime.admissions, "asking made a provider"


async def test_cooldowns_of_all_known_providers_are_listed(rig: Rig) -> None:
    assert (await rig.get("/concurrency/cooldown")).json == {
        "cooldowns": [
            {"providerId": "auto.example", "cooldownMs": 350},
            {"providerId": "free.example", "cooldownMs": 350},
            {"providerId": "up.example:8443", "cooldownMs": 350},
        ]
    }


async def test_cooldown_is_set_and_makes_no_limit(rig: Rig) -> None:
    path = "/concurrency/cooldown/free.example"
    reply = await rig.call("PUT", path, {"cooldownMs": 1234})
    assert (reply.status, reply.json) == (200, {"providerId": "free.example", "cooldownMs": 1234})
    assert (await rig.get(path)).json == {"providerId": "free.example", "cooldownMs": 1234}
    assert rig.provider("free.example").scheduler.cooldown_s == 1.234
    assert rig.provider("free.example").scheduler.limit is None


async def test_cooldown_of_an_unknown_provider_is_404_and_names_the_known_ones(rig: Rig) -> None:
    reply = await rig.get("/concurrency/cooldown/nobody")
    assert reply.status == 404
    assert "free.example, up.example:8443" in reply.message


async def test_write_that_is_not_stored_holds_and_says_so(rig: Rig) -> None:
    rig.store.ok = False
    assert (await rig.call("PUT", UP, {"limit": 3})).json == {
        "providerId": "up.example:8443",
        "limit": 3,
        "persisted": False,
    }
    assert (await rig.call("PUT", COOLDOWN, {"cooldownMs": 0})).json["persisted"] is False
    assert rig.provider().scheduler.limit == 3
    reply = await rig.call("DELETE", UP)
    assert (reply.status, reply.json) == (200, {"providerId": "up.example:8443", "limit": None, "persisted": False})
    assert rig.provider().scheduler.limit is None
    rig.store.ok = True
    assert "persisted" not in (await rig.call("PUT", UP, {"limit": 3})).json
