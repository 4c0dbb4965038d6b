# What goes on at the providers, and what an operator does about it: status, slots, pause, restore.

from aiohttp import web

from proxy.service.admission import Admission
from proxy.service.runtime import Runtime
from proxy.web.admin import entries
from proxy.web.admin.call import Answer, Call, CallError, Whole, stored
from proxy.web.admin.reading import actor, field, known, nothing, part, switch
from proxy.web.admin.schemas import TIME, listing, record, ref

DURATION = Whole("durationMs", 1, 86_400_000)


async def list_status(runtime: Runtime, request: web.Request) -> web.Response:
    everyone = switch(request, "all")
    shown = [
        entries.provider(admission, runtime)
        for _, admission in sorted(runtime.admissions.items())
        if everyone or admission.scheduler.limit is not None
    ]
    return web.json_response({"providers": shown})


async def get_status(runtime: Runtime, request: web.Request) -> web.Response:
    everyone, admission = switch(request, "all"), known(runtime, request)
    if admission.scheduler.limit is None and not everyone:
        raise CallError(404, "no_limit", "this provider has no limit; with ?all=1 it is shown all the same")
    return web.json_response(entries.provider(admission, runtime))


async def get_slots(runtime: Runtime, request: web.Request) -> web.Response:
    return web.json_response(entries.slots(known(runtime, request), runtime))


async def delete_slot(runtime: Runtime, request: web.Request) -> web.Response:
    await nothing(request)
    admission, name = known(runtime, request), part(request, "id")
    is_number = name.isascii() and name.isdigit()
    if not is_number or not await runtime.remove(admission.provider_id, int(name), actor(request)):
        raise CallError(404, "unknown_id", "no slot is held and nobody waits under this id")
    await runtime.audit.stored()
    return web.Response(status=204)


async def put_pause(runtime: Runtime, request: web.Request) -> web.Response:
    admission, duration_ms = known(runtime, request), await field(request, DURATION)
    persisted = await runtime.pause(admission.provider_id, duration_ms / 1000, actor(request))
    return _changed(runtime, admission, persisted)


async def delete_pause(runtime: Runtime, request: web.Request) -> web.Response:
    await nothing(request)
    admission = known(runtime, request)
    return _changed(runtime, admission, await runtime.resume(admission.provider_id, actor(request)))


async def post_restore(runtime: Runtime, request: web.Request) -> web.Response:
    await nothing(request)
    admission = known(runtime, request)
    if admission.scheduler.auto_reduced_from is None:
        raise CallError(409, "not_reduced", "this provider's limit is not auto-reduced: nothing is to be restored")
    return _changed(runtime, admission, await runtime.restore(admission.provider_id, actor(request)))


async def post_learn(runtime: Runtime, request: web.Request) -> web.Response:
    await nothing(request)
    admission = known(runtime, request)
    persisted = await runtime.learn(admission.provider_id, actor(request))
    if persisted is None:
        raise CallError(
            409, "not_auto", "the configuration says auto neither for this provider's limit nor its cooldown"
        )
    return _changed(runtime, admission, persisted)


def _changed(runtime: Runtime, admission: Admission, persisted: bool) -> web.Response:
    return stored(entries.provider(admission, runtime), persisted)


_STATUS = "/concurrency/status"
_SLOTS = "/concurrency/slots/{providerId}"
_PAUSE = "/concurrency/pause/{providerId}"
_ENTRY = Answer(says="The provider's status", schema=ref("Provider"))
_UNKNOWN = Answer(says="No such provider", schema=ref("Error"))
_ALL = {"all": {"enum": ["0", "1"], "description": "1: also providers without a limit"}}

CALLS = (
    Call(
        method="GET",
        path=_STATUS,
        says="The providers that have a limit, and what goes on there",
        handler=list_status,
        query=_ALL,
        answers={200: Answer(says="Their status", schema=listing("providers", ref("Provider")))},
    ),
    Call(
        method="GET",
        path=f"{_STATUS}/{{providerId}}",
        says="One provider",
        handler=get_status,
        query=_ALL,
        answers={200: _ENTRY, 404: Answer(says="No such provider, or it has no limit", schema=ref("Error"))},
    ),
    Call(
        method="GET",
        path=_SLOTS,
        says="Who holds a slot, and who waits, in the order of service",
        handler=get_slots,
        answers={
            200: Answer(
                says="Slots and waiters",
                schema=record(
                    {
                        "now": TIME,
                        "slots": {"type": "array", "items": ref("Slot")},
                        "waiters": {"type": "array", "items": ref("Waiter")},
                    }
                ),
            ),
            404: _UNKNOWN,
        },
    ),
    Call(
        method="DELETE",
        path=f"{_SLOTS}/{{id}}",
        says="Take a slot back, or send a waiter away with a 503",
        handler=delete_slot,
        answers={204: Answer(says="Done"), 404: Answer(says="No such provider or id", schema=ref("Error"))},
    ),
    Call(
        method="PUT",
        path=_PAUSE,
        says="Grant nothing for so long; replaces any pause in force",
        handler=put_pause,
        takes=DURATION,
        answers={200: _ENTRY, 404: _UNKNOWN},
    ),
    Call(
        method="DELETE",
        path=_PAUSE,
        says="Go on now",
        handler=delete_pause,
        answers={200: _ENTRY, 404: _UNKNOWN},
    ),
    Call(
        method="POST",
        path="/concurrency/restore/{providerId}",
        says="Back to the limit before the auto-reduce",
        handler=post_restore,
        answers={200: _ENTRY, 404: _UNKNOWN, 409: Answer(says="It is not reduced", schema=ref("Error"))},
    ),
    Call(
        method="POST",
        path="/concurrency/learn/{providerId}",
        says="Forget what was learned or set by hand where the configuration says auto, and begin again",
        handler=post_learn,
        answers={200: _ENTRY, 404: _UNKNOWN, 409: Answer(says="Nothing is auto there", schema=ref("Error"))},
    ),
)
