# A proxy, its upstreams and its clients, with the sentences that tests are made of.
#
# Rule 1: what a rig opened it closes.
# Rule 2: at rest means at rest: nothing in flight, nothing queued, at any provider.

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from blackbox.admin import Admin, Reply, part
from blackbox.client import Headers, RawClient
from blackbox.events import Events
from blackbox.metrics import total
from blackbox.process import Proxy
from blackbox.replicas import Replicas
from blackbox.upstream import FakeUpstream, hold
from blackbox.waiting import PATIENCE, until

Options = Mapping[str, Any]
MESSAGES = "/up/v1/messages"
DEFAULT: Options = {"limit": 1, "cooldown": "0s"}
Make = Callable[[Path, Options], Proxy | Replicas]  # what is tested: given its directory and its configuration


class Rig:
    """`up` is the upstream named "up", `provider` its provider; others are found in `upstreams` by name."""

    def __init__(self, proxy: Proxy | Replicas, upstreams: Mapping[str, FakeUpstream]) -> None:
        self.proxy = proxy
        self.upstreams = upstreams
        self._clients: list[RawClient] = []
        self._streams: list[Events] = []

    @property
    def up(self) -> FakeUpstream:
        return self.upstreams["up"]

    @property
    def provider(self) -> str:
        return self.provider_of("up")

    def provider_of(self, name: str) -> str:
        options = self.proxy.config["upstreams"][name]
        return str(options.get("provider") or urlsplit(options["url"]).netloc)

    @property
    def admin(self) -> Admin:
        return self.proxy.admin

    # --- clients ---------------------------------------------------------------------------------------------------

    async def client(self, *, receive_buffer: int | None = None) -> RawClient:
        client = await self.proxy.connect(receive_buffer=receive_buffer)
        self._clients.append(client)
        return client

    async def ask(
        self,
        name: str = "",
        *,
        headers: Headers = (),
        body: bytes = b'{"stream":true}',
        target: str = MESSAGES,
        method: str = "POST",
        workspace: str | None = None,
        started_at: int | None = None,
        conversation: str | None = None,
        receive_buffer: int | None = None,
    ) -> RawClient:
        """A new client that has just sent a counted request; the upstream knows it by `name`."""
        client = await self.client(receive_buffer=receive_buffer)
        own = {"Workspace": workspace, "Prompt-Started-At": started_at, "Conversation": conversation}
        said = [(f"X-Slotgate-{key}", str(value)) for key, value in own.items() if value is not None]
        named = [("x-name", name)] if name else []
        await client.request(method, target, [*named, *said, *headers], None if method in ("GET", "HEAD") else body)
        return client

    async def line_up(self, *names: str, **options: Any) -> list[RawClient]:
        """Asks one after the other; each is in the queue before the next one asks."""
        already = (await self.status())["queued"]
        clients = []
        for count, name in enumerate(names, already + 1):
            clients.append(await self.ask(name, **options))
            await self.queued(count)
        return clients

    async def finish(self, call: Any, client: RawClient | None = None) -> None:
        """A whole short answer; read by its client where that is given."""
        await call.answer()
        if client is not None:
            assert (await client.answer()).status == 200

    # --- the admin API ---------------------------------------------------------------------------------------------

    async def status(self, provider: str | None = None) -> dict[str, Any]:
        reply = await self.admin.get(f"/concurrency/status/{part(provider or self.provider)}?all=1")
        assert reply.status == 200, reply
        entry: dict[str, Any] = reply.json
        return entry

    async def slots(self, provider: str | None = None) -> dict[str, Any]:
        reply = await self.admin.get(f"/concurrency/slots/{part(provider or self.provider)}")
        assert reply.status == 200, reply
        found: dict[str, Any] = reply.json
        return found

    async def waiting(self) -> list[str]:
        """The waiters' conversations, in the order in which they would go."""
        waiters = (await self.slots())["waiters"]
        return [waiter["conversationId"] for waiter in sorted(waiters, key=lambda waiter: waiter["position"])]

    async def queued(self, count: int, provider: str | None = None, *, timeout: float = PATIENCE) -> None:
        async def there() -> bool:
            return bool((await self.status(provider))["queued"] == count)

        await until(there, timeout=timeout, what=f"{count} in the queue")

    async def in_flight(self, count: int, provider: str | None = None) -> None:
        async def there() -> bool:
            return bool((await self.status(provider))["inFlight"] == count)

        await until(there, what=f"{count} in flight")

    async def until_status(self, provider: str | None = None, **expected: Any) -> dict[str, Any]:
        """Waits until the status entry has these values, and answers it."""
        entry: dict[str, Any] = {}

        async def there() -> bool:
            entry.clear()
            entry.update(await self.status(provider))
            return all(entry.get(key) == value for key, value in expected.items())

        try:
            await until(there, what=f"a status with {expected}")
        except AssertionError as error:
            raise AssertionError(f"{error}; the entry is {entry}") from None
        return entry

    async def limit(self, limit: int, provider: str | None = None) -> None:
        reply = await self.admin.put(f"/concurrency/limits/{part(provider or self.provider)}", {"limit": limit})
        assert reply.status == 200, reply

    async def cooldown(self, milliseconds: int, provider: str | None = None) -> None:
        body = {"cooldownMs": milliseconds}
        reply = await self.admin.put(f"/concurrency/cooldown/{part(provider or self.provider)}", body)
        assert reply.status == 200, reply

    async def pause(self, milliseconds: int) -> Reply:
        reply = await self.admin.put(f"/concurrency/pause/{part(self.provider)}", {"durationMs": milliseconds})
        assert reply.status == 200, reply
        return reply

    async def resume(self) -> Reply:
        reply = await self.admin.delete(f"/concurrency/pause/{part(self.provider)}")
        assert reply.status == 200, reply
        return reply

    async def star(self, workspace: str, starred: bool = True) -> None:
        reply = await self.admin.put(f"/concurrency/workspaces/{part(workspace)}", {"starred": starred})
        assert reply.status == 200, reply

    async def events(self, *headers: tuple[str, str]) -> Events:
        """A reader of the events from now on."""
        stream = await self.proxy.events(headers)
        self._streams.append(stream)
        return stream

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of that metric's samples with these labels; 0 where there is none."""
        replies = [await admin.get("/metrics") for admin in self.proxy.admins]
        return total([reply.body.decode() for reply in replies], name, labels)

    # --- rest ------------------------------------------------------------------------------------------------------

    async def at_rest(self, *, timeout: float = PATIENCE) -> None:
        """Waits until nothing is in flight or queued anywhere: no slot was lost."""
        seen: list[Any] = []

        async def resting() -> bool:
            seen[:] = (await self.admin.get("/concurrency/status?all=1")).json["providers"]
            return all(entry["inFlight"] == 0 and entry["queued"] == 0 for entry in seen)

        try:
            await until(resting, timeout=timeout, what="rest")
        except AssertionError as error:
            raise AssertionError(f"{error}; the providers are {seen}") from None

    async def reset(self) -> None:
        """Everybody leaves, and every setting is as the file has it. Fails where a slot was lost."""
        self.leave()
        for upstream in self.upstreams.values():
            upstream.drop()
            upstream.behaviour, upstream.usage = hold, None
        for name in self.upstreams:
            await self._reset_provider(name)
        await self.at_rest()
        for upstream in self.upstreams.values():
            upstream.connections = [c for c in upstream.connections if not c.closed]
            upstream.clear()

    async def _reset_provider(self, name: str) -> None:
        provider, options = part(self.provider_of(name)), self.proxy.config["upstreams"][name]
        await self.admin.delete(f"/concurrency/pause/{provider}")
        await self.admin.put(f"/concurrency/cooldown/{provider}", {"cooldownMs": 0})
        if options.get("limit"):
            await self.admin.put(f"/concurrency/limits/{provider}", {"limit": options["limit"]})
        else:
            await self.admin.delete(f"/concurrency/limits/{provider}")

    def leave(self) -> None:
        for client in self._clients:
            client.close()
        self._clients.clear()
        for stream in self._streams:
            stream.close()
        self._streams.clear()


class Starter(Protocol):
    """What the fixture `start` is: starts a process of the test's own and ends it with the test."""

    async def __call__(
        self, upstreams: Mapping[str, Options] | None = None, *, run: bool = True, **top: Any
    ) -> Rig: ...


@contextlib.asynccontextmanager
async def a_rig(
    directory: Path,
    upstreams: Mapping[str, Options],
    top: Options | None = None,
    *,
    run: bool = True,
    make: Make = Proxy,
) -> AsyncIterator[Rig]:
    """A running proxy in front of one fake upstream for each name; options without a `url` get the fake's."""
    fakes: dict[str, FakeUpstream] = {}
    configured: dict[str, Options] = {}
    for name, options in upstreams.items():
        fakes[name] = FakeUpstream()
        await fakes[name].start()
        configured[name] = {"url": fakes[name].url, **options}
    proxy = make(directory, {**(top or {}), "upstreams": configured})
    rig = Rig(proxy, fakes)
    try:
        proxy.write()
        if run:
            await proxy.start()
        yield rig
    finally:
        rig.leave()
        await proxy.discard()
        for fake in fakes.values():
            await fake.stop()
