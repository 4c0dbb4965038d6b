# Where a token is set, the page asks for it, keeps it for this window alone, and forgets it when told to.

from pathlib import Path

import pytest
import pytest_asyncio
from blackbox.rig import Rig, Starter
from onscreen.window import Opener, Window
from playwright.async_api import expect

TOKEN = "s3cret-token"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    return file


@pytest_asyncio.fixture(loop_scope="session")
async def guarded(start: Starter, token_file: Path) -> Rig:
    rig = await start(run=False, admin={"token_file": str(token_file)})
    rig.proxy.ready_headers = (("Authorization", f"Bearer {TOKEN}"),)
    await rig.proxy.start()
    return rig


async def enter(window: Window, token: str) -> None:
    await window.locate("#token").fill(token)
    await window.page.keyboard.press("Enter")


async def asks(window: Window) -> None:
    await expect(window.locate("#login")).to_be_visible()
    await expect(window.locate("[data-provider]:visible")).to_have_count(0)


async def test_token_is_asked_for_and_nothing_is_shown_before(guarded: Rig, open_window: Opener) -> None:
    window = await open_window(guarded)
    window.allow_failing_calls()
    await asks(window)
    await expect(window.locate("#token")).to_be_focused()


async def test_wrong_token_is_called_wrong_and_the_right_one_lets_in(guarded: Rig, open_window: Opener) -> None:
    window = await open_window(guarded)
    window.allow_failing_calls()
    await asks(window)
    await enter(window, "wrong")
    await expect(window.locate("#login, #connection").get_by_text("wrong")).not_to_have_count(0)
    await asks(window)
    await enter(window, TOKEN)
    await window.live()
    await expect(window.locate("#login")).to_be_hidden()
    await expect(window.card(guarded.provider).root).to_be_visible()
    assert TOKEN not in window.page.url
    assert TOKEN not in await window.page.content()


async def test_token_outlives_a_reload_and_reaches_no_other_window(guarded: Rig, open_window: Opener) -> None:
    window = await open_window(guarded)
    window.allow_failing_calls()
    await enter(window, TOKEN)
    await window.live()
    await window.page.reload()
    await window.live()
    await expect(window.locate("#login")).to_be_hidden()
    assert await window.page.evaluate("JSON.stringify(localStorage) + document.cookie") == "{}"
    other = Window(await window.page.context.new_page(), window.url)
    await other.watch()
    await other.open()
    await asks(other)


async def test_logout_forgets_the_token(guarded: Rig, open_window: Opener) -> None:
    window = await open_window(guarded)
    window.allow_failing_calls()
    await enter(window, TOKEN)
    await window.live()
    await window.action("logout").click()
    await asks(window)
    assert TOKEN not in await window.page.evaluate("JSON.stringify(sessionStorage)")
    await window.page.reload()
    await asks(window)


async def test_without_a_token_nobody_is_asked(window: Window) -> None:
    await expect(window.locate("#login")).to_be_hidden()
    await expect(window.action("logout")).to_be_hidden()


async def test_token_that_is_changed_meanwhile_is_asked_for_anew(
    guarded: Rig, open_window: Opener, token_file: Path
) -> None:
    window = await open_window(guarded)
    window.allow_failing_calls()
    await enter(window, TOKEN)
    await window.live()
    await guarded.proxy.stop()
    token_file.write_text("another\n")
    guarded.proxy.ready_headers = (("Authorization", "Bearer another"),)
    await guarded.proxy.come_back()
    await expect(window.locate("#login")).to_be_visible()
    await enter(window, "another")
    await window.live()
