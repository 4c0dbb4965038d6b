# Other proxies in Python, measured beside Slotgate where they are installed: `make bench-rivals` does that.
#
# Rule 1: they live in a virtual environment of their own beside ours, and are no dependency of anything.
# Rule 2: LiteLLM passes on as it does by default, without a database or a key to check.
# Rule 3: relayed.py stands for the many small proxies on uvicorn and httpx: it relays and does nothing else. Whoever
#         does more is dearer.

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .bench import Bench
from .figures import Row
from .front import Front, version_in
from .fronts import Slotgate, present
from .hop import AT_ONCE, measured, per_unit, posts, watched

ENVIRONMENT = Path(f"{sys.prefix}-rivals") / "bin"
TIMES = 20  # as dear as Slotgate, at least


class LiteLlm(Front):
    name = "LiteLLM proxy"
    command = shutil.which("litellm", path=ENVIRONMENT)

    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        assert self.command is not None
        target = f"http://127.0.0.1:{upstream}/up"
        passing_on = {"path": "/up", "target": target, "include_subpath": True, "forward_headers": True}
        file = self.directory / "litellm.yaml"
        file.write_text(json.dumps({"general_settings": {"pass_through_endpoints": [passing_on]}}))
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        allowed = "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true"  # whoever is on this machine may call
        return ["env", allowed, self.command, "--config", str(file), *address, "--telemetry", "False"]

    @classmethod
    def version(cls) -> str:
        return _version_of("litellm")


class Relayed(Front):
    name = "uvicorn + httpx"
    command = shutil.which("uvicorn", path=ENVIRONMENT)

    def prepare(self, upstream: int, queue: Mapping[str, Any] | None) -> list[str]:
        assert self.command is not None
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        where = f"UPSTREAM=http://127.0.0.1:{upstream}"
        fast = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
        return ["env", where, self.command, "--app-dir", str(Path(__file__).parent), *address, *fast, "relayed:app"]

    @classmethod
    def version(cls) -> str:
        return f"{_version_of('uvicorn')} + {_version_of('httpx')}"


RIVALS: tuple[type[Front], ...] = (LiteLlm, Relayed)


def rivals(bench: Bench) -> Iterator[Row]:
    """A row for each that is installed."""
    found = present(RIVALS)
    if not found:
        return
    with bench.fronts(some=(Slotgate, *found)) as fronts:
        windows, lost = measured(fronts, bench.plan.rounds, partial(posts, bench, at_once=AT_ONCE))
    used, seen = per_unit(windows), watched(windows)
    for kind in found:
        yield Row(
            key="rivals",
            label=f"short POST, {AT_ONCE} at once, {kind.name} {kind.version()}",
            unit="µs CPU",
            values={"slotgate": used["slotgate"], "rival": used[kind.name]},
            compared="cheaper",
            base="rival",
            goal=TIMES,
            at_least=True,
            lost=lost,
            watched={name: seen[name] for name in ("slotgate", kind.name)},
        )


def _version_of(package: str) -> str:
    return version_in(
        [str(ENVIRONMENT / "python"), "-c", f"import importlib.metadata as m; print(m.version('{package}'))"]
    )
