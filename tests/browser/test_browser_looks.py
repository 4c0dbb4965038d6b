# What the page looks like: pictures at three widths, in both themes, with nobody, a few and many waiting; each is
# looked over for what a machine can see.
#
# SCREENSHOTS=/some/folder keeps them there for people.

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
from blackbox.rig import Rig, Starter
from blackbox.waiting import until
from onscreen.picture import colours
from onscreen.traffic import WORKSPACES, crowd, hold_slots, refused, wait_in_line
from onscreen.window import Opener, Window
from playwright.async_api import expect

WIDTHS = {360: 800, 1280: 800, 2560: 1440}
THEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")


def folder(tmp_path: Path) -> Path:
    kept = Path(os.environ.get("SCREENSHOTS") or tmp_path)
    kept.mkdir(parents=True, exist_ok=True)
    return kept


async def held_for(rig: Rig, milliseconds: int) -> bool:
    return all(slot["ageMs"] > milliseconds for slot in (await rig.slots())["slots"])


async def every_look(window: Window) -> AsyncIterator[tuple[str, int]]:
    for theme in THEMES:
        await window.page.emulate_media(color_scheme=theme)
        for width, height in WIDTHS.items():
            await window.page.set_viewport_size({"width": width, "height": height})
            yield theme, width


@pytest.mark.parametrize("waiting", [0, 3, 60])
async def test_page_is_drawn_at_every_width_in_both_themes(
    start: Starter, open_window: Opener, tmp_path: Path, waiting: int
) -> None:
    rig = await start(
        {
            "up": {"limit": 4, "cooldown": "0s", "provider": "api.anthropic.example", "pause": {"default": "10m"}},
            "local": {"provider": "127.0.0.1:11434", "cooldown": "0s"},
            "umans": {"limit": 4, "provider": "api.code.umans.example"},
        }
    )
    if waiting:
        await hold_slots(rig, 4)
        await until(lambda: held_for(rig, 1500), what="slots that were held for a while")
        for call in rig.up.calls:  # so that it is known how long one takes
            await call.finish()
        await rig.at_rest()
        await hold_slots(rig, 4, *WORKSPACES)
        await rig.star("docs")
        await crowd(rig, waiting)
    window = await open_window(rig)
    card = window.card("api.anthropic.example")
    await expect(card.waiters).to_have_count(min(waiting, 20))
    pictures = set()
    async for theme, width in every_look(window):
        assert await window.overflow() <= 0, f"{theme} at {width} px"
        picture = await window.page.screenshot(path=folder(tmp_path) / f"{width}-{theme}-{waiting}.png", full_page=True)
        background, seen = await colours(window, picture)
        assert seen > 20, "next to nothing is drawn"
        assert (background < 128) == (theme == "dark")
        pictures.add(picture)
    assert len(pictures) == len(THEMES) * len(WIDTHS)


async def test_trouble_is_drawn(start: Starter, open_window: Opener, tmp_path: Path) -> None:
    """Paused, reduced, and somebody waiting: what one must see within five seconds."""
    rig = await start({"up": {"limit": 4, "cooldown": "0s", "provider": "api.example", "pause": {"default": "10m"}}})
    await hold_slots(rig, 2)
    await refused(rig)
    await wait_in_line(rig, "first", "second")
    window = await open_window(rig)
    card = window.card(rig.provider)
    await expect(card.part("reduced")).to_be_visible()
    await expect(card.waiters).to_have_count(2)
    async for theme, width in every_look(window):
        assert await window.overflow() <= 0, f"{theme} at {width} px"
        for place in (window.locate("#summary"), card.part("pause"), card.part("reduced")):
            box = await place.bounding_box()
            assert box is not None
            assert box["y"] + 40 < WIDTHS[width], f"{place} is not seen without scrolling, {theme} at {width} px"
        await window.page.screenshot(path=folder(tmp_path) / f"{width}-{theme}-trouble.png", full_page=True)


async def test_nothing_moves_for_who_wants_no_motion(rig: Rig, open_window: Opener) -> None:
    await hold_slots(rig)
    await wait_in_line(rig, "first")
    window = await open_window(rig, reduced_motion="reduce")
    await window.live()
    await expect(window.card(rig.provider).waiters).to_have_count(1)
    moving = """[...document.querySelectorAll("*")].filter((element) => {
        const style = getComputedStyle(element);
        const seconds = (list) => Math.max(...list.split(",").map(parseFloat));
        return (style.animationName !== "none" && seconds(style.animationDuration) > 0.01)
          || seconds(style.transitionDuration) > 0.01;
    }).map((element) => element.outerHTML.slice(0, 120))"""
    assert await window.page.evaluate(moving) == []
    assert await window.page.evaluate("document.getAnimations().filter((a) => a.playState === 'running').length") == 0


async def test_theme_is_the_systems_until_a_person_chooses(rig: Rig, open_window: Opener) -> None:
    window = await open_window(rig, color_scheme="dark")
    await window.live()

    async def is_dark() -> bool:
        background, _ = await colours(window, await window.page.screenshot())
        return background < 128

    assert await is_dark()
    await window.page.emulate_media(color_scheme="light")
    assert not await is_dark()
    for _ in range(3):  # as the system has it, light, dark
        await window.action("theme").click()
        if await is_dark():
            break
    assert await is_dark()
    await window.page.reload()
    await window.live()
    assert await is_dark(), "the choice is kept"


async def test_nothing_is_cut_off_or_too_small_to_touch_on_a_phone(rig: Rig, open_window: Opener) -> None:
    await hold_slots(rig)
    await crowd(rig, 8)
    window = await open_window(rig, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    await window.live()
    await expect(window.card(rig.provider).waiters).to_have_count(8)
    assert await window.overflow() <= 0
    outside = """[...document.querySelectorAll("button, input, select, a")].filter((e) => e.checkVisibility())
      .map((e) => [e.outerHTML.slice(0, 100), e.getBoundingClientRect()])
      .filter(([, box]) => box.left < 0 || box.right > innerWidth || box.height < 24 || box.width < 24)
      .map(([html, box]) => `${html} ${box.left}…${box.right} ${box.width}×${box.height}`)"""
    assert await window.page.evaluate(outside) == []


async def test_on_a_phone_who_waits_stands_before_who_has_a_star(rig: Rig, open_window: Opener) -> None:
    await hold_slots(rig)
    await crowd(rig, 2)
    window = await open_window(rig, viewport={"width": 360, "height": 740})
    await expect(window.card(rig.provider).waiters).to_have_count(2)
    queue = await window.card(rig.provider).part("queue").bounding_box()
    stars = await window.locate('[data-part="stars"]').bounding_box()
    assert queue is not None
    assert stars is not None
    slots = await window.card(rig.provider).part("slots").bounding_box()
    assert slots is not None
    assert queue["y"] < slots["y"] < stars["y"]
    await expect(window.locate("#summary-chips > li")).to_have_count(0)  # all of them wait in one place
