# Whichever way leads to the upstream, the target that arrives is the rest of the one that was sent (spec §4).

import pytest
from rawsides.fixtures import Start
from rawsides.message import answer, get
from stage import Exchange, Stage

OK = answer(b"ok")
RESTS = ["", "/", "?", "?a=/b", "/x", "//x", "/../x", "/%2e%2E/%2F?%zz", "/up/x", "/~w/up/x", "/x?y#z", "/\xff?\xff"]


def all_of(prefix: str, rests: list[str]) -> dict[str, Exchange]:
    return {repr(rest): Exchange(get(prefix + rest), OK) for rest in rests if prefix or rest.startswith("/")}


@pytest.mark.parametrize("workspace", ["w", "a%20b", "%E4%BD%A0", "~", "..", "up", "x" * 128])
async def test_behind_a_workspace(start: Start, workspace: str):
    rig = await start()
    prefix = f"/~{workspace}/up"
    stage = Stage(rig.address, rig.upstream, prefix=prefix.encode())
    await stage.shows_no_difference(all_of(prefix, RESTS))
    stage.clear()


@pytest.mark.parametrize(("path", "base"), [("/api", b"/api"), ("/v1/%2F/x", b"/v1/%2F/x"), ("/", b"")])
async def test_behind_the_path_of_the_upstreams_url(start: Start, path: str, base: bytes):
    rig = await start()
    await rig.reconfigure({"url": f"http://{rig.upstream.authority}{path}"})
    stage = Stage(rig.address, rig.upstream, base=base)
    await stage.shows_no_difference(all_of("/up", RESTS))
    stage.clear()


async def test_as_the_default_upstream(start: Start):
    rig = await start(default_upstream="up")
    stage = Stage(rig.address, rig.upstream, prefix=b"")
    others = [rest for rest in RESTS if not rest.startswith(("/up/", "/~"))]
    await stage.shows_no_difference(all_of("", [*others, "/upper/x", "/UP/x", "/%75p/x"]))
    stage.clear()


@pytest.mark.parametrize("host", ["api.test", "API.Test:8787", "api.TEST:80"])
async def test_by_its_host_name(start: Start, host: str):
    rig = await start({"hosts": ["api.test"]})
    for target, rest in (("/x", "/x"), ("/~w/x", "/x"), ("/%2F//?a", "/%2F//?a"), ("/UP/y", "/UP/y"), ("/~w//", "//")):
        _, link = await rig.ask(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head = f"GET {rest} HTTP/1.1\r\nHost: {rig.upstream.authority}\r\n\r\n".encode()
        assert await link.exactly(len(head)) == head
