# Where and with what figures were taken.

import os
import platform
import subprocess
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from .child import TOP
from .fronts import FRONTS, Slotgate, present
from .processor import cores
from .replicas import Redis


def facts() -> dict[str, str]:
    front, load, upstream = cores()
    return {
        "commit": _git("rev-parse", "--short", "HEAD") + (" and changes" if _git("status", "--porcelain") else ""),
        "machine": f"{_model()}, {os.cpu_count()} cores (front on {front}, load on {load}, upstream on {upstream})",
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}, uvloop {version('uvloop')}",
        "slotgate is": "compiled" if Slotgate.home != TOP else "plain",
        **{front.name: front.version() for front in present((*FRONTS, Redis))},
        "load average": f"{os.getloadavg()[0]:.2f} at the beginning",
    }


def _model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _git(*words: str) -> str:
    with suppress(OSError):
        return subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True).stdout.strip()
    return ""
