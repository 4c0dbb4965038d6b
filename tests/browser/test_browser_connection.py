# The page stays live, and says when it is not.

from blackbox.rig import Rig
from onscreen.window import Window
from playwright.async_api import expect


async def test_page_opens_and_says_that_it_is_live(rig: Rig, window: Window) -> None:
    await expect(window.locate("#connection")).to_contain_text("Live")
    assert await window.overflow() <= 0
