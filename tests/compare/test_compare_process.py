# The same comparison through the real process: what `slotgate serve` adds to the path (its listeners, presets' rules,
# log, metrics, state) adds nothing to the wire.

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from blackbox.process import Proxy
from model import FIN, OPEN, RST
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post, request
from rawsides.upstream import Upstream
from stage import Exchange, Stage

CHAT = [
    *("Authorization: Bearer sk-1", "x-api-key: k", "Content-Type: application/json", "Accept: text/event-stream"),
    *(
        "user-agent: claude-cli/2.0 (external, cli)",
        "Connection: keep-alive, X-Mine",
        "X-Mine: 1",
        "X-Slotgate-Workspace: w",
    ),
    *("X-Forwarded-For: 1.2.3.4", "accept-encoding: gzip, br, zstd", "X-Claude-Code-Session-Id: s", "X-Odd:\t\xff "),
]
EVENTS = [b"event: delta\ndata: %d\n\n" % number for number in range(50)] + [b"data: [DONE]\n\n"]
STREAM = begun("content-type: text/event-stream", "Date: x", CHUNKED, "Server: nginx", "Alt-Svc: h3", "Set-Cookie: a=b")
LIMITED = answer(
    b'{"error":{"type":"rate_limit_error"}}', "retry-after: 0", "Set-Cookie: a", status="429 Too Many Requests"
)
TABLE = {
    "a chat": Exchange(
        post("/up/v1/messages?beta=true", b'{"stream":true}', *CHAT),
        STREAM + b"".join(map(chunk, EVENTS)) + LAST_CHUNK,
    ),
    "a chat in pieces": Exchange(
        post("/up/v1/messages", b"{}" * 500, *CHAT), STREAM + chunk(b"x") + LAST_CHUNK, pieces=9
    ),
    "until the end": Exchange(post("/up/v1/messages", b"{}"), begun("X-A: b") + b"".join(EVENTS), FIN),
    "until a reset": Exchange(get("/up/v1/models"), begun("X-A: b") + b"part", RST),
    "cut": Exchange(post("/up/v1/messages", b"{}"), STREAM + chunk(b"x") + b"5\r\nhel", FIN),
    "an error": Exchange(post("/up/v1/messages", b"{}"), answer(b"\x1f\x8b!", "Content-Encoding: gzip", status="529 ")),
    "a rate limit": Exchange(post("/up/v1/messages", b"{}"), LIMITED),
    "an upload": Exchange(
        request("PUT", "/up/v1/files/%2F?a", CHUNKED) + chunk(b"x" * 70_000) + LAST_CHUNK, answer(b"ok")
    ),
    "trailers": Exchange(
        request("POST", "/up/v1/messages", CHUNKED, "TE: trailers") + chunk(b"{}") + b"0\r\nX-T: u\r\n\r\n",
        begun(CHUNKED, "Trailer: X-T") + chunk(b"ok") + b"0;a\r\nx-t:\tu\r\n\r\n",
    ),
    "HEAD": Exchange(request("HEAD", "/up/v1/files/1"), begun("Content-Length: 1000000", "ETag: x")),
    "interim": Exchange(get("/up/"), begun("Link: <a>", status="103 Early Hints") + begun(status="204 None")),
    "HTTP/1.0": Exchange(b"GET /up/x HTTP/1.0\r\n\r\n", begun(CHUNKED) + chunk(b"ok") + LAST_CHUNK),
    "close": Exchange(get("/up/", "Connection: close"), answer(b"ok", "Connection: keep-alive")),
    "a strange method": Exchange(request("m-search", "/up/*?[x]"), answer(b"", status="999 \xff")),
    "10 MB": Exchange(post("/up/v1/messages", b"x" * 10_000_000), answer(b"y" * 10_000_000), OPEN),
}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    upstream = Upstream()
    entry = {"url": f"http://{upstream.authority}", "preset": "anthropic", "limit": 100, "cooldown": 0}
    proxy = Proxy(tmp_path, {"upstreams": {"up": {**entry, "pause": {"default": "0s"}}}})
    try:
        await proxy.start()
        stage = Stage(proxy.address, upstream)
        yield stage
        stage.clear()
    finally:
        upstream.close()
        await proxy.discard()


async def test_real_process_passes_every_byte(stage: Stage):
    await stage.shows_no_difference(TABLE)


async def test_real_process_passes_every_byte_behind_any_other(stage: Stage):
    short = [
        exchange for name, exchange in TABLE.items() if name not in ("10 MB", "a rate limit")
    ]  # which takes a pause
    for one in short:
        found = await stage.differences(*(exchange for other in short for exchange in (one, other)))
        assert not found, found
