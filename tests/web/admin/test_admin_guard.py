# Who may call the admin API (spec §12). Ids are those of the bug cases.

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from admin_rig import YAML, Rig, a_rig
from aiohttp import web

TOKEN = "s3cret-token"
GOOD = ("Authorization", f"Bearer {TOKEN}")
READS = [
    "/concurrency/limits",
    "/concurrency/status",
    "/concurrency/slots/up.example:8443",
    "/concurrency/workspaces",
    "/concurrency/events",
    "/status",
    "/config",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/nowhere",
]
OPEN = ["/healthz", "/", "/page.css", "/page/theme.js", "/page/chart.js"]
WRITES = [
    ("PUT", "/concurrency/limits/up.example:8443"),
    ("DELETE", "/concurrency/limits/up.example:8443"),
    ("PUT", "/concurrency/cooldown/up.example:8443"),
    ("PUT", "/concurrency/pause/up.example:8443"),
    ("DELETE", "/concurrency/pause/up.example:8443"),
    ("POST", "/concurrency/restore/up.example:8443"),
    ("POST", "/concurrency/learn/up.example:8443"),
    ("DELETE", "/concurrency/slots/up.example:8443/1"),
    ("PUT", "/concurrency/workspaces/x"),
    ("POST", "/reload"),
]
EVERY = [*(("GET", path) for path in (*READS, *OPEN)), *WRITES]


@pytest.mark.parametrize(("method", "path"), EVERY)
async def test_rebound_name_is_421_at_every_call(rig: Rig, method: str, path: str) -> None:
    """SEC-02, SEC-03: with DNS rebinding Origin equals Host, so that only a list of names helps."""
    port = rig.address[1]
    headers = [("Host", f"evil.example:{port}"), ("Origin", f"http://evil.example:{port}")]
    reply = await rig.call(method, path, headers=headers)
    assert (reply.status, reply.json["error"]["code"]) == (421, "misdirected")
    assert rig.provider().scheduler.limit == 1


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example:127",
        "192.168.1.5",
        "0.0.0.0",
        "[::]",
        "[::2]",
        "::1",
        "127.1",
        "2130706433",
        "localhost:x",
        "localhost@evil.example",
        "localhost,evil.example",
        "localhost evil.example",
        "",
    ],
)
async def test_name_that_is_not_this_machines_is_421(rig: Rig, host: str) -> None:
    answer = await rig.raw(f"GET /status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 421 ")


async def test_missing_name_is_421(rig: Rig) -> None:
    for head in (b"GET /status HTTP/1.0\r\n\r\n", b"GET /status HTTP/1.1\r\nConnection: close\r\n\r\n"):
        assert (await rig.raw(head)).split()[1] in (b"421", b"400")


async def test_two_names_are_refused(rig: Rig) -> None:
    answer = await rig.raw(
        b"GET /status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    )
    assert answer.split()[1] in (b"421", b"400")


async def test_authority_of_an_absolute_target_counts_too(rig: Rig) -> None:
    for authority, status in ((b"evil.example", b"421"), (b"127.0.0.1:1", b"200")):
        target = b"http://" + authority + b"/status"
        answer = await rig.raw(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert answer.split()[1] == status


async def test_target_that_is_no_path_does_no_harm(rig: Rig) -> None:
    for line in (b"OPTIONS * ", b"CONNECT evil.example:443 ", b"CONNECT localhost:443 "):
        answer = await rig.raw(line + b"HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert answer.split()[1] in (b"400", b"404", b"405", b"421"), line


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:8788", "localhost:65535"]
)
async def test_name_of_this_machine_is_served(rig: Rig, host: str) -> None:
    assert (await rig.get("/status", [("Host", host)])).status == 200


FOREIGN = [
    ("Origin", "https://evil.example"),
    ("Origin", "null"),
    ("Origin", ""),
    ("Origin", "http://localhost:1"),
    ("Origin", "http://127.0.0.1.evil.example:8788"),
    ("Origin", "chrome-extension://abc"),
    ("Sec-Fetch-Site", "cross-site"),
    ("Sec-Fetch-Site", "same-site"),
    ("Sec-Fetch-Site", "what comes next"),
]


@pytest.mark.parametrize("header", FOREIGN)
async def test_foreign_page_is_403_for_reads_and_writes(rig: Rig, header: tuple[str, str]) -> None:
    for method, path in (("GET", "/status"), ("GET", "/"), ("GET", "/concurrency/events"), *WRITES):
        reply = await rig.call(method, path, headers=[header])
        assert (reply.status, reply.json["error"]["code"]) == (403, "forbidden")
    assert rig.provider().scheduler.limit == 1


async def test_page_that_no_web_server_sent_is_foreign_whatever_it_calls_itself(rig: Rig) -> None:
    host, port = rig.address
    for scheme in ("file", "chrome-extension", "ftp"):
        assert (await rig.get("/status", [("Origin", f"{scheme}://{host}:{port}")])).status == 403


async def test_preflight_of_a_foreign_page_gets_no_permission(rig: Rig) -> None:
    headers = [("Origin", "https://evil.example"), ("Access-Control-Request-Method", "PUT")]
    reply = await rig.call("OPTIONS", "/concurrency/limits/x", headers=headers)
    assert reply.status == 403
    assert not [name for name in reply.headers if name.lower().startswith("access-control")]


async def test_own_page_is_served_under_each_of_its_names(rig: Rig) -> None:
    host, port = rig.address
    for headers in (
        [("Origin", f"http://{host}:{port}")],
        [("Origin", f"http://localhost:{port}")],
        [("Origin", f"http://[::1]:{port}")],
        [("Origin", f"http://LocalHost:{port}"), ("Host", f"localhost:{port}")],
        [("Origin", "https://localhost"), ("Host", "localhost")],
        [("Sec-Fetch-Site", "same-origin"), ("Origin", f"http://{host}:{port}")],
        [("Sec-Fetch-Site", "none")],
    ):
        assert (await rig.call("PUT", "/concurrency/workspaces/x", {"starred": True}, headers)).status == 200, headers


async def test_listener_that_others_reach_serves_nobody_without_a_token() -> None:
    """Not by the configuration, which a reload or an inherited socket may have left behind: by the connection."""
    own = await _address_of_this_machine()
    if own is None:
        pytest.skip("this machine has no address but loopback")
    async with a_rig(host="0.0.0.0") as rig:
        request = b"GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        assert (await rig.raw(request, (own, rig.address[1]))).startswith(b"HTTP/1.1 403 ")
        assert (await rig.raw(request, ("127.0.0.1", rig.address[1]))).startswith(b"HTTP/1.1 200 ")


async def _address_of_this_machine() -> str | None:
    """The address that a packet to the outside would carry; none is sent."""
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=("192.0.2.1", 9))
    except OSError:
        return None
    address: str = transport.get_extra_info("sockname")[0]
    transport.close()
    return None if address.startswith("127.") else address


async def test_unix_socket_takes_any_name_or_none_and_no_foreign_page(rig: Rig) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/admin.sock"
        await web.UnixSite(rig.runner, path).start()
        for head, status in (
            (b"Host: whatever\r\n", b"200"),
            (b"Host:\r\n", b"200"),
            (b"Host: x\r\nOrigin: https://evil.example\r\n", b"403"),
        ):
            answer = await rig.raw(b"GET /status HTTP/1.1\r\n" + head + b"Connection: close\r\n\r\n", path)
            assert answer.split()[1] == status
        assert (await rig.raw(b"GET /status HTTP/1.0\r\n\r\n", path)).split()[1] == b"200"


@pytest_asyncio.fixture
async def closed(tmp_path: Path) -> AsyncIterator[Rig]:
    """An admin API with a token."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    async with a_rig(f"admin: {{token_file: {tmp_path}/token}}\n{YAML}") as rig:
        yield rig


@pytest.mark.parametrize(("method", "path"), [*(("GET", path) for path in READS), *WRITES])
async def test_without_the_token_every_call_is_401_and_tells_nothing(closed: Rig, method: str, path: str) -> None:
    """SEC-11."""
    bodies = set()
    for value in (
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer s\xe9cret",
        "x" * 5000,
    ):
        reply = await closed.call(method, path, headers=[("Authorization", value)] if value is not None else [])
        assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, "Bearer"), value
        assert "Server" not in reply.headers
        bodies.add(reply.body)
    assert len(bodies) == 1, "the answer depends on how wrong the token is"
    assert closed.provider().scheduler.limit == 1


async def test_token_is_compared_in_constant_time(closed: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return True

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert (await closed.get("/status", [("Authorization", "Bearer x")])).status == 200
    assert compared == [(b"x", TOKEN.encode())]


async def test_thousand_wrong_tokens_change_nothing(closed: Rig) -> None:
    for _ in range(1000):
        assert (await closed.get("/status", [("Authorization", "Bearer wrong")])).status == 401
    assert (await closed.get("/status", [GOOD])).status == 200


async def test_with_the_token_every_call_is_served_under_any_name(closed: Rig) -> None:
    for path in READS[:-2]:
        if path != "/concurrency/events":
            assert (await closed.get(path, [GOOD, ("Host", "slotgate.example")])).status == 200, path
    assert (await closed.get("/nowhere", [GOOD])).status == 404
    lower = ("Authorization", f"bearer  {TOKEN} ")
    assert (await closed.call("PUT", "/concurrency/workspaces/x", {"starred": True}, [lower])).status == 200


@pytest.mark.parametrize("path", OPEN)
async def test_door_is_open_without_the_token_to_look_at_alone(closed: Rig, path: str) -> None:
    assert (await closed.get(path, [("Host", "slotgate.example"), ("Sec-Fetch-Site", "cross-site")])).status == 200
    assert (await closed.call("PUT", path)).status == 401


@pytest.mark.parametrize("header", FOREIGN)
async def test_foreign_page_may_not_write_even_with_the_token(closed: Rig, header: tuple[str, str]) -> None:
    assert (await closed.call("PUT", "/concurrency/workspaces/x", {"starred": True}, [GOOD, header])).status == 403
    assert closed.runtime.stars == set()


async def test_token_that_a_reload_brings_counts_from_then_on(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    old, rig.yaml = rig.yaml, f"admin: {{token_file: {tmp_path}/token}}\n{rig.yaml}"
    assert (await rig.call("POST", "/reload")).json["changed"] == ["admin.token_file"]
    assert (await rig.get("/status")).status == 401
    rig.yaml = old
    assert (await rig.call("POST", "/reload", headers=[GOOD])).status == 200
    assert (await rig.get("/status")).status == 200


async def test_no_answer_names_the_software_or_may_be_kept_framed_or_read_elsewhere(rig: Rig) -> None:
    for method, path in (("GET", "/status"), ("GET", "/"), ("GET", "/nowhere"), ("PATCH", "/status"), ("PUT", "/x")):
        headers = (await rig.call(method, path)).headers
        assert "Server" not in headers
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


async def test_token_is_in_no_answer(closed: Rig) -> None:
    for path in ("/status", "/config", "/metrics", "/openapi.json"):
        assert TOKEN.encode() not in (await closed.get(path, [GOOD])).body
