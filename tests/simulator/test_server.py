"""The provider as a server: what it allows, how it says no, what its usage count shows."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp

from .provider import Terms
from .ranges import Range
from .server import Server, serving

TOP = Path(__file__).parents[2]
BRIEF = Range(0.05, 0.05)
LONG = Range(30.0, 30.0)


async def ask(session: aiohttp.ClientSession, server: Server, path: str = "/v1/messages") -> tuple[int, str]:
    async with session.post(server.url + path, json={"model": "m", "stream": True}) as answer:
        return answer.status, await answer.text()


async def open_count(server: Server, count: int) -> None:
    async with asyncio.timeout(10):
        while server.account.open != count:
            await asyncio.sleep(0.005)


async def test_answers_stream_in_the_dialect_of_the_path() -> None:
    async with serving(Terms(hold_s=Range(0.2, 0.2))) as server, aiohttp.ClientSession() as session:
        status, text = await ask(session, server)
        assert status == 200
        assert text.startswith("event: message_start\n")
        assert text.rstrip().endswith('data: {"type": "message_stop"}')
        assert "4/4 " in text
        _, text = await ask(session, server, "/v1/chat/completions")
        assert text.endswith("data: [DONE]\n\n")
        async with session.post(server.url + "/v1/messages", json={"stream": False}) as answer:
            assert (await answer.json())["content"][0]["text"] == "1/1"


async def test_one_too_many_is_refused_and_the_usage_count_says_why() -> None:
    terms = Terms(dialect="umans", limit=1, hold_s=LONG, usage_latency_s=Range(0.0, 0.0))
    async with serving(terms) as server, aiohttp.ClientSession() as session:
        first = asyncio.create_task(ask(session, server))
        await open_count(server, 1)
        async with session.post(server.url + "/v1/messages", json={}) as refused:
            assert (refused.status, refused.headers["Retry-After"], refused.headers["server"]) == (429, "1", "uvicorn")
        async with session.get(server.url + "/v1/usage") as usage:
            assert await usage.json() == {
                "usage": {"concurrent_sessions": 1},
                "limits": {"concurrency": {"limit": 1}},
            }
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await open_count(server, 0)
        async with session.get(server.url + "/simulator") as seen:
            assert (await seen.json())["refused"] == {"concurrency": 1}


async def test_client_that_leaves_is_counted_for_the_lag_only() -> None:
    async with serving(Terms(limit=1, hold_s=LONG, lag_s=Range(60.0, 60.0))) as server:
        async with aiohttp.ClientSession() as session:
            first = asyncio.create_task(ask(session, server))
            await open_count(server, 1)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        await open_count(server, 0)
        assert server.account.counted(server.now) == 1
        assert server.account.counted(server.now + 61) == 0


async def test_refusal_may_come_inside_a_stream() -> None:
    terms = Terms(dialect="anthropic", limit=0, in_stream=1.0, rpm=60, bucket_headers="anthropic")
    async with serving(terms) as server, aiohttp.ClientSession() as session:
        status, text = await ask(session, server)
    assert status == 200
    assert text.startswith("event: error\ndata: ")
    assert json.loads(text.partition("data: ")[2])["error"]["type"] == "rate_limit_error"


async def test_buckets_are_told_in_headers() -> None:
    terms = Terms(rpm=2, bucket_headers="openai", hold_s=BRIEF)
    async with serving(terms) as server, aiohttp.ClientSession() as session:
        remaining = []
        for _ in range(2):
            async with session.post(server.url + "/v1/chat/completions", json={}) as answer:
                remaining.append(answer.headers["x-ratelimit-remaining-requests"])
        assert remaining == ["1", "0"]
        assert (await ask(session, server))[0] == 429


def test_command_prints_its_url_and_at_the_end_what_it_saw() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.simulator",
        "serve",
        "--limit",
        "1",
        "--overload",
        "2%",
        "--external",
        "0-2",
    ]
    with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "peak  0" in out
    assert err == ""
