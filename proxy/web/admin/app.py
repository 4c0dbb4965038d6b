# The admin API as an application of aiohttp: every call, behind the guard.
#
# Rule 1: whatever goes wrong becomes `{"error": {"code", "message"}}` here and nowhere else.
# Rule 2: no answer may be kept, framed, or read by another site; none tells the name of the software.
# Rule 3: when the server shuts down, the readers of events end at once: nothing else runs long.

import re
from collections.abc import Sequence
from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from proxy.errors import StoreError
from proxy.service.runtime import EVERYBODY, Runtime
from proxy.web.admin import events, history, library, limits, openapi, page, process, providers, workspaces
from proxy.web.admin.call import Answer, Call, CallError, refusal
from proxy.web.admin.guard import guard
from proxy.web.admin.reading import BODY_MAX

_ONE_PART = re.compile(r"\{(\w+)\}")  # the framework's own pattern excludes braces from names
_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def admin_app(runtime: Runtime) -> web.Application:
    """The application, for an AppRunner. Its cleanup ends the stream of events."""
    calls, looking = _calls(), [*limits.CALLS, *providers.CALLS, *workspaces.CALLS]
    open_paths = {call.path for call in calls if call.open}
    app = web.Application(middlewares=[_answer(runtime), guard(runtime, open_paths)], client_max_size=BODY_MAX)
    for call in calls:
        path = _ONE_PART.sub(r"{\1:[^/]+}", call.path)
        handler = partial(_looked if call in looking else _asked, call, runtime)
        if call.method == "GET" and call.handler is not events.stream:
            app.router.add_get(path, handler)  # and HEAD
        else:
            app.router.add_route(call.method, path, handler)
    app.on_response_prepare.append(_dress)
    app.on_shutdown.append(partial(_end_events, runtime))
    return app


def _calls() -> tuple[Call, ...]:
    async def describe(runtime: Runtime, request: web.Request) -> web.Response:
        return web.json_response(document)

    itself = Call(
        method="GET",
        path="/openapi.json",
        says="This description",
        handler=describe,
        answers={200: Answer(says="OpenAPI 3.1", schema={"type": "object"})},
    )
    calls = (
        *limits.CALLS,
        *providers.CALLS,
        *workspaces.CALLS,
        *events.CALLS,
        *history.CALLS,
        *process.CALLS,
        itself,
        *library.CALLS,
        *page.CALLS,
    )
    document = openapi.document(calls)
    return calls


async def _asked(call: Call, runtime: Runtime, request: web.Request) -> web.StreamResponse:
    return await call.handler(runtime, request)


async def _looked(call: Call, runtime: Runtime, request: web.Request) -> web.StreamResponse:
    """What concerns the queues is answered as they are now, also where other replicas share them."""
    await runtime.refresh(EVERYBODY)
    return await call.handler(runtime, request)


def _answer(runtime: Runtime) -> Middleware:
    @web.middleware
    async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except CallError as error:
            return refusal(error)
        except StoreError as error:
            return refusal(CallError(503, "state_away", str(error)))
        except web.HTTPException as error:
            return refusal(_from_framework(error, runtime.listening))
        except web.RequestPayloadError:
            return refusal(CallError(400, "bad_request", "the body is cut off or badly encoded"))
        except Exception:  # the top handler
            runtime.telemetry.log.error("admin.failed", method=request.method, path=request.path, exc_info=True)
            if request.writer.output_size > 0:
                raise  # an answer has begun: the framework cuts it
            return refusal(CallError(500, "internal", "a fault of the proxy; its log has the details"))

    return answer


def _from_framework(error: web.HTTPException, clients: Sequence[str]) -> CallError:
    elsewhere = f"; clients connect to {', '.join(clients)}" if clients else ""
    words = {
        404: f"the admin API has no such path; /openapi.json has them all{elsewhere}",
        405: f"allowed here: {error.headers.get('Allow')}",
        413: f"a body may have {BODY_MAX} bytes",
    }
    headers = {name: value for name, value in error.headers.items() if name == "Allow"}
    return CallError(
        error.status, _CODES.get(error.status, "bad_request"), words.get(error.status, error.reason), headers
    )


async def _dress(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.pop("Server", None)


async def _end_events(runtime: Runtime, app: web.Application) -> None:
    runtime.telemetry.events.close()
