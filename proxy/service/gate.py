# Asking a provider how many of our requests it counts (spec §8).
#
# Rule 1: a poll ends in a number or in "no information" with a reason, always within its time-out; it never raises.
# Rule 2: credentials are the waiting request's own, used for this one call and kept nowhere.

import asyncio
import json
import ssl
from collections.abc import Mapping
from typing import NamedTuple

import aiohttp

from proxy.config import BaseUrl, Usage
from proxy.wire.dial import proxy_authorization

BODY_MAX = 1024 * 1024  # spec §8
_CREDENTIALS = frozenset({b"authorization", b"x-api-key"})  # request headers a poll may carry on
_ADDED_BY_LIBRARY = ("User-Agent", "Accept-Encoding", "Content-Type")


def credentials(headers: Mapping[bytes, bytes]) -> Mapping[str, str]:
    """Of a request's headers (lower-case name to first value) those that a poll may carry on."""
    return {name.decode(): headers[name].decode("latin-1") for name in _CREDENTIALS if name in headers}


class Reading(NamedTuple):
    """What a poll found: `observed` None is no information, and `error` says why."""

    observed: int | None
    error: str | None


class UsageClient:
    """The HTTP client of all polls. It keeps no cookies, follows no redirect, reads no environment."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def ask(
        self, usage: Usage, credentials: Mapping[str, str], *, tls: ssl.SSLContext | None, proxy: BaseUrl | None
    ) -> Reading:
        """One GET of `usage.url`."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=_ADDED_BY_LIBRARY,
            )
        headers = dict(usage.headers or credentials)
        for_proxy = _proxy_headers(proxy)
        if not usage.url.startswith("https:"):  # spoken to the proxy itself, not through a tunnel that it makes
            headers.update(for_proxy)
        asking = self._session.get(
            usage.url,
            headers=headers,
            allow_redirects=False,
            ssl=tls or True,
            proxy=None if proxy is None else str(proxy),
            proxy_headers=for_proxy,
        )
        try:
            async with asyncio.timeout(usage.timeout_s), asking as answer:
                if answer.status != 200:
                    return Reading(None, f"status {answer.status}")
                body = await answer.content.read(BODY_MAX + 1)
                while len(body) <= BODY_MAX and (more := await answer.content.read(BODY_MAX)):
                    body += more
        except TimeoutError:
            return Reading(None, f"no answer within {usage.timeout_s:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # The text of an error may quote a URL or a header: its kind is enough.
            return Reading(None, type(error).__name__)
        return read_count(body, usage.field)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _proxy_headers(proxy: BaseUrl | None) -> dict[str, str]:
    authorization = None if proxy is None else proxy_authorization(proxy)
    return {} if authorization is None else {"Proxy-Authorization": authorization.decode()}


def read_count(body: bytes, field: str) -> Reading:
    """The number at the dotted `field` of a JSON body."""
    if len(body) > BODY_MAX:
        return Reading(None, "the body is larger than 1 MiB")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Reading(None, "the body is not JSON")
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        value = int(value)  # some providers write their numbers as strings
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return Reading(None, f"no number at {field}")
    return Reading(int(-(-value // 1)), None)  # a fraction of a session is a session
