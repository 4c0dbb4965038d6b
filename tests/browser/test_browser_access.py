# axe-core finds nothing serious, whatever the page shows.

import pytest
from blackbox.rig import Rig, Starter
from onscreen.axe import grave_findings
from onscreen.window import Opener


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_empty_page_hinders_nobody(start: Starter, open_window: Opener, theme: str) -> None:
    window = await open_window(await start({}), color_scheme=theme)
    await window.live()
    assert await grave_findings(window.page) == []


async def test_axe_sees_what_hinders(rig: Rig, open_window: Opener) -> None:
    """Otherwise the tests here could not fail."""
    window = await open_window(rig)
    await window.live()
    await window.page.evaluate("document.body.append(document.createElement('button'))")
    assert [line.partition(":")[0] for line in await grave_findings(window.page)] == ["button-name"]
