# The configuration file is looked at again and again: a change is taken once, what cannot be read is tried again.

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from proxy.errors import ConfigErrors, Problem
from proxy.service import watch


class Runtime:
    """Reloads as it is told: each call takes the next of `answers`, then all is well."""

    def __init__(self, path: Path, *answers: Problem) -> None:
        self.settings = SimpleNamespace(source=path)
        self.reloads = 0
        self._answers = list(answers)

    async def reload(self) -> None:
        self.reloads += 1
        if self._answers:
            raise ConfigErrors([self._answers.pop(0)])


def problem(path: Path, line: int | None) -> Problem:
    return Problem(file=str(path), line=line, path="", found="found it wanting", allowed="allowed: better")


async def watched(runtime: Runtime, monkeypatch: pytest.MonkeyPatch, *, reloads: int) -> int:
    """How often it was reloaded once it was `reloads` times, and some looks later."""
    monkeypatch.setattr(watch, "CONFIG_S", 0.001)
    task = asyncio.create_task(watch.watch_config(runtime, lambda: runtime.settings.source))
    try:
        await asyncio.sleep(0.05)
        with runtime.settings.source.open("a") as file:
            file.write("# changed\n")
        async with asyncio.timeout(20):
            while runtime.reloads < reloads:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return runtime.reloads


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "slotgate.yaml"
    made.write_text("")
    os.utime(made, (1, 1))
    return made


async def test_a_change_is_taken_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await watched(Runtime(path), monkeypatch, reloads=1) == 1


async def test_a_file_with_errors_waits_for_its_next_change(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await watched(Runtime(path, problem(path, 3)), monkeypatch, reloads=1) == 1


async def test_a_file_that_could_not_be_read_is_tried_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await watched(Runtime(path, problem(path, None), problem(path, None)), monkeypatch, reloads=3) == 3


async def test_a_file_that_appears_where_none_was_or_before_the_one_in_force_is_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, places = Runtime(path), [path.with_name("first.yaml"), path.with_name("last.yaml")]
    runtime.settings.source = None
    monkeypatch.setattr(watch, "CONFIG_S", 0.001)
    task = asyncio.create_task(watch.watch_config(runtime, lambda: next((at for at in places if at.is_file()), None)))
    try:
        await asyncio.sleep(0.05)
        assert runtime.reloads == 0
        for n, place in enumerate(reversed(places), 1):
            place.write_text("")
            async with asyncio.timeout(20):
                while runtime.reloads < n:
                    await asyncio.sleep(0.001)
        with places[0].open("a") as file:
            file.write("# changed\n")
        async with asyncio.timeout(20):
            while runtime.reloads < 3:
                await asyncio.sleep(0.001)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_file_that_came_while_the_proxy_started_is_taken(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Runtime(path)
    runtime.settings.source = None
    monkeypatch.setattr(watch, "CONFIG_S", 0.001)
    task = asyncio.create_task(watch.watch_config(runtime, lambda: path))
    try:
        async with asyncio.timeout(20):
            while not runtime.reloads:
                await asyncio.sleep(0.001)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
