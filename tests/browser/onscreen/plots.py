# The plots of one provider, as far as the tests have to do with them.

import re

from playwright.async_api import Locator, expect

from onscreen.window import Card

PLOTS = ("in-flight", "queue", "wait", "first-byte")


async def open_plots(card: Card) -> None:
    """Opens the provider's plots, and waits until all are drawn."""
    if not await plot(card, "in-flight").is_visible():
        await card.part("plots").locator("summary").first.click()
    for name in PLOTS:
        canvas = plot(card, name).locator("canvas")
        await expect(canvas).to_be_visible()
        await expect(canvas).to_have_accessible_name(re.compile("."))


def plot(card: Card, name: str) -> Locator:
    return card.root.locator(f'[data-plot="{name}"]')
