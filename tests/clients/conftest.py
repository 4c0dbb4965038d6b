# What the tests with real programs are given: `installed`, and `stages`, which makes a model with the proxy before it.
#
# Rule 1: `-m clients` runs every program; without it only those that are marked `fast` take part, so that a plain run
#         stays short. What a test needs no program for runs always.
# Rule 2: a program that cannot be installed skips its tests with the reason, and how many did is said at the end.

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from clients.install import Cache, NotInstalledError, cache_folder, install
from clients.program import Npm, Pip, Program, script_tool
from clients.stage import Installed, Stage, Stages, a_stage

LIMIT_S = 900  # an install may be part of a test
_SKIPPED = "not installed: "


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("clients") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LIMIT_S))
    if "clients" in config.option.markexpr:
        return
    left = [item for item in items if item.get_closest_marker("clients") and not _is_fast(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


def _is_fast(item: pytest.Item) -> bool:
    """A short test of one fast program. SDKs take part in what their requests show: how they cancel and retry is the
    business of the agents, which are built on them."""
    assert isinstance(item, pytest.Function)
    program = item.callspec.params.get("program") if hasattr(item, "callspec") else None
    if not isinstance(program, Program) or not program.fast or item.get_closest_marker("slow"):
        return False
    return program.tool is not script_tool or item.path.stem in ("test_clients_loop", "test_clients_identity")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons: dict[str, set[str]] = {}
    for report in terminalreporter.stats.get("skipped", []):
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        name, found, reason = text.removeprefix("Skipped: ").partition(_SKIPPED)
        if found:
            reasons.setdefault(reason, set()).add(name.strip())
    names = set().union(*reasons.values())
    if names:
        terminalreporter.write_line(f"{len(names)} programs were skipped, since they could not be installed:")
        for reason, those in reasons.items():
            terminalreporter.write_line(f"  {', '.join(sorted(those))}: {reason}")


@pytest.fixture(scope="session")
def cache(request: pytest.FixtureRequest) -> Cache:
    return Cache(cache_folder(), os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}"), install)


@pytest.fixture(scope="session")
def installed(cache: Cache) -> Installed:
    """The folder of an install; skips the test if it cannot be made."""

    def get(name: str, wanted: Npm | Pip) -> Path:
        try:
            return cache.get(wanted)
        except NotInstalledError as error:
            pytest.skip(f"{name} {_SKIPPED}{error}")

    return get


@pytest.fixture
async def stages(installed: Installed, tmp_path: Path) -> AsyncIterator[Stages]:
    """`await stages(limit=2)`: a model and a proxy before it, whose upstream has these options."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(**options: Any) -> Stage:
            return await stack.enter_async_context(a_stage(tmp_path, installed, options))

        yield make
    await asyncio.sleep(0)
