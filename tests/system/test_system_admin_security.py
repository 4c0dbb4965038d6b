# Who may talk to the admin API, and in what form (spec §12).

import json
from pathlib import Path

import pytest
from blackbox.admin import JSON, Admin, part
from blackbox.process import free_ports
from blackbox.rig import Rig, Starter

STATUS = "/concurrency/status"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8788", "127.0.0.1.evil.example", "192.168.1.5", ""])
async def test_foreign_host_is_421(rig: Rig, host: str) -> None:
    """DNS rebinding: the page of another site that resolves to this machine."""
    assert (await rig.admin.call("GET", STATUS, headers=[("Host", host)])).status == 421
    path = f"/concurrency/limits/{part(rig.provider)}"
    assert (await rig.admin.call("PUT", path, {"limit": 9}, [("Host", host)])).status == 421
    assert (await rig.status())["limit"] == 1


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:8788"])
async def test_loopback_host_is_served(rig: Rig, host: str) -> None:
    assert (await rig.admin.call("GET", STATUS, headers=[("Host", host)])).status == 200


@pytest.mark.parametrize(
    "header",
    [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ],
)
async def test_foreign_page_is_403(rig: Rig, header: tuple[str, str]) -> None:
    assert (await rig.admin.call("PUT", "/concurrency/workspaces/x", {"starred": True}, [header])).status == 403
    assert (await rig.admin.call("GET", STATUS, headers=[header])).status == 403


async def test_own_page_is_served(rig: Rig) -> None:
    host, port = address = rig.proxy.admin_address
    for header in (("Origin", f"http://{host}:{port}"), ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "none")):
        assert (await Admin(address).call("GET", STATUS, headers=[header])).status == 200


async def test_body_that_is_not_declared_json_is_415(rig: Rig) -> None:
    path = f"/concurrency/limits/{part(rig.provider)}"
    for headers in ((), (("Content-Type", "text/plain"),), (("Content-Type", "application/x-www-form-urlencoded"),)):
        assert (await rig.admin.call("PUT", path, b'{"limit":9}', headers)).status == 415
    charset = (("Content-Type", "application/json; charset=utf-8"),)
    assert (await rig.admin.call("PUT", path, b'{"limit":9}', charset)).status == 200


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff", b'{"limit":NaN}', b'{"limit":2,"x":1}', b"9" * 5000]
)
async def test_body_that_cannot_be_meant_is_400(rig: Rig, body: bytes) -> None:
    reply = await rig.admin.call("PUT", f"/concurrency/limits/{part(rig.provider)}", body, JSON)
    assert reply.status == 400
    assert set(reply.json["error"]) == {"code", "message"}
    assert (await rig.status())["limit"] == 1


async def test_body_over_64_kib_is_413(rig: Rig) -> None:
    body = json.dumps({"limit": 2, "x": "y" * 70_000}).encode()
    assert (await rig.admin.call("PUT", f"/concurrency/limits/{part(rig.provider)}", body, JSON)).status == 413


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/concurrency/limits/x", {"GET", "PUT", "DELETE"}),
        ("/concurrency/cooldown/x", {"GET", "PUT"}),
        ("/concurrency/pause/x", {"PUT", "DELETE"}),
        ("/concurrency/restore/x", {"POST"}),
        ("/concurrency/status", {"GET"}),
        ("/reload", {"POST"}),
        ("/metrics", {"GET"}),
    ],
)
async def test_wrong_method_is_405_with_allow(rig: Rig, path: str, allowed: set[str]) -> None:
    reply = await rig.admin.call("PATCH", path)
    assert reply.status == 405
    assert {each.strip() for each in (reply.head.get("allow") or "").split(",")} - {"HEAD", "OPTIONS"} == allowed


async def test_unknown_path_is_404_in_json(rig: Rig) -> None:
    for path in ("/nowhere", "/concurrency", "/concurrency/limits/a/b", "/concurrency/nothing/x", "/..%2fconfig"):
        reply = await rig.admin.get(path)
        assert (reply.status, set(reply.json["error"])) == (404, {"code", "message"}), path


async def test_every_call_has_its_answer(rig: Rig) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/", "/status", "/config"):
        assert (await rig.admin.get(path)).status == 200, path
    status = (await rig.admin.get("/status")).json
    assert set(status) >= {"version", "startedAt", "listen", "config", "state"}
    assert set(status["config"]) >= {"path", "loadedAt", "error"}
    assert status["config"]["path"] == str(rig.proxy.file)
    kind = "redis" if "://" in rig.proxy.config["state"] else "sqlite"
    assert (status["config"]["error"], status["state"]["kind"], status["state"]["ok"]) == (None, kind, True)
    paths = (await rig.admin.get("/openapi.json")).json["paths"]
    assert "/concurrency/limits/{providerId}" in paths


async def test_answers_carry_no_server_name_and_no_permission_for_other_sites(rig: Rig) -> None:
    reply = await rig.admin.get(STATUS)
    assert reply.head.get("server") is None
    assert reply.head.get("access-control-allow-origin") is None
    page = await rig.admin.get("/")
    assert "frame-ancestors 'none'" in (page.head.get("content-security-policy") or "")


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("s3cret-token\n")
    return file


async def test_token_is_asked_for_everywhere_but_at_the_door(start: Starter, token_file: Path) -> None:
    rig = await start(run=False, admin={"token_file": str(token_file)})
    await _start_with_token(rig)
    good = [("Authorization", "Bearer s3cret-token")]
    for path in (STATUS, "/status", "/config", "/metrics", "/readyz", "/openapi.json", "/concurrency/events"):
        for headers in ([], [("Authorization", "Bearer wrong")], [("Authorization", "Basic s3cret-token")]):
            assert (await rig.admin.call("GET", path, headers=headers)).status == 401, path
        if path != "/concurrency/events":
            assert (await rig.admin.call("GET", path, headers=good)).status == 200, path
    for path in ("/healthz", "/"):
        assert (await rig.admin.get(path)).status == 200
    limits = f"/concurrency/limits/{part(rig.provider)}"
    assert (await rig.admin.call("PUT", limits, {"limit": 5})).status == 401
    assert (await rig.admin.call("PUT", limits, {"limit": 5}, good)).status == 200
    assert "s3cret-token" not in (await rig.admin.call("GET", "/config", headers=good)).body.decode()
    assert "s3cret-token" not in rig.proxy.output


async def _start_with_token(rig: Rig) -> None:
    """Readiness is asked with the token."""
    rig.proxy.ready_headers = (("Authorization", "Bearer s3cret-token"),)
    await rig.proxy.start()


async def test_open_admin_address_without_a_token_is_refused_at_the_start(start: Starter) -> None:
    rig = await start(run=False)
    rig.proxy.write({"admin": {"listen": f"0.0.0.0:{free_ports(1)[0]}"}})
    await rig.proxy.spawn()
    assert await rig.proxy.ended() == 78
    assert "token_file" in rig.proxy.output
