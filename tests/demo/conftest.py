# What the tests of the demo are given: a way to start one, ended with the test.

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playing import Playing


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[..., Playing]]:
    """`play("--agents", "4")`: fast, with the same dice each time."""
    with ExitStack() as stack:
        yield lambda *arguments, **environment: stack.enter_context(
            Playing(tmp_path, "--speed", "20", "--seed", "1", *arguments, **environment)
        )
