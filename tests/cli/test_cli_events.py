# events: every kind has its words; a broken stream goes on after the last id; the end is a clean one, whoever ends it.

import asyncio
import contextlib
import json
import os
import signal
import socketserver
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from blackbox.rig import Rig, a_rig
from blackbox.waiting import PATIENCE
from fake_admin_api import CONFIG, Api, Run

from proxy.cli import following
from proxy.cli.admin import Admin
from proxy.cli.failure import Failure
from proxy.cli.following import follow
from proxy.cli.sse import Event
from proxy.cli.telling import _WORDS, told
from proxy.config import parse_url
from proxy.service.vocabulary import EFFECTS, RELOADED, STARRED

AT = 1_800_000_000_000
WHO = {"at": AT, "providerId": "p", "id": "1", "workspaceId": "w", "conversationId": "c"}
OF = {"at": AT, "providerId": "p"}


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("queued", WHO, "w (c) waits"),
        ("granted", {**WHO, "waitedMs": 12_000, "conversationId": None}, "w goes, after 12 s in the queue"),
        ("released", {**WHO, "heldMs": 180_000}, "w (c) has ended, after 3 min in the slot"),
        ("left", {**WHO, "waitedMs": 12_000}, "w (c) has left the queue after 12 s"),
        ("refused", {**WHO, "code": "queue_full"}, "w (c): queue_full"),
        ("reclaimed", {**WHO, "why": "silent", "afterMs": 300_000}, "w (c): silent, after 5 min"),
        (
            "rate_limited",
            {**WHO, "status": 429, "kind": "rate", "retryAfterMs": 2000, "inFlight": 4},
            "429 too fast, retry after 2 s, 4 in flight: w (c)",
        ),
        ("resumed", {**OF, "cause": "operator"}, "goes on: the pause is over (by hand)"),
        ("reduced", {**OF, "limit": 3, "originalLimit": 4, "notice": "reduced to 3"}, "reduced to 3"),
        ("reduced", {**OF, "limit": 3, "originalLimit": 4, "notice": None}, "limit 3, was 4"),
        ("limit_set", {**OF, "limit": None, "by": "api"}, "unlimited, by api"),
        ("starred", {"at": AT, "providerId": None, "workspaceId": "w", "starred": True}, "w goes first"),
        ("reloaded", {"at": AT, "changed": ["a"], "needsRestart": ["b"]}, "changed: a; only a restart changes b"),
        ("reloaded", {"at": AT, "changed": [], "needsRestart": [], "error": "f:1\nf:2"}, "refused: f:1; f:2"),
        ("new", {**OF, "x": 1}, '{"x": 1}'),
        ("granted", {**OF, "x": 1}, '{"x": 1}'),  # of another version
    ],
)
def test_an_event_is_told_in_one_line(name: str, data: dict[str, Any], words: str) -> None:
    line = told(Event("1", name, data))
    provider = data.get("providerId") or "-"
    assert line[10:] == f"{name:<12}  {provider}  {words}"


def test_a_pause_says_until_when_and_why() -> None:
    assert ": too many at once" in told(Event("1", "paused", {**OF, "until": AT, "cause": "concurrency"}))


def test_every_event_of_the_proxy_has_words() -> None:
    names = {words.event for words, _ in EFFECTS.values()} | {STARRED.event, RELOADED.event}
    assert names - {None} == set(_WORDS)


# --- a stream that breaks ---------------------------------------------------------------------------------------------

Serving = Callable[[socketserver.BaseServer], None]


class Streams:
    """An admin API whose event streams are these, one after the other; then it says no."""

    def __init__(self, *streams: bytes | int) -> None:
        self.streams: Iterator[bytes | int] = iter(streams)
        self.last_ids: list[str | None] = []
        streams_ = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/config":
                    self.answer(200, json.dumps(CONFIG).encode(), "application/json")
                    return
                streams_.last_ids.append(self.headers.get("Last-Event-ID"))
                stream = next(streams_.streams, 401)
                if isinstance(stream, int):
                    error = {"error": {"code": "unauthorized", "message": "m"}}
                    self.answer(stream, json.dumps(error).encode(), "application/json")
                else:
                    self.answer(200, stream, "text/event-stream")

            def answer(self, status: int, content: bytes, media: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", media)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def event(number: int, name: str = "queued", provider: str = "api.code.umans.ai") -> bytes:
    data = {**WHO, "providerId": provider}
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_PAUSES_S", (0.0,))


@pytest.mark.usefixtures("no_pause")
def test_after_a_break_it_goes_on_behind_the_last_event(serving: Serving) -> None:
    streams = Streams(b":\n\n" + event(5) + event(6), b"", event(7) + b"id: 8\nevent: cut off")
    serving(streams.server)
    seen: list[object] = []
    with pytest.raises(Failure) as end:
        seen.extend(
            event.id if isinstance(event, Event) else event.code
            for event in follow(Admin(at=parse_url(streams.url)), "3")
        )
    assert end.value.code == "unauthorized"
    assert streams.last_ids == ["3", "6", "6", "7"]


@pytest.mark.usefixtures("no_pause")
def test_each_loss_is_told_once_however_long_it_lasts(serving: Serving) -> None:
    streams = Streams(event(5))
    serving(streams.server)
    told_ = follow(Admin(at=parse_url(streams.url)), None)
    assert isinstance(next(told_), Event)
    lost = next(told_)
    assert isinstance(lost, Failure)
    assert "has ended the events" in lost.message
    with pytest.raises(Failure, match="needs a token"):
        next(told_)


@pytest.mark.usefixtures("no_pause")
def test_only_one_provider_s_events_are_shown_when_asked(serving: Serving, run: Run) -> None:
    streams = Streams(event(5) + event(6, provider="other") + event(7, "left"))
    serving(streams.server)
    result = run("events", "--provider", "umans", "--json", "--admin", streams.url)
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(document.get("eventId"), document.get("event")) for document in documents[:-1]] == [
        ("5", "queued"),
        ("7", "left"),
    ]
    assert documents[0]["id"] == "1"  # the slot's or waiter's
    assert documents[-1]["error"]["code"] == "unauthorized"
    assert result.exit_code == 1


def test_a_proxy_that_was_never_reached_is_an_error(run: Run) -> None:
    result = run("events", "--admin", "http://127.0.0.1:9")
    assert (result.exit_code, "is not running" in result.stderr) == (1, True)


def test_what_is_no_event_stream_is_not_taken_for_one(api: Api, run: Run) -> None:
    api.answers["GET /concurrency/events"] = (200, {"x": 1})
    result = run("events", "--admin", api.url)
    assert (result.exit_code, "is not slotgate's admin API" in result.stderr) == (1, True)


@pytest.mark.parametrize("arguments", [["--since", "x"], ["--since", "-1"], ["--provider", ""]])
def test_wrong_usage_ends_with_2(run: Run, arguments: list[str]) -> None:
    assert run("events", "--admin", "http://127.0.0.1:9", *arguments).exit_code == 2


# --- the real process -------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def command(rig: Rig, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A command whose stdout is a pipe that is read by the test."""
    admin = "http://{}:{}".format(*rig.proxy.admin_address)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "proxy", *arguments, "--admin", admin),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "SLOTGATE_CONFIG": ""},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def line_of(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return (await process.stdout.readline()).decode()


async def end_of(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Its status and what it said on stderr."""
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        return await process.wait(), (await process.stderr.read()).decode()


async def test_events_and_the_watched_status_of_a_real_proxy_end_cleanly(tmp_path: Path) -> None:
    async with a_rig(tmp_path, {"up": {"limit": 1, "cooldown": "0s"}}) as rig:
        await rig.ask("a", workspace="alpha")
        await rig.up.call()
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, 143)):
            async with command(rig, "events", "--since", "0") as process:
                assert "granted" in await line_of(process)
                process.send_signal(number)
                assert await end_of(process) == (status, "")
        async with command(rig, "events", "--since", "0", "--json") as process:
            assert json.loads(await line_of(process))["event"] == "granted"
            process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
            assert await end_of(process) == (0, "")  # though nothing more happened
        async with command(rig, "status", "--watch", "0.1", "--json") as process:
            first, second = json.loads(await line_of(process)), json.loads(await line_of(process))
            assert [entry["inFlight"] for entry in (*first["providers"], *second["providers"])] == [1, 1]
            process.send_signal(signal.SIGINT)
            assert await end_of(process) == (0, "")
        async with command(rig, "status", "--watch", "0.1") as process:
            lines = [await line_of(process) for _ in range(8)]
            assert sum(line.startswith("provider ") for line in lines) == 2
            assert b"\x1b" not in "".join(lines).encode()
            await rig.proxy.kill()
            assert process.stderr is not None
            async with asyncio.timeout(PATIENCE):
                assert b"slotgate: the proxy " in await process.stderr.readline()
            process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
            assert (await end_of(process))[0] == 0


def test_a_reader_that_has_read_enough_ends_it_without_a_word(serving: Serving) -> None:
    streams = Streams(*[event(number) for number in range(5000)])
    serving(streams.server)
    script = f"'{sys.executable}' -m proxy events --admin {streams.url} | head -1; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "SLOTGATE_CONFIG": ""}
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert done.stdout.splitlines()[1:] == ["0"]
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
