# The system's Chromium, driven by Playwright: one process for a worker's tests, a profile of its own for each window.
#
# Rule 1: what is missing skips a test at a person's desk and fails it in CI (`EVERY_TEST`): nothing is left out unseen.
# Rule 2: it talks to nobody but the page: what a browser does in the background is switched off.

import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

COMMAND = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(sys.prefix) / "npm/node_modules/axe-core/axe.min.js"  # put there by `make axe`
ARGUMENTS = (
    "--no-sandbox",  # tests run as root in a container, where its sandbox cannot start
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def missing(what: str) -> None:
    """Ends the test: skipped at a desk, failed where every test must run."""
    if os.environ.get("EVERY_TEST"):
        pytest.fail(f"{what} is missing; make test installs it")
    pytest.skip(f"{what} is not installed")


@contextlib.asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=COMMAND, args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()
