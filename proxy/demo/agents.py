# The simulated agents: each works on one prompt after the other, and calls the model again with what its tools said.
#
# Rule 1: an agent says who it is by what agents send (spec §5); in turn by one of three ways.
# Rule 2: it takes what it gets: after a refusal it waits as long as it was told, and asks again.
# Rule 3: what it got is noted by itself, not by the proxy: it is the proxy that is on trial.

import asyncio
import contextlib
import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import aiohttp

from proxy.demo.journal import Journal
from proxy.demo.terms import ARRIVAL_S, READING_S, TOOL_S, Range, Terms

STARRED = "billing-api"
PROJECTS = ("web-shop", STARRED, "web-shop", "ios-app", "data-pipeline", "docs-site", "search", "infra")
_PROMPTS = (
    "The checkout test fails now and then. Find out why, and fix it.",
    "Add pagination to the orders list, with tests.",
    "Move the settings out of the module's globals.",
    "Users see yesterday's prices after a deploy. What do we cache?",
    "Write the migration for the new owner column, and try it on a copy.",
)
_AGAIN_S = 2.0  # after a failure that states no wait
_PATIENCE = aiohttp.ClientTimeout(total=None, sock_connect=10)


class NotAnswered(Exception):
    """A call came to nothing: what it is called in the tally, and how long to wait before the next try."""

    def __init__(self, what: str, wait_s: float) -> None:
        super().__init__(what)
        self.what, self.wait_s = what, wait_s


class Tally:
    """What all agents got `since` they began. `failed` counts calls by status, by the code of the proxy's own answer,
    or as cut."""

    def __init__(self) -> None:
        self.since: float | None = None
        self.prompts = self.answers = 0
        self.failed: Counter[str] = Counter()
        self._longest_s = 0.0
        self._waiting_since: dict[object, float] = {}

    @contextlib.contextmanager
    def waiting(self, who: object, now: float) -> Iterator[None]:
        """`who` asks, until an answer begins."""
        self._waiting_since[who] = now
        try:
            yield
        finally:
            self._waiting_since.pop(who, None)

    def begun(self, who: object, now: float) -> None:
        """The answer has begun."""
        if (since := self._waiting_since.pop(who, None)) is not None:
            self._longest_s = max(self._longest_s, now - since)

    def longest_s(self, now: float) -> float:
        """The longest that one waited for an answer to begin, those who still wait included."""
        return max([self._longest_s, *(now - since for since in self._waiting_since.values())])


class Agent:
    """One agent of one project, with the proxy's address for clients."""

    def __init__(self, number: int, base: str, terms: Terms, tally: Tally, journal: Journal) -> None:
        self.workspace = PROJECTS[number % len(PROJECTS)]
        self._chance = terms.chance("agent", number)
        self._session_id = str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
        self._way = number % 3
        prefix = f"/~{quote(self.workspace)}" if self._way == 0 else ""
        self._url = f"{base}{prefix}/demo/v1/messages"
        self._terms, self._tally, self._journal = terms, tally, journal

    async def live(self, session: aiohttp.ClientSession) -> None:
        """Work until cancelled."""
        await self._pass(ARRIVAL_S)
        while True:
            await self._prompt(session)
            await self._pass(READING_S)

    async def _prompt(self, session: aiohttp.ClientSession) -> None:
        began_ms = time.time_ns() // 1_000_000
        messages: list[dict[str, Any]] = [{"role": "user", "content": self._chance.choice(_PROMPTS)}]
        calls = 1
        while await self._answered(session, messages, began_ms) == "tool_use":
            await self._pass(TOOL_S)
            tool = f"toolu_{calls:04}"
            messages += [
                {"role": "assistant", "content": [{"type": "tool_use", "id": tool, "name": "Bash", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": tool, "content": "12 passed"}]},
            ]
            calls += 1
        self._tally.prompts += 1
        took_ms = time.time_ns() // 1_000_000 - began_ms
        self._journal.tell("prompt_done", workspaceId=self.workspace, calls=calls, tookMs=took_ms)

    async def _answered(self, session: aiohttp.ClientSession, messages: list[dict[str, Any]], began_ms: int) -> str:
        """Why the model stopped. A call that comes to nothing is made again."""
        with self._tally.waiting(self, asyncio.get_running_loop().time()):
            while True:
                try:
                    stop = await self._call(session, messages, began_ms)
                except NotAnswered as error:
                    self._tally.failed[error.what] += 1
                    await asyncio.sleep(error.wait_s)
                else:
                    self._tally.answers += 1
                    self._journal.tell("answered", workspaceId=self.workspace, answers=self._tally.answers)
                    return stop

    async def _call(self, session: aiohttp.ClientSession, messages: list[dict[str, Any]], began_ms: int) -> str:
        body = {"model": "claude-demo", "max_tokens": 8192, "stream": True, "messages": messages}
        try:
            async with session.post(
                self._url, json=body, headers=self._identity(began_ms), timeout=_PATIENCE
            ) as response:
                if response.status != 200:
                    raise _refused(response.status, response.headers, _AGAIN_S / self._terms.speed)
                self._tally.begun(self, asyncio.get_running_loop().time())
                return _stop_reason(await response.read())
        except (aiohttp.ClientError, TimeoutError):
            raise NotAnswered("cut", _AGAIN_S / self._terms.speed) from None

    def _identity(self, began_ms: int) -> dict[str, str]:
        match self._way:
            case 0:  # a coding agent whose base URL names the project; when its prompt began shows in what it sends
                return {"X-Claude-Code-Session-Id": self._session_id}
            case 1:  # one that was told about the proxy
                return {
                    "X-Slotgate-Workspace": self.workspace,
                    "X-Slotgate-Conversation": self._session_id,
                    "X-Slotgate-Prompt-Started-At": str(began_ms),
                }
            case _:
                return {"X-Workspace-Id": self.workspace, "X-Session-Id": self._session_id}

    async def _pass(self, time_s: Range) -> None:
        await asyncio.sleep(time_s.draw(self._chance) / self._terms.speed)


def _refused(status: int, headers: Mapping[str, str], else_s: float) -> NotAnswered:
    stated = headers.get("Retry-After", "")
    return NotAnswered(headers.get("X-Slotgate-Error") or str(status), float(stated) if stated.isdecimal() else else_s)


def _stop_reason(stream: bytes) -> str:
    """From the events of an answer that came whole."""
    found = ""
    for line in stream.splitlines():
        if line.startswith(b"data: "):
            event = json.loads(line.removeprefix(b"data: "))
            found = event.get("delta", {}).get("stop_reason") or found
    return found
