# axe-core over a page: what in it hinders people who use a keyboard, a screen reader, or need contrast.

from collections.abc import Mapping
from typing import Any

from playwright.async_api import Page

from onscreen import chromium

GRAVE = ("serious", "critical")
# What the rules of WCAG 2.2 A and AA, and the good practice beside them, find.
RUN = "axe.run(document, {resultTypes: ['violations', 'incomplete']})"


async def grave_findings(page: Page) -> list[str]:
    """Each serious or critical finding as a line: the rule, why, and the elements that break it."""
    if not chromium.AXE.is_file():
        chromium.missing("axe-core")
    if not await page.evaluate("'axe' in window"):
        # Evaluated by the debugger, which the page's policy does not bind; as a script element it would be a breach.
        await page.evaluate(chromium.AXE.read_text() + "; null")
    found = await page.evaluate(RUN)
    assert found["passes"], "axe looked at nothing"
    return [_line(finding) for finding in found["violations"] if finding["impact"] in GRAVE]


def _line(finding: Mapping[str, Any]) -> str:
    nodes = [f"{node['html'][:160]} ({node['failureSummary'].splitlines()[-1].strip()})" for node in finding["nodes"]]
    return f"{finding['id']}: {finding['help']}: " + "; ".join(nodes[:5])
