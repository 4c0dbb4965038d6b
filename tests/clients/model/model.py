# The fake model: a server on raw sockets that answers whoever asks by the script of its key.
#
# Rule 1: it knows a program by its API key; each key has its script, so that one model serves many programs at once.
# Rule 2: what it receives is kept, byte for byte; it never says that something is wrong but where a test wants it to.
# Rule 3: only generating requests count: how many are open at once, who is refused, who is held.

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from blackbox.call import Call
from blackbox.message import Head
from blackbox.upstream import FakeUpstream
from simulator.dialects import refusal
from simulator.provider import Reason, Refusal

from clients.model import chat, gemini, messages, responses
from clients.model.asked import MARKER, Asked, dialect_of, read
from clients.model.says import Said, Text, ToolCall
from clients.model.socket import Answer, Socket
from clients.program import Dialect, Tool
from clients.sockets import asks

_ANSWERS = {Dialect.CHAT: chat, Dialect.RESPONSES: responses, Dialect.ANTHROPIC: messages, Dialect.GEMINI: gemini}
TASK = "This is the sub-task: read the file notes.txt and report its marker."  # of a sub-agent
REFUSED_FOR_S = 1.0  # where a dialect says it
_REFUSALS = {
    Dialect.CHAT: ("openai", Reason.CONCURRENCY),
    Dialect.RESPONSES: ("openai", Reason.CONCURRENCY),
    Dialect.ANTHROPIC: ("anthropic", Reason.CONCURRENCY),
    Dialect.GEMINI: ("gemini", Reason.REQUESTS),
}
_JSON = (("Content-Type", "application/json"),)
_MODEL = {"id": "fake", "name": "models/fake", "object": "model", "type": "model", "display_name": "Fake", "created": 1}
MODELS = {"object": "list", "data": [_MODEL], "models": [_MODEL], "has_more": False}


@dataclass(slots=True, kw_only=True)
class Script:
    """What one program is told. `refusals` is how many of its requests are still to be refused."""

    tool: Tool | str
    finish: Callable[[str], Tool] | None = None
    delegate: Tool | None = None  # asked for in the place of the tool, by all but the sub-agent
    refusals: int = 0


class Model:
    """`begin` and `go_on` are set; clear one, and answers wait for it: before their head, after their first event (of a
    tool loop alone: a title must not keep the loop from its slot). `meets` is called with each generating request
    before it is answered."""

    def __init__(self) -> None:
        self.upstream = FakeUpstream()
        self.upstream.counts = _generates
        self.upstream.behaviour = self._serve
        self.scripts: dict[str, Script] = {}
        self.meets: Callable[[Call], Awaitable[None]] = _nothing
        self.begin, self.go_on = asyncio.Event(), asyncio.Event()
        self.begin.set()
        self.go_on.set()
        self._ids = itertools.count(1)

    @property
    def generating(self) -> list[Call]:
        """In the order of their arrival."""
        return [call for call in self.upstream.calls if call.counted]

    def of(self, key: str) -> list[Call]:
        """The generating requests of that key."""
        return [call for call in self.generating if credential(call.head) == key]

    def main(self, key: str) -> list[Call]:
        """Those of its tool loop, without titles and other requests on the side."""
        found = []
        for call in self.of(key):
            dialect = dialect_of(call.head.method, call.head.target)
            assert dialect is not None
            if _is_main(read(dialect, call.head.target, call.body), self.scripts[key]):
                found.append(call)
        return found

    def shapes(self, key: str) -> list[tuple[str, str, list[str]]]:
        """Method, path behind a prefix and names of headers of each of these requests: what stays the same from run to
        run. Sorted, since some clients (Copilot) draw another order for each run."""
        return [_shape(call.head) for call in self.main(key)]

    async def _serve(self, call: Any) -> None:
        """A call, or an answer in a socket."""
        if asks(call.head):
            Socket(call)
            return
        dialect = dialect_of(call.head.method, call.head.target)
        if dialect is None:
            await _beside(call)
            return
        key = credential(call.head)
        script = self.scripts.get(key)
        await self.meets(call)
        if script is None:
            await _whole(call, {"error": {"type": "authentication_error", "message": f"unknown key {key}"}}, 401)
            return
        if script.refusals:
            script.refusals -= 1
            words, reason = _REFUSALS[dialect]
            answer = refusal(words, Refusal(reason, REFUSED_FOR_S), 0.0)
            await call.answer(answer.status, answer.body, tuple(answer.headers))
            return
        await self.begin.wait()
        asked = read(dialect, call.head.target, call.body)
        number = next(self._ids)
        said, answers = _said(asked, script, number), _ANSWERS[dialect]
        if not asked.streamed and not isinstance(call, Answer):
            body = json.dumps(answers.whole(asked, said, str(number))).encode()
            call.announce(len(body), _JSON)
            call.raw(body[:1])
            if _is_main(asked, script):
                await self.go_on.wait()
            call.raw(body[1:])
            await call.end()
            return
        call.begin()
        first, *rest = answers.streamed(asked, said, str(number))
        call.say(first)
        if _is_main(asked, script):
            await self.go_on.wait()
        for event in rest:
            call.say(event)
            await asyncio.sleep(0)
        await call.finish()


def _said(asked: Asked, script: Script, number: int) -> Said:
    if not _is_main(asked, script):
        return Text(text="A title")
    begun = json.dumps(script.tool) in asked.whole if isinstance(script.tool, str) else asked.result
    if not begun:
        delegates = script.delegate is not None and TASK not in asked.news
        return _call(script.delegate if script.delegate and delegates else script.tool, number)
    marker = MARKER.search(asked.whole if isinstance(script.tool, str) else asked.news)
    last = f"The marker is {marker[0]}" if marker else f"No marker in what the tool said: {asked.news[-1000:]}"
    return _call(script.finish(last) if script.finish else last, number)


def _call(tool: Tool | str, number: int) -> Said:
    if isinstance(tool, str):
        return Text(text=tool)
    name, arguments = tool
    return ToolCall(id=f"call_{number:024d}", name=name, arguments=arguments)


def _is_main(asked: Asked, script: Script) -> bool:
    return asked.tools or isinstance(script.tool, str)


def _shape(head: Head) -> tuple[str, str, list[str]]:
    names = sorted(name.lower() for name, _ in head.headers)
    return head.method, head.target.removeprefix("/up"), [name for name in names if name != "connection"]


async def _nothing(_: Call) -> None:
    pass


def _generates(head: Head) -> bool:
    return dialect_of(head.method, head.target) is not None


async def _beside(call: Call) -> None:
    """What generates nothing: lists of models, counts, probes, telemetry."""
    path = call.head.target.partition("?")[0]
    if call.head.method == "HEAD":
        await call.answer(200, b"", _JSON)
    elif path.endswith(("/count_tokens", ":countTokens")):
        await _whole(call, {"input_tokens": 100, "totalTokens": 100})
    elif call.head.method == "GET" and "/models" in path:
        await _whole(call, MODELS if path.endswith("/models") else _MODEL)
    else:
        await _whole(call, {})


async def _whole(call: Call, body: Mapping[str, object], status: int = 200) -> None:
    await call.answer(status, json.dumps(body).encode(), _JSON)


def credential(head: Head) -> str:
    """The API key, wherever a client puts it; empty if there is none."""
    bearer = (head.get("authorization") or "").removeprefix("Bearer ")
    in_query = parse_qs(urlsplit(head.target).query).get("key", [""])[0]
    return bearer or head.get("x-api-key") or head.get("x-goog-api-key") or head.get("api-key") or in_query
