# Workspaces and their stars. One that has neither star, waiter nor slot is not remembered.

from aiohttp import web

from proxy.service.runtime import Runtime
from proxy.web.admin import entries
from proxy.web.admin.call import Answer, Call, Truth, stored
from proxy.web.admin.reading import actor, field, part
from proxy.web.admin.schemas import listing, ref

STARRED = Truth("starred")


async def list_workspaces(runtime: Runtime, request: web.Request) -> web.Response:
    return web.json_response({"workspaces": list(entries.workspaces(runtime).values())})


async def put_workspace(runtime: Runtime, request: web.Request) -> web.Response:
    name, starred = part(request, "workspaceId"), await field(request, STARRED)
    persisted = await runtime.star(name, starred, actor(request))
    return stored(entries.workspaces(runtime).get(name) or entries.workspace(name, starred=False), persisted)


_WORKSPACES = "/concurrency/workspaces"

CALLS = (
    Call(
        method="GET",
        path=_WORKSPACES,
        says="The workspaces that are starred, wait or have a slot",
        handler=list_workspaces,
        answers={200: Answer(says="The workspaces", schema=listing("workspaces", ref("Workspace")))},
    ),
    Call(
        method="PUT",
        path=f"{_WORKSPACES}/{{workspaceId}}",
        says="Set or take the star; waiters move at once",
        handler=put_workspace,
        takes=STARRED,
        answers={200: Answer(says="The workspace", schema=ref("Workspace"))},
    ),
)
