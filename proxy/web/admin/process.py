# The process itself: is it alive, is it ready, what is it made of, and reload.

from aiohttp import web

from proxy import __version__
from proxy.errors import ConfigErrors
from proxy.service.runtime import Runtime
from proxy.web.admin.call import Answer, Call, CallError, refusal
from proxy.web.admin.reading import nothing
from proxy.web.admin.schemas import MAYBE_TEXT, TEXT, TIME, TRUTH, record, ref

_METRICS_MEDIA = "text/plain; version=0.0.4; charset=utf-8"  # Prometheus' text exposition format


async def get_status(runtime: Runtime, request: web.Request) -> web.Response:
    source = runtime.settings.source
    return web.json_response(
        {
            "version": __version__,
            "startedAt": runtime.started_at_ms,
            "listen": list(runtime.listening),
            "config": {
                "path": None if source is None else str(source),
                "loadedAt": runtime.loaded_at_ms,
                "error": runtime.config_error,
            },
            "state": _state(runtime),
        }
    )


async def post_reload(runtime: Runtime, request: web.Request) -> web.Response:
    await nothing(request)
    try:
        changed, needs_restart = await runtime.reload()
    except ConfigErrors as error:
        count = len(error.problems)
        words = f"{count} error{'s' if count > 1 else ''}; the configuration of before stays in force"
        problems = [{"file": p.file, "line": p.line, "path": p.path, "message": str(p)} for p in error.problems]
        return refusal(CallError(422, "bad_configuration", words), errors=problems)
    return web.json_response({"changed": changed, "needsRestart": needs_restart})


async def get_config(runtime: Runtime, request: web.Request) -> web.Response:
    return web.json_response(runtime.effective())


async def get_health(runtime: Runtime, request: web.Request) -> web.Response:
    return web.json_response({"alive": True})


async def get_ready(runtime: Runtime, request: web.Request) -> web.Response:
    """A state that cannot be stored is told, but does not make the proxy unready: it goes on with its memory."""
    if runtime.ready:
        return web.json_response({"ready": True, "state": _state(runtime)})
    why = "the proxy is shutting down" if runtime.listening else "the proxy does not listen yet"
    return refusal(CallError(503, "not_ready", why), ready=False, state=_state(runtime))


async def get_metrics(runtime: Runtime, request: web.Request) -> web.Response:
    await runtime.refresh()
    return web.Response(body=runtime.telemetry.metrics(), headers={"Content-Type": _METRICS_MEDIA})


def _state(runtime: Runtime) -> dict[str, object]:
    error, link = runtime.state_error, runtime.link
    state: dict[str, object] = {"kind": runtime.store.kind, "ok": error is None}
    if link is not None:
        state["replica"] = link.replica
    return state if error is None else {**state, "error": error}


_ERROR = record({"code": TEXT, "message": TEXT})
_NAMES = {"type": "array", "items": TEXT}
_PROBLEM = record({"file": TEXT, "line": {"type": ["integer", "null"]}, "path": TEXT, "message": TEXT})

CALLS = (
    Call(
        method="GET",
        path="/status",
        says="The process",
        handler=get_status,
        answers={
            200: Answer(
                says="Version, addresses, configuration and state",
                schema=record(
                    {
                        "version": TEXT,
                        "startedAt": TIME,
                        "listen": _NAMES,
                        "config": record({"path": MAYBE_TEXT, "loadedAt": TIME, "error": MAYBE_TEXT}),
                        "state": ref("State"),
                    }
                ),
            )
        },
    ),
    Call(
        method="POST",
        path="/reload",
        says="Load the configuration again; nothing in flight or waiting is disturbed",
        handler=post_reload,
        answers={
            200: Answer(says="Keys that changed", schema=record({"changed": _NAMES, "needsRestart": _NAMES})),
            422: Answer(
                says="Everything that is wrong; the configuration of before stays in force",
                schema=record({"error": _ERROR, "errors": {"type": "array", "items": _PROBLEM}}),
            ),
        },
    ),
    Call(
        method="GET",
        path="/config",
        says="The configuration in force, without secrets",
        handler=get_config,
        answers={200: Answer(says="In the file's own keys", schema={"type": "object"})},
    ),
    Call(
        method="GET",
        path="/healthz",
        says="Whether the process lives",
        handler=get_health,
        open=True,
        answers={200: Answer(says="It does", schema=record({"alive": {"const": True}}))},
    ),
    Call(
        method="GET",
        path="/readyz",
        says="Whether it takes requests: it listens and is not shutting down",
        handler=get_ready,
        answers={
            200: Answer(says="It does", schema=record({"ready": TRUTH, "state": ref("State")})),
            503: Answer(
                says="It does not, and why",
                schema=record({"error": _ERROR, "ready": TRUTH, "state": ref("State")}),
            ),
        },
    ),
    Call(
        method="GET",
        path="/metrics",
        says="Numbers for Prometheus",
        handler=get_metrics,
        answers={200: Answer(says="The text exposition format", media=_METRICS_MEDIA)},
    ),
)
