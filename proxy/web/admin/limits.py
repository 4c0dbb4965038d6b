# Limits and cooldowns, as operators set them.
#
# Rule: both may be set for a provider that no upstream names yet; a cooldown never makes a limit.

from aiohttp import web

from proxy.service.runtime import Runtime
from proxy.web.admin.call import Answer, Call, CallError, Whole, stored
from proxy.web.admin.reading import actor, field, known, nothing, part
from proxy.web.admin.schemas import listing, ref

LIMIT = Whole("limit", 1, 100_000)
COOLDOWN = Whole("cooldownMs", 0, 600_000)


async def list_limits(runtime: Runtime, request: web.Request) -> web.Response:
    found = {name: admission.scheduler.limit for name, admission in sorted(runtime.admissions.items())}
    limits = [{"providerId": name, "limit": limit} for name, limit in found.items() if limit is not None]
    return web.json_response({"limits": limits})


async def get_limit(runtime: Runtime, request: web.Request) -> web.Response:
    provider_id, limit = _limited(runtime, request)
    return web.json_response({"providerId": provider_id, "limit": limit})


async def put_limit(runtime: Runtime, request: web.Request) -> web.Response:
    provider_id, limit = part(request, "providerId"), await field(request, LIMIT)
    persisted = await runtime.set_limit(provider_id, limit, actor(request))
    return stored({"providerId": provider_id, "limit": limit}, persisted)


async def delete_limit(runtime: Runtime, request: web.Request) -> web.Response:
    await nothing(request)
    provider_id, _ = _limited(runtime, request)
    if await runtime.set_limit(provider_id, None, actor(request)):
        return web.Response(status=204)
    return stored({"providerId": provider_id, "limit": None}, persisted=False)  # a 204 cannot say it


async def list_cooldowns(runtime: Runtime, request: web.Request) -> web.Response:
    names = sorted(runtime.admissions)
    return web.json_response({"cooldowns": [_cooldown(runtime, name) for name in names]})


async def get_cooldown(runtime: Runtime, request: web.Request) -> web.Response:
    return web.json_response(_cooldown(runtime, known(runtime, request).provider_id))


async def put_cooldown(runtime: Runtime, request: web.Request) -> web.Response:
    provider_id, cooldown_ms = part(request, "providerId"), await field(request, COOLDOWN)
    persisted = await runtime.set_cooldown(provider_id, cooldown_ms / 1000, actor(request))
    return stored({"providerId": provider_id, "cooldownMs": cooldown_ms}, persisted)


def _limited(runtime: Runtime, request: web.Request) -> tuple[str, int]:
    admission = runtime.admissions.get(part(request, "providerId"))
    if admission is None or admission.scheduler.limit is None:
        raise CallError(404, "no_limit", 'this provider has no limit; PUT {"limit": …} here sets one')
    return admission.provider_id, admission.scheduler.limit


def _cooldown(runtime: Runtime, provider_id: str) -> dict[str, object]:
    cooldown_s = runtime.admissions[provider_id].scheduler.cooldown_s
    return {"providerId": provider_id, "cooldownMs": round(cooldown_s * 1000)}


_LIMITS = "/concurrency/limits"
_LIMIT = f"{_LIMITS}/{{providerId}}"
_COOLDOWNS = "/concurrency/cooldown"
_COOLDOWN = f"{_COOLDOWNS}/{{providerId}}"
_ONE_LIMIT = Answer(says="The limit", schema=ref("Limit"))
_ONE_COOLDOWN = Answer(says="The cooldown", schema=ref("Cooldown"))
_NO_LIMIT = Answer(says="It has none", schema=ref("Error"))

CALLS = (
    Call(
        method="GET",
        path=_LIMITS,
        says="The providers that have a limit",
        handler=list_limits,
        answers={200: Answer(says="Their limits", schema=listing("limits", ref("Limit")))},
    ),
    Call(
        method="GET",
        path=_LIMIT,
        says="A provider's limit",
        handler=get_limit,
        answers={200: _ONE_LIMIT, 404: _NO_LIMIT},
    ),
    Call(
        method="PUT",
        path=_LIMIT,
        says="Set the limit; also of a provider that no upstream names yet",
        handler=put_limit,
        takes=LIMIT,
        answers={200: _ONE_LIMIT},
    ),
    Call(
        method="DELETE",
        path=_LIMIT,
        says="Unlimited from now on: ends a pause and lets every waiter go",
        handler=delete_limit,
        answers={
            204: Answer(says="It is unlimited"),
            200: Answer(says="It is unlimited, but that could not be stored", schema=ref("Limit")),
            404: _NO_LIMIT,
        },
    ),
    Call(
        method="GET",
        path=_COOLDOWNS,
        says="The cooldowns of all known providers",
        handler=list_cooldowns,
        answers={200: Answer(says="The cooldowns", schema=listing("cooldowns", ref("Cooldown")))},
    ),
    Call(
        method="GET",
        path=_COOLDOWN,
        says="How long a provider's released slots rest",
        handler=get_cooldown,
        answers={200: _ONE_COOLDOWN, 404: Answer(says="No such provider", schema=ref("Error"))},
    ),
    Call(
        method="PUT",
        path=_COOLDOWN,
        says="Set the cooldown for slots released from now on",
        handler=put_cooldown,
        takes=COOLDOWN,
        answers={200: _ONE_COOLDOWN},
    ),
)
