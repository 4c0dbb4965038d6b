# Polls of a raw server: what is asked, and that whatever goes wrong is no information, with a reason, in time.

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from rawsides.message import CHUNKED, answer, begun, chunk
from rawsides.peer import Peer
from rawsides.upstream import Upstream

from proxy.config import Usage
from proxy.config.url import parse_proxy
from proxy.service.gate import BODY_MAX, Reading, UsageClient

KEY = "Bearer very-secret"
GOOD = answer(b'{"usage":{"n":3}}')


@pytest.fixture
async def provider() -> AsyncIterator[Upstream]:
    made = Upstream()
    yield made
    made.close()


@pytest.fixture
async def client() -> AsyncIterator[UsageClient]:
    made = UsageClient()
    yield made
    await made.close()


Asking = Callable[..., "asyncio.Task[Reading]"]


@pytest.fixture
async def ask(provider: Upstream, client: UsageClient) -> Asking:
    def start(*, timeout_s: float = 5.0, credentials: dict[str, str] | None = None, **usage: object) -> object:
        wanted = Usage(
            url=f"http://{provider.authority}/v1/usage?key=very-secret",
            field="usage.n",
            timeout_s=timeout_s,
            **usage,  # type: ignore[arg-type]
        )
        return asyncio.create_task(client.ask(wanted, credentials or {}, tls=None, proxy=None))

    return start


async def test_request_carries_the_credentials_and_little_else(provider, ask):
    asking = ask(credentials={"authorization": KEY, "x-api-key": "k"})
    link = await provider.link()
    lines = (await link.head()).decode().split("\r\n")
    assert lines[0] == "GET /v1/usage?key=very-secret HTTP/1.1"
    assert {line.lower() for line in lines[1:-2]} == {
        f"host: {provider.authority}",
        f"authorization: {KEY}".lower(),
        "x-api-key: k",
        "accept: */*",
    }
    await link.send(GOOD)
    assert await asking == Reading(3, None)


async def test_configured_headers_stand_instead_of_the_waiters(provider, ask):
    asking = ask(headers={"X-Admin": "a"}, credentials={"authorization": KEY})
    link = await provider.link()
    head = await link.head()
    assert b"X-Admin: a\r\n" in head
    assert b"uthorization" not in head
    await link.send(GOOD)
    await asking


async def test_nothing_of_one_poll_is_in_the_next(provider, ask):
    """No cookie, no credential; the connection may be the same."""
    first = ask(credentials={"authorization": KEY})
    link = await provider.link()
    await link.head()
    await link.send(answer(b'{"usage":{"n":3}}', "Set-Cookie: session=secret"))
    await first
    second = ask(credentials={"authorization": "other"})
    head = await link.head()
    assert b"ookie" not in head
    assert KEY.encode() not in head
    await link.send(GOOD)
    assert await second == Reading(3, None)


async def test_redirect_is_not_followed(provider, ask):
    """It could carry the credentials elsewhere."""
    asking = ask(credentials={"authorization": KEY})
    link = await provider.link()
    await link.head()
    await link.send(answer(b"", f"Location: http://{provider.authority}/elsewhere", status="302 Found"))
    assert await asking == Reading(None, "status 302")
    assert provider.was_left_alone()


async def test_compressed_body_is_read(provider, ask):
    asking = ask()
    link = await provider.link()
    await link.head()
    await link.send(answer(gzip.compress(b'{"usage":{"n":3}}'), "Content-Encoding: gzip"))
    assert await asking == Reading(3, None)


async def test_body_in_pieces_is_read(provider, ask):
    asking = ask()
    link = await provider.link()
    await link.head()
    await link.send(begun(CHUNKED) + chunk(b'{"usage":'))
    await asyncio.sleep(0)
    await link.send(chunk(b'{"n":3}}') + b"0\r\n\r\n")
    assert await asking == Reading(3, None)


async def says(link: Peer, data: bytes) -> None:
    await link.send(data)


async def says_and_closes(link: Peer, data: bytes) -> None:
    await link.send(data)
    link.close()


async def says_and_resets(link: Peer, data: bytes) -> None:
    await link.send(data)
    link.reset()


FAILURES: list[tuple[Callable[[Peer, bytes], Awaitable[None]], bytes, str]] = [
    *((says, answer(b"{}", status=f"{status} x"), f"status {status}") for status in (201, 401, 403, 404, 429, 500)),
    (says, answer(b"<html>"), "the body is not JSON"),
    (says, answer(b""), "the body is not JSON"),
    (says, answer(b"{}"), "no number at usage.n"),
    (says, answer(b'{"usage":{"n":null}}'), "no number at usage.n"),
    (says, answer(b" " * (BODY_MAX + 1)), "the body is larger than 1 MiB"),
    (says, answer(gzip.compress(b" " * 50_000_000), "Content-Encoding: gzip"), "the body is larger than 1 MiB"),
    (says, answer(b"not gzip", "Content-Encoding: gzip"), "Error"),
    (says, b"SSH-2.0-OpenSSH\r\n\r\n", "Error"),
    (says, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "Error"),
    (says_and_closes, b"", "Error"),
    (says_and_resets, b"", "Error"),
    (says_and_closes, begun("Content-Length: 100") + b"{", "Error"),
    (says_and_closes, begun(CHUNKED) + chunk(b"{"), "Error"),
    (says_and_resets, begun("Content-Length: 100") + b"{", "Error"),
]


@pytest.mark.parametrize(
    ("act", "data", "reason"), FAILURES, ids=lambda value: getattr(value, "__name__", repr(value))[:50]
)
async def test_failure_is_no_information_with_a_reason_without_a_secret(provider, ask, act, data, reason):
    """USE-02."""
    asking = ask(credentials={"authorization": KEY})
    async with asyncio.TaskGroup() as tasks:

        async def serve() -> None:
            while True:  # a GET may be tried again by the library where a kept connection was closed
                link = await provider.link()
                await link.head()
                await act(link, data)

        serving = tasks.create_task(serve())
        observed, error = await asking
        serving.cancel()
    assert observed is None
    assert error is not None
    assert error.endswith(reason)
    assert "secret" not in error


async def test_endless_body_is_read_to_a_mebibyte(provider, ask):
    asking = ask()
    link = await provider.link()
    await link.head()
    await link.send(begun(CHUNKED))
    with pytest.raises((ConnectionResetError, BrokenPipeError)):  # closed on us
        await link.send(chunk(b" " * 65536) * 1000)
    assert await asking == Reading(None, "the body is larger than 1 MiB")


async def test_nobody_there_is_no_information(provider, ask):
    provider.refuse()
    observed, error = await ask()
    assert observed is None
    assert error is not None


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n", begun("Content-Length: 100") + b'{"usage"'])
async def test_poll_ends_within_its_time(provider, ask, said):
    asking = ask(timeout_s=0.05)
    link = await provider.link()
    await link.head()
    await link.send(said)
    async with asyncio.timeout(5):
        assert await asking == Reading(None, "no answer within 0.05 s")


async def test_after_a_failure_the_next_poll_is_as_good_as_any(provider, ask):
    """USE-06."""
    first = ask()
    link = await provider.link()
    await link.head()
    await link.send(answer(b"{}", status="401 Unauthorized"))
    assert (await first).observed is None
    second = ask()
    await link.head()
    await link.send(GOOD)
    assert await second == Reading(3, None)


async def test_value_that_no_header_may_have_is_no_information(ask):
    observed, error = await ask(credentials={"authorization": "a\nb"})
    assert observed is None
    assert error is not None


BY_PASSWORD = b"\r\nProxy-Authorization: Basic dXNlcjpwYTpzcw==\r\n"  # user, pa:ss


@pytest.mark.parametrize(("userinfo", "authorized"), [("", False), ("user:pa%3Ass@", True)])
async def test_poll_is_told_to_the_upstreams_proxy(provider, client, userinfo, authorized):
    proxy = parse_proxy(f"http://{userinfo}{provider.authority}")
    usage = Usage(url="http://api.test/v1/usage", field="usage.n", timeout_s=5.0)
    asking = asyncio.create_task(client.ask(usage, {"authorization": KEY}, tls=None, proxy=proxy))
    link = await provider.link()
    head = await link.head()
    assert head.startswith(b"GET http://api.test/v1/usage HTTP/1.1\r\n")
    assert (BY_PASSWORD in head) is authorized
    assert head.count(b"roxy-") == authorized
    await link.send(GOOD)
    assert await asking == Reading(3, None)


@pytest.mark.parametrize(("userinfo", "authorized"), [("", False), ("user:pa%3Ass@", True)])
async def test_poll_over_tls_goes_through_a_tunnel_which_sees_no_key(provider, client, userinfo, authorized):
    proxy = parse_proxy(f"http://{userinfo}{provider.authority}")
    usage = Usage(url="https://api.test/v1/usage", field="usage.n", timeout_s=5.0)
    asking = asyncio.create_task(client.ask(usage, {"authorization": KEY}, tls=None, proxy=proxy))
    link = await provider.link()
    head = await link.head()
    assert head.startswith(b"CONNECT api.test:443 HTTP/1.1\r\n")
    assert (BY_PASSWORD in head) is authorized
    assert KEY.encode() not in head
    await link.send(begun(status="403 Forbidden"))
    link.close()
    observed, error = await asking
    assert (observed, error) == (None, "ClientHttpProxyError")
