# A fake model, the real proxy in front of it, a tap in front of the proxy, and the programs that a test starts.

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from blackbox.client import RawClient
from blackbox.process import Proxy
from blackbox.rig import Rig
from blackbox.waiting import until

from clients.model.asked import dialect_of
from clients.model.model import TASK, Model, Script, credential
from clients.program import Npm, Pip, Program
from clients.recorded import Message, exchanges, expected_upstream
from clients.running import Place, Running
from clients.tap import Tap

PROMPT = "Read the file notes.txt and tell me its marker."
NAME = "up"  # of the upstream, as a rig knows it

START_S = 120.0  # until a program asks: opencode takes ten on a quiet machine, and sixty on one with much to do
HOLDER = "sk-holder"

Installed = Callable[[str, Npm | Pip], Path]  # a program's name and packages → their folder
Stages = Callable[..., Awaitable["Stage"]]  # an upstream's options → a stage


class Stage:
    """`rig` has the proxy's admin API; its limit is 1 unless the test says otherwise."""

    def __init__(self, model: Model, rig: Rig, tap: Tap, installed: Installed) -> None:
        self.model, self.rig, self.tap = model, rig, tap
        self._installed = installed
        self._running: list[Running] = []

    async def start(
        self,
        program: Program,
        prompt: str = PROMPT,
        *,
        direct: bool = False,
        workspace: str | None = None,
        refusals: int = 0,
        delegates: bool = False,
    ) -> Running:
        """`direct`: without the proxy. `workspace` is named in the base URL. `delegates`: a sub-agent does the work."""
        in_front = f"/~{quote(workspace, safe='')}" if workspace else ""
        through = f"http://127.0.0.1:{self.tap.port}{in_front}/{NAME}"
        installed = await asyncio.to_thread(self._installed, program.name, program.install)
        place = Place.make(program, installed, self.model.upstream.url if direct else through)
        tool = program.tool(place.workplace)
        delegate = program.delegate(TASK) if delegates and program.delegate else None
        script = Script(tool=tool, finish=program.finish, delegate=delegate, refusals=refusals)
        self.model.scripts[place.workplace.key] = script
        running = await Running.start(program, place, prompt)
        self._running.append(running)
        return running

    async def resume(self, before: Running, prompt: str) -> Running:
        """One more prompt in that run's session."""
        running = await Running.start(before.program, before.place, prompt, resumes=True)
        self._running.append(running)
        return running

    async def holds_the_slot(self) -> RawClient:
        """Somebody who asks before all others, and waits for the model to begin."""
        self.model.scripts[HOLDER] = Script(tool="")
        client = await self.rig.ask(target=f"/{NAME}/v1/messages", headers=[("x-api-key", HOLDER)])
        await until(lambda: self.model.main(HOLDER), what="the holder at the model")
        return client

    def passed(self) -> list[tuple[Message, Message | None]]:
        """Every request that came through the tap, with its answer, in the order of the connections."""
        return [pair for line in self.tap.lines for pair in exchanges(bytes(line.sent), bytes(line.received))]

    def asked(self, key: str) -> list[Message]:
        """The requests of that key that came through the tap."""
        return [request for request, _ in self.passed() if credential(request.head) == key]

    async def has_asked(self, running: Running) -> None:
        """Waits until its first request for an answer has come."""

        def asked() -> bool:
            return any(dialect_of(request.head.method, request.head.target) for request in self.asked(running.key))

        await until(lambda: running.over or asked(), timeout=START_S, every=0.1, what=f"a request of {running!r}")
        assert asked(), f"it never asked: {running!r}"

    def differences(self) -> list[str]:
        """Where the bytes that the upstream received are not those that a client sent. Needs a stage on which nothing
        went past the proxy."""
        authority = urlsplit(self.model.upstream.url).netloc
        due = [
            (expected_upstream(request, _prefix(request), authority), answer)
            for request, answer in self.passed()
            if answer is None or answer.head.get("x-slotgate-error") is None
        ]
        came = [call.head.raw + call.body for call in self.model.upstream.calls]
        found = [f"the upstream never got {_start(raw)}" for raw, _ in due if raw not in came]
        return found + [f"nobody sent {_start(raw)}" for raw in came if raw not in [raw for raw, _ in due]]

    async def leave(self) -> None:
        """All that a test started ends; nothing is held back any more."""
        self.model.begin.set()
        self.model.go_on.set()
        self.rig.leave()
        for running in self._running:
            await running.discard()
        self._running.clear()


def _prefix(request: Message) -> str:
    """What of the target is for the proxy: `/up` or `/~workspace/up`."""
    target = request.head.target
    return target[: target.index(f"/{NAME}") + len(NAME) + 1]


def _start(raw: bytes) -> str:
    head, _, body = raw.partition(b"\r\n\r\n")
    return f"{head.decode('latin-1')} and {len(body)} bytes"


@contextlib.asynccontextmanager
async def a_stage(
    directory: Path, installed: Installed, options: Mapping[str, Any], top: Mapping[str, Any] | None = None
) -> AsyncIterator[Stage]:
    """`options` are the upstream's, `top` those of the whole configuration."""
    model = Model()
    await model.upstream.start()
    upstream = {"url": model.upstream.url, "limit": 1, "cooldown": "0s", "pause": {"default": "200ms"}, **options}
    proxy = Proxy(directory, {**(top or {}), "upstreams": {NAME: upstream}})
    rig = Rig(proxy, {NAME: model.upstream})
    await proxy.start()
    tap = Tap(proxy.address)
    await tap.start()
    stage = Stage(model, rig, tap, installed)
    try:
        yield stage
        await stage.leave()
        await rig.at_rest()
    finally:
        await stage.leave()
        tap.stop()
        await proxy.discard()
        await model.upstream.stop()
        await asyncio.sleep(0)
