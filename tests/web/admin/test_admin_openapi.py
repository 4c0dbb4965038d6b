# /openapi.json says what the admin API does: no call more, none less, and every answer as described.

from typing import Any

import pytest
from admin_rig import Rig
from shapes import faults

ID = "up.example:8443"
# How to make each call answer with each of its own statuses, in this order, at a provider that was reduced.
CALLS: list[tuple[str, str, str, Any, int]] = [
    ("GET", "/concurrency/status/{providerId}", f"/concurrency/status/{ID}", None, 200),
    ("POST", "/concurrency/restore/{providerId}", f"/concurrency/restore/{ID}", None, 200),
    ("POST", "/concurrency/restore/{providerId}", f"/concurrency/restore/{ID}", None, 409),
    ("GET", "/concurrency/limits", "/concurrency/limits", None, 200),
    ("GET", "/concurrency/limits/{providerId}", f"/concurrency/limits/{ID}", None, 200),
    ("GET", "/concurrency/limits/{providerId}", "/concurrency/limits/nobody", None, 404),
    ("PUT", "/concurrency/limits/{providerId}", f"/concurrency/limits/{ID}", {"limit": 2}, 200),
    ("DELETE", "/concurrency/limits/{providerId}", "/concurrency/limits/nobody", None, 404),
    ("GET", "/concurrency/cooldown", "/concurrency/cooldown", None, 200),
    ("GET", "/concurrency/cooldown/{providerId}", f"/concurrency/cooldown/{ID}", None, 200),
    ("GET", "/concurrency/cooldown/{providerId}", "/concurrency/cooldown/nobody", None, 404),
    ("PUT", "/concurrency/cooldown/{providerId}", f"/concurrency/cooldown/{ID}", {"cooldownMs": 0}, 200),
    ("GET", "/concurrency/status", "/concurrency/status?all=1", None, 200),
    ("GET", "/concurrency/status/{providerId}", "/concurrency/status/free.example", None, 404),
    ("GET", "/concurrency/slots/{providerId}", f"/concurrency/slots/{ID}", None, 200),
    ("GET", "/concurrency/slots/{providerId}", "/concurrency/slots/nobody", None, 404),
    ("DELETE", "/concurrency/slots/{providerId}/{id}", f"/concurrency/slots/{ID}/1", None, 204),
    ("DELETE", "/concurrency/slots/{providerId}/{id}", f"/concurrency/slots/{ID}/1", None, 404),
    ("POST", "/concurrency/restore/{providerId}", "/concurrency/restore/nobody", None, 404),
    ("POST", "/concurrency/learn/{providerId}", "/concurrency/learn/auto.example", None, 200),
    ("POST", "/concurrency/learn/{providerId}", f"/concurrency/learn/{ID}", None, 409),
    ("POST", "/concurrency/learn/{providerId}", "/concurrency/learn/nobody", None, 404),
    ("PUT", "/concurrency/pause/{providerId}", f"/concurrency/pause/{ID}", {"durationMs": 1000}, 200),
    ("PUT", "/concurrency/pause/{providerId}", "/concurrency/pause/nobody", {"durationMs": 1000}, 404),
    ("DELETE", "/concurrency/pause/{providerId}", f"/concurrency/pause/{ID}", None, 200),
    ("DELETE", "/concurrency/pause/{providerId}", "/concurrency/pause/nobody", None, 404),
    ("GET", "/concurrency/workspaces", "/concurrency/workspaces", None, 200),
    ("PUT", "/concurrency/workspaces/{workspaceId}", "/concurrency/workspaces/x", {"starred": True}, 200),
    ("DELETE", "/concurrency/limits/{providerId}", f"/concurrency/limits/{ID}", None, 204),
    ("GET", "/concurrency/history/{providerId}", f"/concurrency/history/{ID}", None, 200),
    ("GET", "/concurrency/history/{providerId}", "/concurrency/history/nobody", None, 404),
    ("GET", "/concurrency/marks/{providerId}", f"/concurrency/marks/{ID}", None, 200),
    ("GET", "/concurrency/marks/{providerId}", "/concurrency/marks/nobody", None, 404),
    ("GET", "/concurrency/audit", "/concurrency/audit", None, 200),
    ("GET", "/status", "/status", None, 200),
    ("POST", "/reload", "/reload", None, 200),
    ("GET", "/config", "/config", None, 200),
    ("GET", "/healthz", "/healthz", None, 200),
    ("GET", "/readyz", "/readyz", None, 200),
    ("GET", "/metrics", "/metrics", None, 200),
    ("GET", "/openapi.json", "/openapi.json", None, 200),
    ("GET", "/", "/", None, 200),
    ("GET", "/page.css", "/page.css", None, 200),
    ("GET", "/page/{file}", "/page/theme.js", None, 200),
    ("GET", "/page/{file}", "/page/nothing.js", None, 404),
    ("GET", "/page/chart.js", "/page/chart.js", None, 200),
]
# Those that need more than a call to come about, each with its own test below or where it is named.
MADE_OTHERWISE = {
    ("GET", "/page/chart.js", 304),  # test_admin_library.py
    ("GET", "/page/chart.js", 404),
    ("DELETE", "/concurrency/limits/{providerId}", 200),
    ("POST", "/reload", 422),
    ("GET", "/readyz", 503),
    ("GET", "/concurrency/history/{providerId}", 503),
    ("GET", "/concurrency/marks/{providerId}", 503),
    ("GET", "/concurrency/audit", 503),
    ("GET", "/concurrency/events", 200),
}
OF_THE_FORM = {400, 401, 403, 413, 415, 421, 500}


async def described(rig: Rig) -> dict[str, Any]:
    document: dict[str, Any] = (await rig.get("/openapi.json")).json
    return document


async def test_every_route_is_described_and_everything_described_is_a_route(rig: Rig) -> None:
    app = rig.runner.app
    assert app is not None
    routes = {
        (route.method, route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    paths = (await described(rig))["paths"]
    assert routes == {(method.upper(), path) for path, calls in paths.items() for method in calls}


async def test_every_described_answer_is_tried_here(rig: Rig) -> None:
    paths = (await described(rig))["paths"]
    own = {
        (method.upper(), path, int(status))
        for path, calls in paths.items()
        for method, call in calls.items()
        for status in call["responses"]
        if int(status) not in OF_THE_FORM
    }
    assert own == {(method, path, status) for method, path, _, _, status in CALLS} | MADE_OTHERWISE


def answer_of(document: dict[str, Any], method: str, path: str, status: int) -> dict[str, Any]:
    answer: dict[str, Any] = document["paths"][path][method.lower()]["responses"][str(status)]
    return answer


def check(reply: Any, answer: dict[str, Any], document: dict[str, Any]) -> None:
    if "content" not in answer:
        assert reply.body == b""
        return
    ((media, content),) = answer["content"].items()
    assert reply.headers["Content-Type"].startswith(media)
    if "schema" in content:
        assert faults(reply.json, content["schema"], document) == []


async def test_every_answer_is_as_it_is_described(rig: Rig) -> None:
    """With a provider where everything that can be shown is: a slot, a waiter, a pause, a reduction, evidence."""
    document = await described(rig)
    await rig.call("PUT", f"/concurrency/limits/{ID}", {"limit": 2})
    await rig.limited()
    await rig.wait(conversation="c")
    rig.runtime.stars.add("star")
    shown = (await rig.get(f"/concurrency/status/{ID}")).json
    assert {"evidence", "notice", "autoReducedFrom", "pausedUntil", "pauseCause"} <= set(shown)
    for method, path, target, body, status in CALLS:
        reply = await rig.call(method, target, body)
        assert reply.status == status, (method, target, reply)
        check(reply, answer_of(document, method, path, status), document)


async def test_answers_of_rare_states_are_as_they_are_described(rig: Rig) -> None:
    document = await described(rig)
    rig.store.ok = False
    for method, path, target, body, status in CALLS:
        if method == "PUT" and status == 200:
            reply = await rig.call(method, target, body)
            assert reply.json["persisted"] is False
            check(reply, answer_of(document, method, path, 200), document)
    reply = await rig.call("DELETE", f"/concurrency/limits/{ID}")
    check(reply, answer_of(document, "DELETE", "/concurrency/limits/{providerId}", 200), document)
    rig.store.readable = False
    for path, target in (
        ("/concurrency/history/{providerId}", f"/concurrency/history/{ID}"),
        ("/concurrency/marks/{providerId}", f"/concurrency/marks/{ID}"),
        ("/concurrency/audit", "/concurrency/audit"),
    ):
        reply = await rig.get(target)
        assert reply.status == 503
        check(reply, answer_of(document, "GET", path, 503), document)
    rig.runtime.ready, rig.yaml = False, "nonsense: 1"
    check(await rig.get("/readyz"), answer_of(document, "GET", "/readyz", 503), document)
    check(await rig.get("/status"), answer_of(document, "GET", "/status", 200), document)
    check(await rig.call("POST", "/reload"), answer_of(document, "POST", "/reload", 422), document)


@pytest.mark.parametrize(
    ("headers", "method", "path", "body", "status"),
    [
        ([], "PUT", "/concurrency/limits/{providerId}", b"x", 415),
        ([], "PUT", "/concurrency/limits/{providerId}", {"limit": 0}, 400),
        ([], "PUT", "/concurrency/limits/{providerId}", {"x": "x" * 70_000}, 413),
        ([], "GET", "/concurrency/status", None, 400),
        ([("Host", "evil.example")], "GET", "/status", None, 421),
        ([("Origin", "null")], "GET", "/status", None, 403),
    ],
)
async def test_refusals_of_the_form_are_described(
    rig: Rig, headers: list[tuple[str, str]], method: str, path: str, body: Any, status: int
) -> None:
    document = await described(rig)
    target = path.replace("{providerId}", ID) + ("?all=x" if path.endswith("status") and status == 400 else "")
    reply = await rig.call(method, target, body, headers)
    assert reply.status == status
    check(reply, answer_of(document, method, path, status), document)


async def test_fields_that_a_body_takes_are_described_with_their_ranges(rig: Rig) -> None:
    paths = (await described(rig))["paths"]
    taken = {
        path: call["requestBody"]["content"]["application/json"]["schema"]["properties"]
        for path, calls in paths.items()
        for call in calls.values()
        if "requestBody" in call
    }
    assert taken == {
        "/concurrency/limits/{providerId}": {"limit": {"type": "integer", "minimum": 1, "maximum": 100_000}},
        "/concurrency/cooldown/{providerId}": {"cooldownMs": {"type": "integer", "minimum": 0, "maximum": 600_000}},
        "/concurrency/pause/{providerId}": {"durationMs": {"type": "integer", "minimum": 1, "maximum": 86_400_000}},
        "/concurrency/workspaces/{workspaceId}": {"starred": {"type": "boolean"}},
    }


async def test_parts_of_paths_and_queries_are_described(rig: Rig) -> None:
    paths = (await described(rig))["paths"]
    for path, calls in paths.items():
        for call in calls.values():
            named = [each["name"] for each in call.get("parameters", []) if each["in"] == "path"]
            assert [f"{{{name}}}" for name in named] == [part for part in path.split("/") if part.startswith("{")]
    assert paths["/concurrency/status"]["get"]["parameters"][0]["name"] == "all"


async def test_what_needs_no_token_is_described(rig: Rig) -> None:
    paths = (await described(rig))["paths"]
    free = {path for path, calls in paths.items() for call in calls.values() if call.get("security") == []}
    assert free == {"/healthz", "/", "/page.css", "/page/{file}", "/page/chart.js"}
