# Status, reload, configuration, health and metrics over the admin API (spec §12).

import time

import pytest
from admin_rig import Rig

from proxy import __version__


async def test_status_tells_version_addresses_configuration_and_state(rig: Rig) -> None:
    status = (await rig.get("/status")).json
    assert abs(status.pop("startedAt") - time.time() * 1000) < 10_000
    assert abs(status["config"].pop("loadedAt") - time.time() * 1000) < 10_000
    assert status == {
        "version": __version__,
        "listen": ["127.0.0.1:8787"],
        "config": {"path": None, "error": None},
        "state": {"kind": "sqlite", "ok": True},
    }


async def test_state_that_cannot_be_written_is_told_with_its_reason(rig: Rig) -> None:
    rig.store.ok = False
    state = {"kind": "sqlite", "ok": False, "error": "no space left"}
    assert (await rig.get("/status")).json["state"] == state
    ready = await rig.get("/readyz")
    assert (ready.status, ready.json["state"]) == (200, state)


async def test_reload_tells_what_changed_and_what_needs_a_restart(rig: Rig) -> None:
    rig.yaml = rig.yaml.replace("limit: 1", "limit: 3") + 'listen: "127.0.0.1:1"\n'
    reply = await rig.call("POST", "/reload")
    assert (reply.status, reply.json) == (
        200,
        {"changed": ["listen", "upstreams.up.limit"], "needsRestart": ["listen"]},
    )
    assert rig.provider().scheduler.limit == 3
    again = (await rig.call("POST", "/reload", {})).json
    assert again == {"changed": [], "needsRestart": ["listen"]}  # as long as it runs otherwise


async def test_reload_of_a_broken_file_is_422_with_every_error_and_keeps_the_old_one(rig: Rig) -> None:
    old = (await rig.get("/config")).json
    rig.yaml = rig.yaml.replace("limit: 1", "limit: none").replace("max_hold", "max_hodl") + "queue: {max_wait: 5}\n"
    reply = await rig.call("POST", "/reload")
    assert (reply.status, reply.json["error"]["code"]) == (422, "bad_configuration")
    assert "3 errors" in reply.json["error"]["message"]
    assert {problem["path"] for problem in reply.json["errors"]} == {
        "upstreams.up.limit",
        "upstreams.up.max_hodl",
        "queue.max_wait",
    }
    for problem in reply.json["errors"]:
        assert set(problem) == {"file", "line", "path", "message"}
        assert isinstance(problem["line"], int)
        assert problem["path"] in problem["message"]
    assert (await rig.get("/config")).json == old
    assert "upstreams.up.limit" in (await rig.get("/status")).json["config"]["error"]
    rig.yaml = rig.yaml.replace("limit: none", "limit: 1").replace("max_hodl", "max_hold").replace("5}", "5s}")
    assert (await rig.call("POST", "/reload")).status == 200
    assert (await rig.get("/status")).json["config"]["error"] is None


async def test_configuration_is_shown_without_secrets(rig: Rig) -> None:
    usage = 'usage: {url: /usage, field: a, headers: {x-key: "sk-very-secret"}}'
    rig.yaml = rig.yaml.replace("max_hold: null", usage)
    await rig.runtime.reload()
    reply = await rig.get("/config")
    assert reply.json["upstreams"]["up"]["usage"]["field"] == "a"
    assert b"sk-very-secret" not in reply.body


async def test_process_is_alive_whatever_else(rig: Rig) -> None:
    rig.runtime.ready = False
    assert ((await rig.get("/healthz")).status, (await rig.get("/healthz")).json) == (200, {"alive": True})


@pytest.mark.parametrize(("listening", "why"), [([], "does not listen yet"), (["127.0.0.1:8787"], "is shutting down")])
async def test_proxy_that_takes_no_requests_is_not_ready_and_says_why(rig: Rig, listening: list[str], why: str) -> None:
    assert (await rig.get("/readyz")).json == {"ready": True, "state": {"kind": "sqlite", "ok": True}}
    rig.runtime.ready, rig.runtime.listening = False, listening
    reply = await rig.get("/readyz")
    assert (reply.status, reply.json["error"]["code"], reply.json["ready"]) == (503, "not_ready", False)
    assert why in reply.json["error"]["message"]


async def test_metrics_are_prometheus_text(rig: Rig) -> None:
    await rig.hold()
    reply = await rig.get("/metrics")
    assert reply.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'slotgate_held{provider="up.example:8443"} 1.0' in reply.body.decode()
