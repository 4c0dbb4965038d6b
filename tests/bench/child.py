# A process of our own that does what it is told: one JSON line asks, one JSON line answers.
#
# Rule 1: a child ends when its standard input does, so none outlives the bench.
# Rule 2: what fails in a child fails in the bench; its traceback is on stderr.

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from .messages import json_line
from .processor import on_core

TOP = Path(__file__).parents[2]
Command = Callable[..., Awaitable[Any]]


class Child:
    """The bench's side of `python -m tests.bench.NAME`."""

    def __init__(self, name: str, core: int) -> None:
        self.name = name
        with on_core(core):
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"tests.bench.{name}"], cwd=TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, do: str, **arguments: Any) -> Any:
        """Has `do` done; its reply."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json_line({"do": do, **arguments}))
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with {self._process.wait()} at {do!r}")
        return json.loads(line)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


def serve(commands: Callable[[], Awaitable[Mapping[str, Command]]]) -> None:
    """The child's side: runs until there is nobody who could ask."""
    import uvloop  # here: the arithmetic is tested without it

    gc.disable()  # a collection would stand in the figures of whoever is measured; a child makes few cycles
    uvloop.run(_serve(commands))


async def _serve(commands: Callable[[], Awaitable[Mapping[str, Command]]]) -> None:
    known = await commands()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        arguments = json.loads(line)
        reply = await known[arguments.pop("do")](**arguments)
        sys.stdout.buffer.write(json_line(reply))
        sys.stdout.buffer.flush()
