# `slotgate top` on a real terminal in front of a real proxy: keys are typed, the screen is read, and the terminal is as
# before at the end, whatever ends it.

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from blackbox.rig import Rig, a_rig
from fake_admin_api import Api
from terminal import Terminal, a_terminal

PROVIDER = "api.example.com"
LIMITED = {"limit": 1, "cooldown": "0s", "provider": PROVIDER}
ALTERNATE, BACK = b"\x1b[?1049h", b"\x1b[?1049l"
HIDDEN, SHOWN = b"\x1b[?25l", b"\x1b[?25h"


@pytest_asyncio.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with a_rig(tmp_path, {"up": LIMITED}) as rig:
        yield rig


@pytest_asyncio.fixture
async def busy(rig: Rig) -> Rig:
    """One holds the slot, two wait."""
    await rig.ask("a", workspace="holder", conversation="c-a")
    await rig.up.call()
    await rig.line_up("b", workspace="beta", conversation="c-b")
    await rig.line_up("g", workspace="gamma", conversation="c-g")
    return rig


@pytest.fixture
def shown(api: Api) -> Api:
    """An admin API that knows one provider with three slots, one held, and one who waits."""
    told_by_clients(api, "alpha")
    return api


def told_by_clients(api: Api, *names: str) -> None:
    """Workspaces of these names wait."""
    entry = {"providerId": PROVIDER, "limit": 3, "inFlight": 1, "held": 1, "cooling": 0, "queued": len(names)}
    calm = {"oldestWaitMs": 1, "paused": False, "cooldownMs": 0, "autoReduced": False}
    waiter = {"conversationId": None, "path": "/\x1b[2J", "starred": False, "waitingMs": 1, "why": "\x1b[2Jarrived"}
    waiters = [{"id": name, "workspaceId": name, "position": 1, **waiter} for name in names]
    api.answers["GET /status"] = (200, {"version": "\x07", "config": {"error": None}, "state": {"ok": True}})
    api.answers["GET /concurrency/status?all=1"] = (200, {"providers": [{**entry, **calm}]})
    api.answers[f"GET /concurrency/slots/{PROVIDER}"] = (200, {"slots": [], "waiters": waiters})


def admin_of(rig: Rig) -> str:
    return "http://{}:{}".format(*rig.proxy.admin_address)


def at_rest(terminal: Terminal) -> bool:
    """Whether all that was done to the terminal is undone."""
    return (
        terminal.attributes == terminal.before
        and terminal.raw.count(ALTERNATE) == terminal.raw.count(BACK) == 1
        and terminal.raw.rindex(BACK) > terminal.raw.rindex(ALTERNATE)
        and terminal.raw.rindex(SHOWN) > terminal.raw.rindex(HIDDEN)
    )


async def ends_at_rest(terminal: Terminal, status: int) -> None:
    assert await terminal.ended() == status
    await terminal.until(lambda: at_rest(terminal), "the terminal as before")


async def test_it_shows_who_holds_and_who_waits_and_follows_what_happens(busy: Rig) -> None:
    async with a_terminal("top", "--admin", admin_of(busy)) as terminal:
        await terminal.shows("api.example.com  1 of 1 ▮  2 wait", "holder", "c-a", "beta", "gamma", "q quit")
        assert terminal.attributes != terminal.before
        await busy.up.calls[0].answer()
        await terminal.shows("1 wait")
        await terminal.until(lambda: "holder" not in terminal.text, "the one who is done to go")
        terminal.press("q")
        await ends_at_rest(terminal, 0)


async def test_keys_steer_the_proxy(busy: Rig) -> None:
    async with a_terminal("top", "--admin", admin_of(busy)) as terminal:
        await terminal.shows("gamma")
        terminal.press("p")
        await terminal.shows("paused for 1 min, p resumes", "by hand")
        assert (await busy.status())["paused"]
        terminal.press("p")
        await terminal.shows("goes on")
        assert not (await busy.status())["paused"]
        terminal.press("r")
        await terminal.shows("is not auto-reduced")
        terminal.press("G")
        terminal.press("s")
        await terminal.shows("gamma goes first from now on", "★")
        assert await busy.waiting() == ["c-g", "c-b"]
        terminal.press("s")
        await terminal.shows("gamma waits like others")
        assert await busy.waiting() == ["c-b", "c-g"]
        terminal.press("++")
        await terminal.shows("limit 3, was 2")
        await busy.in_flight(3)
        terminal.press("-")
        await terminal.shows("limit 2, was 3", "3 of 2")


async def test_a_slot_is_reclaimed_and_a_waiter_dropped_only_after_a_yes(busy: Rig) -> None:
    held = (await busy.slots())["slots"][0]["id"]
    async with a_terminal("top", "--admin", admin_of(busy)) as terminal:
        await terminal.shows("gamma")
        terminal.press("\x1b[B" * 3 + "x")
        await terminal.shows("Send gamma (c-g) away from place 2")
        terminal.press("n")
        await terminal.shows("nothing was changed")
        await busy.queued(2)
        terminal.press("x")
        await terminal.shows("Send gamma (c-g) away from place 2")
        terminal.press("y")
        await terminal.shows("dropped")
        await busy.queued(1)
        terminal.press("gj")
        terminal.press("x")
        await terminal.shows(f"Cut off holder (c-a) in slot {held}")
        terminal.press("y")
        await terminal.shows("reclaimed")
        assert (await busy.up.call()).name == "b"


@pytest.mark.parametrize(
    ("end", "status"),
    [("q", 0), ("\x03", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)],
)
async def test_the_terminal_is_as_before_whatever_ends_it(shown: Api, end: str | signal.Signals, status: int) -> None:
    async with a_terminal("top", "--admin", shown.url) as terminal:
        await terminal.shows("q quit")
        if isinstance(end, str):
            terminal.press(end)
        else:
            terminal.signal(end)
        await ends_at_rest(terminal, status)


async def test_the_terminal_is_as_before_after_an_error_of_ours_too(shown: Api) -> None:
    broken = (
        "import proxy.cli.live.loop as loop; from proxy.__main__ import main\n"
        "draw = loop.draw\n"
        "def draw_once(*given):\n"
        "    loop.draw = None\n"
        "    return draw(*given)\n"
        "loop.draw = draw_once\n"
        "main()"
    )
    async with a_terminal("top", "--admin", shown.url, code=broken) as terminal:
        await ends_at_rest(terminal, 1)
        await terminal.shows("TypeError")


async def test_a_fault_of_ours_beside_the_screen_ends_it_too(shown: Api) -> None:
    async with a_terminal("top", "--admin", shown.url) as terminal:
        await terminal.shows("alpha")
        shown.answers["GET /concurrency/status?all=1"] = (200, {"providers": [{"providerId": "no more than this"}]})
        await ends_at_rest(terminal, 1)
        await terminal.shows("KeyError")


async def test_a_new_size_is_drawn_at_once(shown: Api) -> None:
    async with a_terminal("top", "--admin", shown.url, size=(120, 30)) as terminal:
        await terminal.shows("why", "arrived")
        terminal.resize(40, 12)
        await terminal.until(
            lambda: "\n  1 of 3, 1 waits, oldest" in terminal.text and terminal.rows[-1].startswith("? help"),
            "everything on forty columns and twelve lines",
        )
        terminal.resize(100, 30)
        await terminal.until(lambda: terminal.rows[-1].startswith("? help"), "the last line at the bottom again")


async def test_ctrl_z_and_ctrl_s_do_not_stop_it(shown: Api) -> None:
    async with a_terminal("top", "--admin", shown.url) as terminal:
        await terminal.shows("q quit")
        terminal.press("\x1a\x13?")
        await terminal.shows("any key: back")


async def test_a_proxy_that_is_gone_is_told_and_keys_still_work(busy: Rig) -> None:
    async with a_terminal("top", "--admin", admin_of(busy)) as terminal:
        await terminal.shows("gamma")
        await busy.proxy.kill()
        await terminal.shows("as it was: the proxy is not running at", "gamma")
        terminal.press("p")
        await terminal.until(lambda: terminal.rows[-1].startswith("the proxy is not running"), "the answer to the key")
        terminal.press("q")
        await ends_at_rest(terminal, 0)


async def test_what_clients_call_themselves_cannot_steer_the_terminal(api: Api) -> None:
    names = ["\x1b]0;owned\x07\x1b[2J\x9b31m", "\u202egnp", "日本👍\U0001f3fd"]
    told_by_clients(api, *names)
    async with a_terminal("top", "--admin", api.url) as terminal:
        await terminal.shows("3 wait", "日", "\\x1b]0;owned")
        terminal.press("Gx")
        await terminal.shows("Send 日")
        for bad in (b"\x07", b"\x1b]", b"\x1b[2J", b"\xc2\x9b", "\u202e".encode(), "\U0001f3fd".encode()):
            assert bad not in terminal.raw


async def test_without_colours_there_are_none(shown: Api) -> None:
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        async with a_terminal("top", "--admin", shown.url, **environment) as terminal:
            await terminal.shows("alpha")
            assert (b"\x1b[36m" in terminal.raw) is coloured


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_without_a_terminal_it_refuses_and_says_what_else_there_is(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "proxy", "top", "--admin", "127.0.0.1:9", *arguments]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False, env={**os.environ}
    )
    assert done.returncode == 1
    if arguments:
        assert json.loads(done.stdout)["error"]["code"] == "no_terminal"
    else:
        assert done.stderr.startswith("slotgate: top needs a terminal")
    assert "status --watch" in done.stdout + done.stderr


async def test_a_terminal_that_can_draw_nothing_is_refused(shown: Api) -> None:
    async with a_terminal("top", "--admin", shown.url, TERM="dumb") as terminal:
        assert await terminal.ended() == 1
        await terminal.shows("needs a terminal")


async def test_a_proxy_that_is_not_there_is_told_before_anything_is_drawn() -> None:
    async with a_terminal("top", "--admin", "http://127.0.0.1:9") as terminal:
        assert await terminal.ended() == 1
        await terminal.shows("the proxy is not running at http://127.0.0.1:9")
        assert ALTERNATE not in terminal.raw
        assert terminal.attributes == terminal.before


async def test_watching_the_status_draws_in_place_and_leaves_the_last_view(busy: Rig) -> None:
    async with a_terminal("status", "--watch", "0.2", "--admin", admin_of(busy)) as terminal:
        await terminal.shows("api.example.com", "queued")
        await busy.limit(3)
        await terminal.until(lambda: terminal.text.count(PROVIDER) == 1 and " 3 " in terminal.text, "the new limit")
        terminal.press("x\x03")
        await ends_at_rest(terminal, 0)
        await asyncio.sleep(0)
        assert terminal.raw.rpartition(BACK)[2].count(PROVIDER.encode()) == 1
        assert b"^C" not in terminal.raw


async def test_watching_outlives_the_proxy_s_absence(busy: Rig) -> None:
    async with a_terminal("status", "--watch", "0.2", "--admin", admin_of(busy)) as terminal:
        await terminal.shows("api.example.com")
        await busy.proxy.kill()
        await terminal.shows("the proxy is not running", "api.example.com")
        terminal.signal(signal.SIGTERM)
        await ends_at_rest(terminal, 143)


async def test_a_person_is_asked_before_a_slot_is_taken_back(busy: Rig) -> None:
    held = (await busy.slots())["slots"][0]["id"]
    arguments = ("reclaim", "up", held, "--admin", admin_of(busy))
    async with a_terminal(*arguments) as terminal:
        await terminal.shows("holder (c-a)", "Cut this answer off? [y/N]:")
        terminal.press("\r")
        assert await terminal.ended() == 1
        await terminal.shows("nothing was changed")
        assert (await busy.slots())["slots"][0]["id"] == held
    async with a_terminal(*arguments) as terminal:
        await terminal.shows("[y/N]:")
        terminal.press("y\r")
        assert await terminal.ended() == 0
        await terminal.shows(f"slot {held} of holder (c-a) reclaimed")
    assert (await busy.up.call()).name == "b"
