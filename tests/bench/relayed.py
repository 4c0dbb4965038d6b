# The least that a proxy on uvicorn and httpx does: it relays. Runs in the rivals' environment, by itself.

import os

import httpx
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

UPSTREAM = httpx.URL(os.environ["UPSTREAM"])
OF_THE_HOP = {b"host", b"connection", b"keep-alive", b"transfer-encoding"}

client = httpx.AsyncClient(timeout=300, limits=httpx.Limits(max_connections=None))


async def relay(request: Request) -> StreamingResponse:
    url = UPSTREAM.copy_with(raw_path=request.scope["raw_path"] + b"?" + request.scope["query_string"])
    fields = [(name, value) for name, value in request.headers.raw if name not in OF_THE_HOP]
    asked = client.build_request(request.method, url, headers=fields, content=request.stream())
    answer = await client.send(asked, stream=True)
    given = StreamingResponse(answer.aiter_raw(), answer.status_code, background=BackgroundTask(answer.aclose))
    given.raw_headers = [(name, value) for name, value in answer.headers.raw if name.lower() not in OF_THE_HOP]
    return given


app = Starlette(routes=[Route("/{path:path}", relay, methods=["GET", "POST", "PUT"])])
