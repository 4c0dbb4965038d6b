# The form of a request to the admin API: every call, every way in which it can be wrong (spec §12).

import json

import pytest
from admin_rig import JSON, Rig

LIMIT = "/concurrency/limits/up.example:8443"
# Path, field, a good value, values that are none, and what is allowed.
WRITES = [
    (LIMIT, "limit", 4, [0, -1, 100_001, 1e2], "1 to 100000"),
    ("/concurrency/cooldown/up.example:8443", "cooldownMs", 4, [-1, 600_001], "0 to 600000"),
    ("/concurrency/pause/up.example:8443", "durationMs", 4, [0, -1, 86_400_001], "1 to 86400000"),
    ("/concurrency/workspaces/x", "starred", True, [0, 1, "true"], "true or false"),
]
NEVER = ["4", 1.5, None, [4], {"4": 4}]
WITHOUT_FIELDS = [
    ("DELETE", LIMIT),
    ("DELETE", "/concurrency/pause/up.example:8443"),
    ("DELETE", "/concurrency/slots/up.example:8443/1"),
    ("POST", "/concurrency/restore/up.example:8443"),
    ("POST", "/concurrency/learn/up.example:8443"),
    ("POST", "/reload"),
]


def state(rig: Rig) -> object:
    scheduler = rig.provider().scheduler
    return (scheduler.limit, scheduler.cooldown_s, scheduler.paused_until_at, set(rig.runtime.stars), rig.store.saved)


@pytest.mark.parametrize(("path", "name", "good", "bad", "allowed"), WRITES)
async def test_value_that_is_not_allowed_is_400_and_names_field_and_range(
    rig: Rig, path: str, name: str, good: object, bad: list[object], allowed: str
) -> None:
    before = state(rig)
    for value in (*bad, *NEVER, *([True] if name != "starred" else [])):
        reply = await rig.call("PUT", path, {name: value})
        assert (reply.status, reply.json["error"]["code"]) == (400, "bad_request"), value
        assert name in reply.message
        assert allowed in reply.message
        assert state(rig) == before
    assert (await rig.call("PUT", path, {name: good})).status == 200


BODIES = {
    "empty": b"",
    "cut": b'{"%s":',
    "list": b"[]",
    "null": b"null",
    "text": b'"%s"',
    "no field": b"{}",
    "another field": b'{"%s":4,"force":true}',
    "twice": b'{"%s":4,"%s":4}',
    "NaN": b'{"%s":NaN}',
    "Infinity": b'{"%s":-Infinity}',
    "no UTF-8": b'{"%s":"\xff"}',
    "BOM": b'\xef\xbb\xbf{"%s":4}',
    "UTF-16": '{"limit":4}'.encode("utf-16"),
    "much after it": b'{"%s":4}{}',
    "endless number": b'{"%s":' + b"9" * 5000 + b"}",
    "deep": b"[" * 50_000,
}


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, name, *_ in WRITES])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_body_that_cannot_be_meant_is_400(rig: Rig, path: str, name: str, body: bytes) -> None:
    before = state(rig)
    reply = await rig.call("PUT", path, body.replace(b"%s", name.encode()), [JSON])
    assert (reply.status, reply.json["error"]["code"]) == (400, "bad_request")
    assert reply.message
    assert state(rig) == before


async def test_refusal_names_the_field_that_is_unknown_missing_or_there_twice(rig: Rig) -> None:
    for body, words in (
        (b'{"limit":4,"limt":5}', "limt"),
        (b"{}", "limit is missing"),
        (b'{"limit":4,"limit":5}', "limit stands there twice"),
    ):
        assert words in (await rig.call("PUT", LIMIT, body, [JSON])).message


async def test_refusal_repeats_little_of_what_was_sent(rig: Rig) -> None:
    for body in ({"limit": "x" * 9000}, {"y" * 9000: 1}):
        assert len((await rig.call("PUT", LIMIT, body)).message) < 250


@pytest.mark.parametrize(("path", "name", "good"), [write[:3] for write in WRITES])
async def test_body_that_is_not_declared_as_json_is_415(rig: Rig, path: str, name: str, good: object) -> None:
    body, before = json.dumps({name: good}).encode(), state(rig)
    for media in (None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "text/json"):
        reply = await rig.call("PUT", path, body, [("Content-Type", media)] if media else [])
        assert (reply.status, reply.json["error"]["code"]) == (415, "unsupported_media_type"), media
    assert state(rig) == before
    for media in ("application/json; charset=utf-8", "Application/JSON"):
        assert (await rig.call("PUT", path, body, [("Content-Type", media)])).status == 200


@pytest.mark.parametrize(("method", "path"), WITHOUT_FIELDS)
async def test_call_without_fields_takes_no_other_body(rig: Rig, method: str, path: str) -> None:
    before = state(rig)
    assert (await rig.call(method, path, {"limit": 1})).status == 400
    assert (await rig.call(method, path, [])).status == 400
    assert (await rig.call(method, path, b"{}")).status == 415
    assert state(rig) == before
    assert (await rig.call(method, path, {})).status in (200, 204, 404, 409)


@pytest.mark.parametrize(
    ("method", "path"), [*(("PUT", path) for path, *_ in WRITES), *WITHOUT_FIELDS], ids=lambda value: value
)
async def test_body_over_64_kib_is_413(rig: Rig, method: str, path: str) -> None:
    before = state(rig)
    reply = await rig.call(method, path, b" " * 65_537, [JSON])
    assert (reply.status, reply.json["error"]["code"]) == (413, "body_too_large")
    assert state(rig) == before


async def test_body_of_64_kib_is_read(rig: Rig) -> None:
    body = b'{"limit":4}'
    assert (await rig.call("PUT", LIMIT, body + b" " * (65_536 - len(body)), [JSON])).status == 200


async def test_compressed_body_counts_by_what_it_becomes(rig: Rig) -> None:
    import gzip

    coded = [JSON, ("Content-Encoding", "gzip")]
    assert (await rig.call("PUT", LIMIT, gzip.compress(b" " * 1_000_000), coded)).status == 413
    assert (await rig.call("PUT", LIMIT, b"no gzip at all", coded)).status == 400
    assert (await rig.call("PUT", LIMIT, gzip.compress(b'{"limit":7}'), coded)).status == 200


BAD_PARTS = {
    "too long": "x" * 129,
    "too long in characters, not in bytes": "%C3%BC" * 129,
    "no UTF-8": "%FF",
    "cut UTF-8": "%C3",
    "no escape": "%zz",
    "cut escape": "a%",
    "control character": "a%0Ab",
    "zero": "%00",
    "a step": "%2e",
    "a step up": "%2E%2e",
    "DEL": "%7f",
}
WITH_PART = [
    ("GET", "/concurrency/limits/{}"),
    ("PUT", "/concurrency/limits/{}"),
    ("DELETE", "/concurrency/limits/{}"),
    ("GET", "/concurrency/cooldown/{}"),
    ("PUT", "/concurrency/cooldown/{}"),
    ("GET", "/concurrency/status/{}"),
    ("GET", "/concurrency/slots/{}"),
    ("DELETE", "/concurrency/slots/{}/1"),
    ("DELETE", "/concurrency/slots/up.example:8443/{}"),
    ("PUT", "/concurrency/pause/{}"),
    ("DELETE", "/concurrency/pause/{}"),
    ("POST", "/concurrency/restore/{}"),
    ("POST", "/concurrency/learn/{}"),
    ("PUT", "/concurrency/workspaces/{}"),
]


@pytest.mark.parametrize(("method", "path"), WITH_PART)
async def test_name_that_cannot_be_one_is_400(rig: Rig, method: str, path: str) -> None:
    for why, part in BAD_PARTS.items():
        reply = await rig.call(method, path.format(part))
        assert (reply.status, reply.json["error"]["code"]) == (400, "bad_request"), why
        assert "in the path" in reply.message


async def test_name_of_128_characters_is_one(rig: Rig) -> None:
    assert (await rig.call("PUT", "/concurrency/workspaces/" + "%C3%BC" * 128, {"starred": True})).status == 200


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/concurrency/limits", {"GET"}),
        ("/concurrency/limits/x", {"GET", "PUT", "DELETE"}),
        ("/concurrency/cooldown", {"GET"}),
        ("/concurrency/cooldown/x", {"GET", "PUT"}),
        ("/concurrency/status", {"GET"}),
        ("/concurrency/status/x", {"GET"}),
        ("/concurrency/slots/x", {"GET"}),
        ("/concurrency/slots/x/1", {"DELETE"}),
        ("/concurrency/pause/x", {"PUT", "DELETE"}),
        ("/concurrency/restore/x", {"POST"}),
        ("/concurrency/learn/x", {"POST"}),
        ("/concurrency/workspaces", {"GET"}),
        ("/concurrency/workspaces/x", {"PUT"}),
        ("/concurrency/events", {"GET"}),
        ("/status", {"GET"}),
        ("/reload", {"POST"}),
        ("/config", {"GET"}),
        ("/healthz", {"GET"}),
        ("/readyz", {"GET"}),
        ("/metrics", {"GET"}),
        ("/openapi.json", {"GET"}),
        ("/", {"GET"}),
    ],
)
async def test_wrong_method_is_405_with_allow(rig: Rig, path: str, allowed: set[str]) -> None:
    for method in {"GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE"} - allowed:
        reply = await rig.call(method, path)
        assert (reply.status, reply.json["error"]["code"]) == (405, "method_not_allowed"), method
        assert set(reply.headers["Allow"].split(",")) - {"HEAD"} == allowed
        assert reply.headers["Allow"] in reply.message


async def test_client_that_asks_the_admin_api_is_told_where_clients_connect(rig: Rig) -> None:
    reply = await rig.call("POST", "/anthropic/v1/messages", {})
    assert reply.json["error"]["message"].endswith("; clients connect to 127.0.0.1:8787")


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/concurrency",
        "/concurrency/",
        "/concurrency/limits/",
        "/concurrency/limits/a/b",
        "/concurrency/slots/a/",
        "/concurrency/nothing/x",
        "/Status",
        "/status/",
        "//status",
        "/x/../status",
        "/..%2fstatus",
        "/page.js.map",
    ],
)
async def test_unknown_path_is_404_in_json(rig: Rig, path: str) -> None:
    answer = await rig.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 404 "), path
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "not_found"


async def test_head_is_answered_like_get_without_a_body(rig: Rig) -> None:
    reply = await rig.call("HEAD", "/concurrency/limits")
    assert (reply.status, reply.body, reply.headers["Content-Type"]) == (200, b"", "application/json; charset=utf-8")
    assert (await rig.call("HEAD", "/concurrency/events")).status == 405, "a stream without a body would never end"


async def test_fault_of_our_own_is_500_without_a_detail(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> object:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(type(rig.runtime), "effective", broken)
    reply = await rig.get("/config")
    assert (reply.status, reply.json["error"]["code"]) == (500, "internal")
    assert b"secret detail" not in reply.body
